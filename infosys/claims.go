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
// carries it runs commands or touches files on the user's side, unless rules
// say otherwise.
const ownPrefix = "org.gridbroker."

// Rules say what the back-ends leave to sources that are not their own.
type Rules struct {
	// Foreign lists, for every interface that a back-end speaks, the schemes
	// of the URLs by which any source may name it; with none it belongs to
	// its Owner alone.
	Foreign map[string][]string
	// Own are schemes of URLs that only their Owner may name, whatever the
	// interface is called.
	Own []string
}

// services are interfaces that no jobs go to: any source may name them.
var services = map[string][]string{
	glue.InterfaceQueues:   {"https", "http"},
	glue.InterfaceForecast: {"https", "http"},
	glue.InterfaceEcho:     {"https", "http"},
}

// nobodys are schemes that no published endpoint has.
var nobodys = []string{"ssh", "file"}

// schemes are those by which any source may name an interface; spoken: there
// are rules about it. Interfaces with ownPrefix that no rule speaks of belong
// to their Owner; others are kept as information, for nothing here speaks them.
func (r Rules) schemes(iface string) (schemes []string, spoken bool) {
	if s, ok := services[iface]; ok {
		return s, true
	}
	s, ok := r.Foreign[iface]
	return s, ok || strings.HasPrefix(strings.ToLower(iface), ownPrefix)
}

// Why a claim is refused.
const (
	NotOwned  = "only its own source may name it"
	BadScheme = "no scheme of this interface"
	BadURL    = "not a URL"
	Elsewhere = "it is at another host than the computing element that it is said to be of"
)

// Claim is an endpoint that a source named without being allowed to. It is a
// typed reason, shown and then forgotten: nothing is done with the endpoint.
type Claim struct {
	Resource  string `json:"resource"`
	Interface string `json:"interface"`
	URL       string `json:"url"`
	Why       string `json:"why"` // NotOwned, BadScheme, BadURL or Elsewhere
}

// Error implements error. The words of others are quoted.
func (c Claim) Error() string {
	return fmt.Sprintf("endpoint %q of %q (%s) is not used: %s", c.URL, c.Resource, strings.Trim(fmt.Sprintf("%q", c.Interface), `"`), c.Why)
}

// maxClaims bounds how many refused claims of one source are kept.
const maxClaims = 20

// admit takes away what a source may not say: endpoints that are not its to
// name, and resources that have no endpoint left by that.
func (rules Rules) admit(src Source, rs []glue.Resource) (kept []glue.Resource, refused []Claim, more int) {
	owner, _ := src.(Owner)
	kept = rs[:0]
	var well []glue.Endpoint
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
		r.Endpoints = rules.allowed(owner, r.ID, r.Endpoints, refuse, &well)
		r.Services = rules.allowed(owner, r.ID, r.Services, refuse, &well)
		if owner == nil {
			r.Endpoints = rules.near(r, refuse)
		}
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

// allowed are those of the endpoints that the source may name. well is
// the last list that was found to be all well: resources that follow one another share
// theirs.
func (rules Rules) allowed(owner Owner, id string, es []glue.Endpoint, refuse func(Claim), well *[]glue.Endpoint) []glue.Endpoint {
	if len(es) == 0 || len(es) == len(*well) && &es[0] == &(*well)[0] {
		return es
	}
	if !slices.ContainsFunc(es, func(e glue.Endpoint) bool { return rules.judge(owner, e) != "" }) {
		*well = es
		return es
	}
	kept := es[:0:0]
	for _, e := range es {
		if why := rules.judge(owner, e); why != "" {
			refuse(Claim{Resource: id, Interface: e.Interface, URL: e.URL, Why: why})
		} else {
			kept = append(kept, e)
		}
	}
	return kept
}

// near are those of a resource's endpoints for jobs that are at its own host.
func (rules Rules) near(r *glue.Resource, refuse func(Claim)) []glue.Endpoint {
	far := func(e glue.Endpoint) bool {
		_, jobs := rules.Foreign[e.Interface]
		return jobs && r.Elsewhere(e)
	}
	if !slices.ContainsFunc(r.Endpoints, far) {
		return r.Endpoints
	}
	kept := r.Endpoints[:0:0]
	for _, e := range r.Endpoints {
		if far(e) {
			refuse(Claim{Resource: r.ID, Interface: e.Interface, URL: e.URL, Why: Elsewhere})
		} else {
			kept = append(kept, e)
		}
	}
	return kept
}

// judge says why an endpoint is not the source's to name; "" it is.
func (rules Rules) judge(owner Owner, e glue.Endpoint) string {
	if owner != nil {
		if owner.Owns(e) {
			return ""
		}
		return NotOwned
	}
	schemes, spoken := rules.schemes(e.Interface)
	if spoken && len(schemes) == 0 {
		return NotOwned
	}
	scheme, _, hasScheme := strings.Cut(e.URL, ":")
	scheme = strings.ToLower(scheme)
	if hasScheme && (slices.Contains(nobodys, scheme) || slices.Contains(rules.Own, scheme)) {
		return NotOwned
	}
	if !spoken {
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
