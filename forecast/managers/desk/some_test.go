package desk

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A request about more jobs than it may be is refused, and costs little more memory than its bytes.
func TestTooManyJobsInARequest(t *testing.T) {
	for _, c := range []struct {
		begin, each string
		into        any
	}{
		{`{"jobs":[`, `{},`, &askedJobs{}},
		{`{"keys":[`, `"",`, &keys{}},
	} {
		body := append([]byte(c.begin), bytes.Repeat([]byte(c.each), maxBody/len(c.each)-10)...)
		body = append(bytes.TrimSuffix(body, []byte(",")), "]}"...)
		w := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		taken := new(API).read(w, httptest.NewRequest(http.MethodPost, "/v1/jobs", bytes.NewReader(body)), c.into)
		runtime.ReadMemStats(&after)
		if taken || w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "more than 1000 jobs in one request") {
			t.Errorf("%s: %d %s", c.begin, w.Code, w.Body)
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 8*maxBody {
			t.Errorf("%s: %d MB for %d", c.begin, cost>>20, len(body)>>20)
		}
	}
}

// stuck sends so much, and then nothing until it is given up.
type stuck struct {
	left int
	end  <-chan struct{}
}

func (s *stuck) Read(p []byte) (int, error) {
	if s.left == 0 {
		<-s.end
		return 0, io.ErrUnexpectedEOF
	}
	n := min(len(p), s.left)
	s.left -= n
	copy(p, bytes.Repeat([]byte(" "), n))
	return n, nil
}

// Of what many users send and never end as much is kept as there is room for: somebody makes room for the one that
// comes last.
func TestRoomForBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var api API
		end := make(chan struct{})
		answers := make(chan string, 100)
		send := func() {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/v1/jobs", io.NopCloser(&stuck{maxBody - 1, end}))
			api.read(w, r, &askedJobs{})
			answers <- w.Body.String()
		}
		for range roomSize / maxBody {
			go send()
		}
		synctest.Wait()
		go send()
		time.Sleep(time.Minute)
		close(end)
		synctest.Wait()
		close(answers)
		full := 0
		for said := range answers {
			if strings.Contains(said, "as many bytes of requests under way as may be") {
				full++
			}
		}
		if full == 0 {
			t.Errorf("none of %d made room", roomSize/maxBody+1)
		}
	})
}
