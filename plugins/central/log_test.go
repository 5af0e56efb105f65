package central_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"gridbroker/plugins"
)

// A job's log is read to its end, of which an answer has a thousand entries at most.
func TestLogIsReadToItsEnd(t *testing.T) {
	b, url := against(t, func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.Atoi(r.URL.Query().Get("after"))
		var list []string
		for id := after + 1; id <= 2500 && len(list) < 1000; id++ {
			list = append(list, fmt.Sprintf(`{"id": %d, "event": "missed"}`, id))
		}
		io.WriteString(w, `{"entries": [`+strings.Join(list, ",")+`]}`)
	})
	var text strings.Builder
	if err := b.Log(t.Context(), plugins.Handle{Endpoint: url, ID: "s1"}, &text); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "missed"); n != 2500 {
		t.Errorf("%d entries", n)
	}
}

// A scheduler whose log of a job has no end keeps nobody: a hundred answers are read, and what came is shown.
func TestLogWithoutEnd(t *testing.T) {
	asked := 0
	b, url := against(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		after, _ := strconv.Atoi(r.URL.Query().Get("after"))
		fmt.Fprintf(w, `{"entries": [{"id": %d, "event": "missed"}]}`, after+1)
	})
	var text strings.Builder
	err := b.Log(t.Context(), plugins.Handle{Endpoint: url, ID: "s1"}, &text)
	if n := strings.Count(text.String(), "missed"); n != 100 || asked != 100 || err == nil || !strings.Contains(err.Error(), "goes on behind 100 answers") {
		t.Errorf("%d entries of %d answers, %v", n, asked, err)
	}
}
