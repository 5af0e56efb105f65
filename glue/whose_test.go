package glue

import (
	"testing"
)

// An endpoint is a computing element's own at its host, or at another name below the domain of that; not below one in which
// anybody may have a name, nor at a neighbouring address.
func TestElsewhere(t *testing.T) {
	for _, v := range []struct {
		ce, id, url string
		want        bool
	}{
		{"ce.site.org", "ce.site.org:443/q", "https://ce.site.org:443/arex", false},
		{"ce.site.org", "ce.site.org:443/q", "https://arex.SITE.org/arex", false},
		{"CE.site.org", "", "https://ce.site.org/arex", false},
		{"ce.site.org", "", "https://ce.other.org/arex", true},
		{"ce.other.org", "ce.site.org:443/q", "https://ce.other.org/arex", true},
		{"ce.site.org", "", "https://ce.site.org.other.org/arex", true},
		{"ce.site.org", "", "https://ce.site.org@other.org/arex", true},
		{"grid.co.uk", "", "https://rogue.co.uk/arex", true},
		{"ce.grid.co.uk", "", "https://arex.grid.co.uk/arex", false},
		{"site.org", "", "https://other.org/arex", true},
		{"10.0.0.1", "", "https://10.0.0.2/arex", true},
		{"10.0.0.1", "", "https://10.0.0.1:443/arex", false},
		{"mine", "", "https://10.0.0.1:443/arex", false},
	} {
		r := Resource{CE: v.ce, CEID: v.id}
		if got := r.Elsewhere(Endpoint{URL: v.url}); got != v.want {
			t.Errorf("%s (%s) at %s: %v", v.ce, v.id, v.url, got)
		}
	}
}
