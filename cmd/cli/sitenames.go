package cli

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl/classad"
)

// siteNames tells, once, which words of --site mean no resource.
type siteNames struct{ told atomic.Bool }

// check compares the words with what was found.
func (n *siteNames) check(d *deps, wants []string, rs []*glue.Resource) {
	if n.told.Load() || len(rs) == 0 {
		return
	}
	for _, want := range wants {
		if slices.ContainsFunc(rs, func(r *glue.Resource) bool { return broker.Named(want, r) }) {
			continue
		}
		n.told.Store(true)
		sayErr(d, "--site %s: none of %s has that name, id, site or host; %s", want, counted(len(rs), "resource"), siteHint(want, rs))
	}
}

// siteHint is what may have been meant: a source, whose resources have other names, or a name with a slip.
func siteHint(want string, rs []*glue.Resource) string {
	var names []string
	for _, r := range rs {
		if r.Source == want {
			return fmt.Sprintf("it is a source, as for --info, and a resource of it is called %s", r.Name)
		}
		names = append(names, r.Site, r.CE, r.Name)
	}
	if near := classad.Nearest(want, names); near != "" {
		return "did you mean " + near + "?"
	}
	for _, name := range names {
		if want != "" && strings.Contains(strings.ToLower(name), strings.ToLower(want)) {
			return fmt.Sprintf("a part of a name needs a pattern: '*%s*'", want)
		}
	}
	return "grid resources lists them"
}
