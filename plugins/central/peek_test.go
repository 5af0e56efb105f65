package central

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"gridbroker/plugins"
)

// The files of a job that has ended can be looked at; of one that has not, and of what is not kept, it is
// said why they cannot.
func TestPeek(t *testing.T) {
	state := "done"
	answer := func(r *http.Request) (*http.Response, error) {
		code, text := http.StatusOK, "hello world"
		switch {
		case strings.HasSuffix(r.URL.Path, "/status"):
			text = `{"jobs":[{"id":"1","state":"` + state + `","plugins":"` + state + `"}]}`
		case !strings.HasSuffix(r.URL.Path, "/1/files/out.txt"):
			code, text = http.StatusNotFound, `{"detail":"no such file"}`
		}
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
	url := "grid+http://127.0.0.1:1"
	back := steadily(t, url, answer)
	for _, v := range []struct {
		state, name string
		offset      int64
		want, said  string
		missing     bool
	}{
		{"done", "out.txt", 0, "hello world", "", false},
		{"done", "out.txt", 6, "world", "", false},
		{"done", "out.txt", 600, "", "", false},
		{"done", "else.txt", 0, "", "does not keep else.txt", true},
		{"running", "else.txt", 0, "", "the job is running: a scheduler has its files when it has ended", false},
	} {
		state = v.state
		var text strings.Builder
		n, err := back.Peek(t.Context(), plugins.Handle{Endpoint: url, ID: "1"}, v.name, v.offset, &text)
		if text.String() != v.want || n != int64(len(v.want)) || (err == nil) != (v.said == "") || err != nil && !strings.Contains(err.Error(), v.said) || errors.Is(err, fs.ErrNotExist) != v.missing {
			t.Errorf("%s of a job that is %s, from %d: %q, %v", v.name, v.state, v.offset, text.String(), err)
		}
	}
}
