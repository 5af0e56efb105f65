package plugintest

import (
	"net/url"
	"testing"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// Only is the one resource that a URL shows through a back-end.
func Only(t *testing.T, b plugins.SourceOpener, raw string) *glue.Resource {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	src, err := b.Source(u)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := src.Resources(t.Context())
	if err != nil || len(rs) != 1 {
		t.Fatalf("%s shows %d resources, want one: %v", raw, len(rs), err)
	}
	return &rs[0]
}
