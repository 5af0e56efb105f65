package central_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/central"
	"gridbroker/testdata/testbed"
)

// Who asks a scheduler for news is answered when a job of his has ended, and of what has ended since a mark at once;
// others hear nothing of it.
func TestNewsOfAnEnd(t *testing.T) {
	dir := testbed.Home(t)
	s := newService(t, dir, "sqlite:"+filepath.Join(dir, "s.db"))
	alice, bob := s.as("alice"), s.as("bob")
	job, err := jdl.LoadJob(`[ Executable = "/bin/sleep"; Arguments = "2"; WallTime = 60; Requirements = true; ]`)
	if err != nil {
		t.Fatal(err)
	}
	res := alice.Submit(t.Context(), []plugins.Request{{ID: "k", Job: job, Endpoint: glue.Endpoint{URL: s.url, Interface: central.Interface}}}, nil)[0]
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	others := make(chan string, 1)
	asking, enough := context.WithCancel(t.Context())
	defer enough()
	go func() {
		ids, _, _ := bob.News(asking, s.url, "")
		others <- fmt.Sprint(ids)
	}()
	first, mark := []string{}, ""
	for began := time.Now(); len(first) == 0 && time.Since(began) < time.Minute; {
		if first, mark, err = alice.News(t.Context(), s.url, mark); err != nil {
			t.Fatal(err)
		}
	}
	st := alice.Status(t.Context(), []plugins.Handle{res.Handle})[0]
	if !slices.Equal(first, []string{res.Handle.ID}) || st.State != plugins.Done {
		t.Errorf("news of %v, and the job is %s", first, st.State)
	}
	if ids, _, err := alice.News(t.Context(), s.url, "1"); err != nil || !slices.Equal(ids, first) {
		t.Errorf("since its beginning: %v, %v", ids, err)
	}
	enough()
	if said := <-others; said != "[]" {
		t.Errorf("another one heard %s", said)
	}
}

// Names that no job has, of megabytes, are not kept of news; nor is more of what is said of a job than a record keeps.
func TestLongWordsOfAScheduler(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	b, at := against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"mark":7,"jobs":[%q,"k"]}`, long)
			return
		}
		fmt.Fprintf(w, `{"jobs":[{"id":"k","state":"running","plugins":"running","native":%q,"reason":%q,"node":%q}]}`, long, long, long)
	})
	if ids, _, err := b.News(t.Context(), at, ""); err != nil || !slices.Equal(ids, []string{"k"}) {
		t.Errorf("%d names, %v", len(ids), err)
	}
	st := b.Status(t.Context(), []plugins.Handle{{Interface: central.Interface, Endpoint: at, ID: "k"}})[0]
	for _, text := range []string{st.Native, st.Reason, st.Node} {
		if len(text) < 1000 || len(text) > 4<<10 {
			t.Errorf("%d bytes are kept", len(text))
		}
	}
}

// News are asked for from the mark on that was told last. A scheduler that has none to give, as an older one, and one that
// answers something else, is an error.
func TestNewsOfAScheduler(t *testing.T) {
	asked, code, said := "", http.StatusOK, `{"mark":7,"jobs":["j","k"]}`
	b, at := against(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.String()
		w.WriteHeader(code)
		io.WriteString(w, said)
	})
	for _, c := range []struct {
		mark       string
		code       int
		said, want string
	}{
		{"", http.StatusOK, said, "GET /v1/jobs/news?since=0 [j k] 7 <nil>"},
		{"7", http.StatusOK, `{"mark":9,"jobs":[]}`, "GET /v1/jobs/news?since=7 [] 9 <nil>"},
	} {
		code, said = c.code, c.said
		ids, mark, err := b.News(t.Context(), at, c.mark)
		if got := fmt.Sprint(asked, " ", ids, " ", mark, " ", err); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	for code, said = range map[int]string{http.StatusOK: "{", http.StatusNotFound: "no such job", http.StatusTooManyRequests: "later"} {
		if ids, _, err := b.News(t.Context(), at, "7"); err == nil || len(ids) > 0 {
			t.Errorf("%d %s: %v %v", code, said, ids, err)
		}
	}
}
