package daemon

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gridbroker/asked"
)

// TestRequestsAreTold: who listens to what is asked of others hears of what managers and brokers ask each other, and of what came
// of it.
func TestRequestsAreTold(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Server(a.config(t, time.Hour), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	go s.ServeTLS(l, "", "")
	c := Client(a.config(t, time.Hour))
	var told []string
	for range 2 {
		ctx := asked.Telling(t.Context(), func(what string) { told = append(told, what) })
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+l.Addr().String()+"/v1/way?secret=x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := c.Do(r); err == nil {
			resp.Body.Close()
		}
		s.Close()
	}
	if all := strings.Join(told, "\n"); len(told) != 2 || !strings.Contains(told[0], "/v1/way?secret=...: 418 I'm a teapot (") || !strings.Contains(told[1], ": no answer: ") {
		t.Errorf("%q", all)
	}
}
