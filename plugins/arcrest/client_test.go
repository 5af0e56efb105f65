package arcrest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// A proxy that stays keeps its connections, however often it is looked for; a newer one of the same person has its own, and
// those of the old one are closed.
func TestConnectionsStayWithTheirProxy(t *testing.T) {
	p, now, from := newPKI(t), time.Now(), map[string]bool{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from[r.RemoteAddr] = true
		io.WriteString(w, "{}")
	}))
	s.TLS = p.server(t, time.Now().Add(time.Hour))
	s.StartTLS()
	t.Cleanup(s.Close)
	b := New(Options{Credentials: func() (*credential.Set, error) { return credential.Discover(credential.Env{UID: os.Getuid()}, p.user) }, Now: func() time.Time { return now }})
	t.Cleanup(func() { b.Close() })
	var first *client
	for turn, want := range []int{1, 1, 1, 2, 2} {
		if turn == 3 {
			p.user = p.person(t, time.Now().Add(time.Hour))
		}
		c, err := b.client(t.Context(), "ask", s.URL+"/arex", "")
		check(t, err)
		if turn == 0 {
			first = c
		}
		resp, err := c.http.Get(s.URL)
		check(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		check(t, err)
		resp.Body.Close()
		if len(from) != want || (c == first) != (want == 1) {
			t.Errorf("question %d: %d connections, want %d", turn, len(from), want)
		}
		now = now.Add(time.Minute)
	}
	resp, err := first.http.Get(s.URL)
	check(t, err)
	resp.Body.Close()
	if len(from) != 3 {
		t.Error("the old proxy's connection was left open")
	}
}

// TestLongAnswersKeepTheirConnection: an answer that comes in chunks, as long ones of many servers do, leaves its connection for
// the next question. One whose end does not come after its last element is read all the same.
func TestLongAnswersKeepTheirConnection(t *testing.T) {
	from, endless := map[string]bool{}, false
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		from[r.RemoteAddr] = true
		if !r.URL.Query().Has("state") {
			return false
		}
		list(w, "ACCEPTED")
		w.(http.Flusher).Flush() // so that its length is not known
		if endless {
			<-r.Context().Done()
		}
		return true
	})
	b := f.backend(t)
	hs := []plugins.Handle{{Endpoint: f.url(), ID: "job1"}}
	for turn := range 4 {
		endless = turn == 3
		if st := b.Status(t.Context(), hs)[0]; st.State != plugins.Accepted || st.Err != nil {
			t.Errorf("%s: %v", st.State, st.Err)
		}
	}
	if len(from) != 1 {
		t.Errorf("%d connections", len(from))
	}
}
