package central_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"gridbroker/plugins"
)

// TestJobsOfManyFiles: jobs that left so many files that an answer about all of them is larger than it may be are
// asked about in parts. A scheduler each answer of which is too large is not asked on and on.
func TestJobsOfManyFiles(t *testing.T) {
	files := strings.TrimSuffix(strings.Repeat(`"f",`, 10_000), ",")
	var asked atomic.Int32
	back, url := against(t, func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			IDs []string `json:"ids"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		asked.Add(1)
		var jobs []string
		for _, id := range q.IDs {
			jobs = append(jobs, fmt.Sprintf(`{"id":%q,"plugins":"done","output":[%s]}`, id, files))
		}
		fmt.Fprintf(w, `{"jobs":[%s]}`, strings.Join(jobs, ","))
	})
	hs := make([]plugins.Handle, 500)
	for i := range hs {
		hs[i] = plugins.Handle{Endpoint: url, ID: fmt.Sprint("job", i)}
	}
	for i, s := range back.Status(t.Context(), hs) {
		if s.Err != nil || s.State != plugins.Done || s.Handle.ID != hs[i].ID {
			t.Fatalf("%s: %+v", hs[i].ID, s)
		}
	}
	t.Logf("asked %d times", asked.Load())

	asked.Store(0)
	back, url = against(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		io.WriteString(w, `{"jobs":[`+strings.Repeat("{},", 200_000)+`{}]}`)
	})
	for i := range hs {
		hs[i].Endpoint = url
	}
	for _, s := range back.Status(t.Context(), hs) {
		if s.Err == nil || !strings.Contains(s.Err.Error(), "too many values") {
			t.Fatalf("%+v", s)
		}
	}
	if n := asked.Load(); n > 5 {
		t.Errorf("asked %d times", n)
	}
}
