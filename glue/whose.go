package glue

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Elsewhere reports whether an endpoint is at a host that cannot be the resource's own: a computing element is named by its host, in
// its identifier too, and whoever may publish could have jobs that are meant for one sent to another. A word without a dot is no host
// on the network, but what somebody calls a cluster of his own.
func (r *Resource) Elsewhere(e Endpoint) bool {
	if beginsAt(e.URL, "https://", r.CE) && beginsAt(r.CEID, "", r.CE) { // most are
		return false
	}
	host, _ := hostPort(e.URL)
	for _, own := range [...]string{r.CE, hostIn(r.CEID)} {
		if strings.Contains(own, ".") && !ofOneDomain(host, own) {
			return true
		}
	}
	return false
}

// beginsAt reports whether a host stands at the beginning of a URL or an identifier.
func beginsAt(text, scheme, host string) bool {
	rest, ok := strings.CutPrefix(text, scheme)
	if !ok || host == "" || !strings.HasPrefix(rest, host) || strings.Contains(rest, "@") {
		return false
	}
	rest = rest[len(host):]
	return rest == "" || rest[0] == ':' || rest[0] == '/'
}

// ofOneDomain reports whether hosts are the same or of one domain, as another name of a host is: one that somebody has, and not
// one below which anybody may have his own, as co.uk.
func ofOneDomain(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	_, domain, _ := strings.Cut(a, ".")
	_, other, _ := strings.Cut(b, ".")
	domain = strings.ToLower(domain)
	if !strings.EqualFold(domain, other) || domain == "" || domain[len(domain)-1] <= '9' { // an address
		return false
	}
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix != domain
}
