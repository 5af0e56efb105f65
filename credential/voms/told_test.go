package voms

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"gridbroker/asked"
)

// Both protocols are told to who listens, in no words of the server's: one that closes the connection upon HTTP is asked by
// the older one as well.
func TestServersAreTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		told   []string
	}{
		"it refuses": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<voms><error><code>NoSuchUser</code><message>secret</message></error></voms>`))
		}, []string{"by HTTP: refused"}},
		"it knows no HTTP": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			[]string{"by HTTP: no answer", "by the protocol before VOMS 2: "}},
	} {
		server, client := restServer(t, c.answer)
		client.Timeout = 5 * time.Second // it waits for more of the older protocol's question
		var told []string
		ctx := asked.Telling(t.Context(), func(what string) { told = append(told, what) })
		_, _ = client.Fetch(ctx, []Server{server}, Request{})
		all := strings.Join(told, "\n")
		if len(told) != len(c.told) || strings.Contains(all, "secret") || !strings.Contains(all, "for /edu.example.org ") {
			t.Errorf("%s: told %q", name, told)
			continue
		}
		for i, want := range c.told {
			if !strings.Contains(told[i], want) {
				t.Errorf("%s: told %q, want %q", name, told[i], want)
			}
		}
	}
}
