package daemon

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"gridbroker/forecast/managers"
)

// Whatever a neighbour says over its link, the manager goes on: what makes no
// sense ends the link, and its own resources stay what they are.
func FuzzLink(f *testing.F) {
	f.Add(`{}` + "\n" + `{"message":{"rooms":[{"cpus":4}],"whole":[{"cpus":8}],"seen":1}}` + "\n" + `{"message":{"job":{"id":"j","broker":"https://ui.example:1","need":{"cpus":1},"submitted":1}}}`)
	f.Add(`{"message":{"shape":{"path":["https://a.example:1"],"siblings":["https://b.example:1"]}}}`)
	f.Add(`{"hello":"https://x.example:1"}`)
	total := managers.Resources{CPUs: 8}
	dir := f.TempDir()
	d, err := New(f.Context(), Config{Name: "https://m.example:1", Dir: dir, Client: http.DefaultClient, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d.manager = managers.NewDomain(managers.Serving())
		d.manager.SetName(d.config.Name)
		d.manager.Resize(now(), total, total)
		d.numbers, d.names, d.roles, d.owners, d.conns = map[string]managers.Neighbour{}, nil, nil, nil, map[managers.Neighbour]*conn{}
		for _, role := range []managers.Role{managers.Parent, managers.Child} {
			c := newConn(t.Context(), map[managers.Role]string{managers.Parent: "https://p.example:1", managers.Child: "https://c.example:1"}[role])
			n, err := d.attach(c, role)
			if err != nil {
				t.Fatal(err)
			}
			d.up(n)
			err = readFrames(t.Context(), strings.NewReader(text+"\n"), &d.incoming, c.who, func(f frame) error { return d.take(n, c, f) })
			d.detach(n, c, err)
		}
		d.do(d.manager.Tick)
		if free := d.State().Free; free != total {
			t.Errorf("%v free of %v", free, total)
		}
	})
}
