package remote

import (
	"context"
	"slices"
	"strings"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Inventory lists the jobs that lie at the site and were given to its batch
// system. What was sent otherwise than by us is not among them.
func (s *Site) Inventory(ctx context.Context, lrms LRMS) ([]plugins.Present, error) {
	text, err := s.Verb(ctx, "list", nil)
	if err != nil {
		return nil, err
	}
	left := maxLines
	places, _, _ := parsePlaces(text, func(id string) bool { left--; return left >= 0 && ValidID(id) })
	if left < 0 {
		return nil, s.Fail("list", errTooLong)
	}
	all := make([]plugins.Present, 0, len(places))
	for id, p := range places {
		if number(p.lrmsID) {
			all = append(all, plugins.Present{ID: id, Handle: lrms.Handle(p.lrmsID, p.line, id)})
		}
	}
	slices.SortFunc(all, func(a, b plugins.Present) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// Describe reads the descriptions of the site's jobs, by our ids.
func (s *Site) Describe(ctx context.Context, ids []string) (map[string]*jdl.Job, error) {
	out := map[string]*jdl.Job{}
	for part := range slices.Chunk(ids, maxDescribed) {
		text, err := s.Verb(ctx, "describe", part)
		if err != nil {
			return nil, err
		}
		left := maxDescription + len(part)*usualDescription
		for one := range strings.SplitSeq("\n"+text, "\njob ") {
			id, body, _ := strings.Cut(one, "\n")
			if left -= len(body); left < 0 || len(body) > maxDescription || !slices.Contains(part, id) {
				continue
			}
			job, err := jdl.LoadJob(strings.TrimPrefix(strings.ReplaceAll("\n"+body, "\n|", "\n"), "\n"))
			if err == nil {
				out[id] = job
			}
		}
	}
	return out, nil
}

// maxDescribed is how many descriptions are read by one command; each may have a
// megabyte, and all together that and so much for every job.
const (
	maxDescribed     = 1000
	maxDescription   = 1 << 20
	usualDescription = 16 << 10
)

// describeAll is Describe for handles of any of a back-end's sites.
func describeAll[S interface {
	Describe(context.Context, []string) (map[string]*jdl.Job, error)
}](ctx context.Context, hs []plugins.Handle, split func(plugins.Handle) (s S, lrmsID, id string, ok bool, err error)) ([]*jdl.Job, error) {
	out := make([]*jdl.Job, len(hs))
	at := map[string][]int{} // by endpoint
	for i, h := range hs {
		at[h.Endpoint] = append(at[h.Endpoint], i)
	}
	for _, is := range at {
		var ids []string
		for _, i := range is {
			if _, _, id, ok, err := split(hs[i]); err == nil && ok {
				ids = append(ids, id)
			}
		}
		s, _, _, _, err := split(hs[is[0]])
		if err != nil {
			return nil, err
		}
		described, err := s.Describe(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, i := range is {
			if _, _, id, ok, err := split(hs[i]); err == nil && ok {
				out[i] = described[id]
			}
		}
	}
	return out, nil
}
