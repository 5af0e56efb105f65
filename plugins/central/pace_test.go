package central

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// late answers each question shortly before it is given up.
type late struct{}

func (late) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(answerTime - time.Second)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("x"))}, nil
}

// A scheduler that gives each of a hundred thousand files late is given up, and what came is there.
func TestFilesThatComeOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{base: "http://127.0.0.1:1", endpoint: "grid+http://127.0.0.1:1", http: &http.Client{Transport: late{}}, set: &credential.Set{}}
		var v view
		for i := range maxOutput {
			v.Output = append(v.Output, fmt.Sprint("f", i))
		}
		began := time.Now()
		r := c.fetch(t.Context(), plugins.FetchRequest{Dir: t.TempDir()}, v)
		if took := time.Since(began); !errors.Is(r.Err, plugins.ErrSlow) || took > 10*time.Minute || len(r.Files) == 0 {
			t.Errorf("%v after %v, %d files", r.Err, took, len(r.Files))
		}
	})
}
