package scheduler

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"gridbroker/forecast/wire"
)

// TestPageShowsWhatIsThere: names that others gave to jobs, nodes and themselves turn no text of the page around, and hide nothing in it.
func TestPageShowsWhatIsThere(t *testing.T) {
	const name = "tuo\u202eecila\u2066\u200b\u0085\ufeff"
	f := newFront(t, func(_ *Config, api *API) {
		api.Door.Tokens = append(api.Door.Tokens, TokenUser{SHA256: HashToken("odd"), Subject: name})
	})
	full := f.delta("c0", 1, func(d *wire.Delta) { d.Put[0].Node, d.Site.Nodes[0].Name = "n"+name, "n"+name })
	if w := f.asked(t.Context(), "agent0", "POST", "/v1/clusters/c0/slots", full); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	f.submit("odd", "k"+name, `[ JobName = "`+name+`"; Executable = "/bin/true"; ]`)
	for _, path := range []string{"/", "/?cluster=c0"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", f.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer odd")
		resp, err := f.client(nil).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(page), `tuo\u{202e}ecila`) || strings.ContainsAny(string(page), "\u202e\u2066\u200b\u0085\ufeff") {
			t.Errorf("%s: %s %v\n%.3000s", path, resp.Status, err, page)
		}
	}
}
