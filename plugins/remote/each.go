package remote

import "gridbroker/plugins"

// Each runs do once per site for the handles that belong to it; do returns one
// error for all of them. Split finds a handle's site and cuts it; ok is false
// for one that the back-end never gave out: it names no job, and there is
// nothing to do.
func Each[S comparable](hs []plugins.Handle, split func(plugins.Handle) (s S, lrmsID, id string, ok bool, err error),
	do func(s S, lrmsIDs, ids []string) error) []error {
	errs := make([]error, len(hs))
	type part struct {
		at           []int
		lrmsIDs, ids []string
	}
	parts := map[S]*part{}
	for i, h := range hs {
		s, lrmsID, id, ok, err := split(h)
		if errs[i] = err; err != nil || !ok {
			continue
		}
		p := parts[s]
		if p == nil {
			p = &part{}
			parts[s] = p
		}
		p.at, p.lrmsIDs, p.ids = append(p.at, i), append(p.lrmsIDs, lrmsID), append(p.ids, id)
	}
	for s, p := range parts {
		if err := do(s, p.lrmsIDs, p.ids); err != nil {
			for _, i := range p.at {
				errs[i] = err
			}
		}
	}
	return errs
}
