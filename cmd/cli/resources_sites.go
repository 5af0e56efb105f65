package cli

import (
	"cmp"
	"strconv"

	"gridbroker/glue"
	"gridbroker/infosys"
)

// atSite are the resources of one site.
type atSite struct {
	name string
	of   infosys.Snapshot
	infosys.Slots
	open    int             // resources that take jobs
	waiting glue.Opt[int64] // jobs, of each queue once
}

func siteFacets() facets[*atSite] {
	count := func(name, head string, of func(*atSite) int64) facet[*atSite] {
		text := func(s *atSite) string { return strconv.FormatInt(of(s), 10) }
		return facet[*atSite]{name, head, func(_ *deps, s *atSite) string { return text(s) }, func(x, y *atSite) int { return cmp.Compare(of(x), of(y)) }, text}
	}
	usual := []string{"site", "resources", "open", "queues", "free", "total", "waiting"}
	return facets[*atSite]{usual: usual, wide: usual, all: []facet[*atSite]{
		{"site", "SITE", func(_ *deps, s *atSite) string { return dash(s.name) }, nil, func(s *atSite) string { return s.name }},
		count("resources", ">RESOURCES", func(s *atSite) int64 { return int64(len(s.of.Resources)) }),
		count("open", ">OPEN", func(s *atSite) int64 { return int64(s.open) }),
		count("queues", ">QUEUES", func(s *atSite) int64 { return int64(s.Queues) }),
		count("free", ">FREE", func(s *atSite) int64 { return s.Free }),
		count("total", ">TOTAL", func(s *atSite) int64 { return s.Total }),
		{"waiting", ">WAITING", func(_ *deps, s *atSite) string { return number(s.waiting) },
			func(x, y *atSite) int { return byNumber(x.waiting, y.waiting) }, func(s *atSite) string { return exactly(s.waiting) }},
	}}
}

// sitesOf gathers resources by their sites, in the order in which they come.
func sitesOf(rs []glue.Resource) []*atSite {
	type queue struct{ cluster, name string }
	at, queues := map[string]*atSite{}, map[string]map[queue]int64{}
	var list []*atSite
	for i := range rs {
		r := &rs[i]
		s := at[r.Site]
		if s == nil {
			s = &atSite{name: r.Site}
			at[r.Site], queues[r.Site] = s, map[queue]int64{}
			list = append(list, s)
		}
		s.of.Resources = append(s.of.Resources, *r)
		if r.Serving == glue.Production || r.Serving == glue.Queueing {
			s.open++
		}
		if n := waiting(r); n.OK {
			q := queue{r.ClusterName(), r.Queue}
			queues[r.Site][q] = max(queues[r.Site][q], n.V)
			s.waiting.OK = true
		}
	}
	for _, s := range list {
		s.Slots = s.of.Slots()
		for _, n := range queues[s.name] {
			s.waiting.V += n
		}
	}
	return list
}
