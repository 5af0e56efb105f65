package infosys

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gridbroker/glue"
)

// Owner is implemented by sources of back-ends that describe themselves: they
// alone may publish the endpoints they own, and nothing else.
type Owner interface {
	// Owns reports whether an endpoint is the source's own, of its very URL.
	Owns(e glue.Endpoint) bool
}

// ownPrefix begins the names of interfaces that this program made up. What
// carries it runs commands or touches files on the user's side, unless claims
// says otherwise.
const ownPrefix = "org.gridbroker."

// claims says which interfaces any source may name, and by which schemes of
// URLs. Interfaces with ownPrefix that are not listed belong to their Owner
// alone; others are kept as information, for nothing here speaks them.
var claims = map[string][]string{
	glue.InterfaceARCREST:  {"https"},
	glue.InterfaceQueues:   {"https", "http"},
	glue.InterfaceForecast: {"https", "http"},
	glue.InterfaceEcho:     {"https", "http"},
}

// ownSchemes begin the URLs of this program's own back-ends: whatever the
// interface is called, only their Owner may name them.
var ownSchemes = []string{"local", "slurm", "slurm+ssh", "condor", "condor+ssh", "ssh", "file"}

// Why a claim is refused.
const (
	NotOwned  = "only its own source may name it"
	BadScheme = "no scheme of this interface"
	BadURL    = "not a URL"
)

// Claim is an endpoint that a source named without being allowed to. It is a
// typed reason, shown and then forgotten: nothing is done with the endpoint.
type Claim struct {
	Resource  string `json:"resource"`
	Interface string `json:"interface"`
	URL       string `json:"url"`
	Why       string `json:"why"` // NotOwned, BadScheme or BadURL
}

// Error implements error. The words of others are quoted.
func (c Claim) Error() string {
	return fmt.Sprintf("endpoint %q of %q (%s) is not used: %s", c.URL, c.Resource, strings.Trim(fmt.Sprintf("%q", c.Interface), `"`), c.Why)
}

// maxClaims bounds how many refused claims of one source are kept.
const maxClaims = 20

// admit takes away what a source may not say: endpoints that are not its to
// name, and resources that have no endpoint left by that.
func admit(src Source, rs []glue.Resource) (kept []glue.Resource, refused []Claim, more int) {
	owner, _ := src.(Owner)
	kept = rs[:0]
	refuse := func(c Claim) {
		if len(refused) == maxClaims {
			more++
			return
		}
		refused = append(refused, c)
	}
	for i := range rs {
		r := &rs[i]
		before := len(r.Endpoints)
		r.Endpoints = allowed(owner, r.ID, r.Endpoints, refuse)
		r.Services = allowed(owner, r.ID, r.Services, refuse)
		if len(r.Endpoints) == 0 && before > 0 {
			continue
		}
		if owner == nil && r.Schema == selfSchema {
			r.Schema = "" // a word for those who speak of themselves
		}
		kept = append(kept, *r)
	}
	return kept, refused, more
}

// selfSchema marks the resources of back-ends that describe themselves.
const selfSchema = "self"

func allowed(owner Owner, id string, es []glue.Endpoint, refuse func(Claim)) []glue.Endpoint {
	judge := func(e glue.Endpoint) bool {
		why := judgeClaim(owner, e)
		if why != "" {
			refuse(Claim{Resource: id, Interface: e.Interface, URL: e.URL, Why: why})
		}
		return why != ""
	}
	if !slices.ContainsFunc(es, func(e glue.Endpoint) bool { return judgeClaim(owner, e) != "" }) {
		return es
	}
	return slices.DeleteFunc(slices.Clone(es), judge)
}

// judgeClaim says why an endpoint is not the source's to name; "" it is.
func judgeClaim(owner Owner, e glue.Endpoint) string {
	if owner != nil {
		if owner.Owns(e) {
			return ""
		}
		return NotOwned
	}
	schemes, public := claims[e.Interface]
	if !public && strings.HasPrefix(strings.ToLower(e.Interface), ownPrefix) {
		return NotOwned
	}
	scheme, _, hasScheme := strings.Cut(e.URL, ":")
	scheme = strings.ToLower(scheme)
	if hasScheme && slices.Contains(ownSchemes, scheme) {
		return NotOwned
	}
	if !public {
		return ""
	}
	if !slices.Contains(schemes, scheme) {
		return BadScheme
	}
	if u, err := url.Parse(e.URL); err != nil || u.Hostname() == "" || u.User != nil {
		return BadURL
	}
	return ""
}
