package scheduler

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/turns"
)

// drip is a body of which so many bytes come each second.
type drip struct {
	rate, left int
	deadline   time.Time
}

// Read implements io.Reader.
func (d *drip) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	if !d.deadline.IsZero() && time.Now().After(d.deadline) {
		return 0, net.ErrClosed
	}
	n := min(d.rate, d.left, len(p))
	d.left -= n
	return n, nil
}

// Close implements io.Closer.
func (d *drip) Close() error { return nil }

// dripping is an answer whose deadline of reading is the drip's.
type dripping struct {
	*httptest.ResponseRecorder
	body *drip
}

// SetReadDeadline is what http.ResponseController looks for.
func (d *dripping) SetReadDeadline(t time.Time) error { d.body.deadline = t; return nil }

// A body that is large and comes slowly arrives, and one that comes a little at a time does not
// keep its turn.
func TestSlowBodies(t *testing.T) {
	for _, c := range []struct {
		rate, size int
		arrives    bool
	}{{64 << 10, 32 << 20, true}, {8 << 10, 4 << 20, true}, {1 << 10, 4 << 20, false}, {1, 1000, false}} {
		synctest.Test(t, func(t *testing.T) {
			w := &dripping{httptest.NewRecorder(), &drip{rate: c.rate, left: c.size}}
			r := httptest.NewRequest("POST", "/v1/jobs", w.body)
			r.ContentLength = int64(c.size)
			began := time.Now()
			end, ok := bounded(&bodies{}, w, r, "alice")
			end()
			if took := time.Since(began); ok != c.arrives || !ok && took > 2*turns.BodyTime {
				t.Errorf("%d bytes, %d each second: arrived %v, after %v", c.size, c.rate, ok, took)
			}
		})
	}
}

// A long body whose sender has two on their way waits for its turn, and when none comes it is refused in time, with when
// to come again; a short one does not wait.
func TestBodiesThatGetNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all bodies
		for range longTurns {
			defer all.turns.Take(t.Context(), "alice", longTurns)()
		}
		for size, status := range map[int]int{longBody + 1: http.StatusTooManyRequests, longBody: http.StatusOK} {
			w := &dripping{httptest.NewRecorder(), &drip{rate: size, left: size}}
			r := httptest.NewRequest("POST", "/v1/jobs", w.body)
			r.ContentLength = int64(size)
			began := time.Now()
			end, ok := bounded(&all, w, r, "alice")
			end()
			if took := time.Since(began); ok != (status == http.StatusOK) || w.Code != status || ok != (w.Header().Get("Retry-After") == "") || took > handleTime {
				t.Errorf("%d bytes: %v, %d %v after %v", size, ok, w.Code, w.Header(), took)
			}
		}
	})
}

// Files of a job are sent whole to who takes them, two at a time to one user: more of them would
// be in memory for as long as he does not read.
func TestFilesAreSentInTurns(t *testing.T) {
	f := newFront(t, nil)
	taken := f.submit("alice", "k", `[Executable="/bin/true";]`)
	body := bytes.Repeat([]byte("large "), 2<<20)
	if err := f.s.store.tx(t.Context(), func(h handle) error {
		return f.s.store.keepFile(t.Context(), h, taken.ID, "out", "x", body)
	}); err != nil {
		t.Fatal(err)
	}
	open := func() *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), "GET", f.server.URL+"/v1/jobs/"+taken.ID+"/files/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer alice")
		resp, err := f.client(nil).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	first, second := open(), open()
	third := make(chan *http.Response, 1)
	go func() { third <- open() }()
	select {
	case resp := <-third:
		t.Errorf("a third one at once: %s", resp.Status)
		third <- resp
	case <-time.After(3 * time.Second): // on a busy machine, too, it would have come
	}
	for _, resp := range []*http.Response{first, second} {
		if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, body) || resp.ContentLength != int64(len(body)) {
			t.Errorf("%d bytes of %d, %v", len(got), len(body), err)
		}
	}
	if resp := <-third; resp.StatusCode != http.StatusOK {
		t.Errorf("the third: %s", resp.Status)
	}
}
