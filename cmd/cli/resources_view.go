package cli

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// resourceFacets is what may be shown of resources.
func resourceFacets(b *plugins.Registry) facets[*glue.Resource] {
	text := func(name, head string, of func(*glue.Resource) string) facet[*glue.Resource] {
		return facet[*glue.Resource]{name, head, func(_ *deps, r *glue.Resource) string { return dash(of(r)) }, nil, of}
	}
	count := func(name, head string, of func(*glue.Resource) glue.Opt[int64]) facet[*glue.Resource] {
		return facet[*glue.Resource]{name, head, func(_ *deps, r *glue.Resource) string { return number(of(r)) },
			func(x, y *glue.Resource) int { return byNumber(of(x), of(y)) },
			func(r *glue.Resource) string { return exactly(of(r)) }}
	}
	return facets[*glue.Resource]{
		usual: []string{"name", "site", "state", "vo", "free", "total", "waiting", "wall", "source", "age"},
		wide: []string{"id", "name", "site", "state", "vo", "free", "total", "running", "waiting", "wall", "memory", "lrms", "queue", "interface", "endpoint",
			"source", "age"},
		all: []facet[*glue.Resource]{
			text("id", "ID", func(r *glue.Resource) string { return r.ID }),
			text("name", "NAME", func(r *glue.Resource) string { return r.Name }),
			text("site", "SITE", func(r *glue.Resource) string { return r.Site }),
			text("state", "STATE", func(r *glue.Resource) string { return servingText(b, r) }),
			text("vo", "VO", vosOf),
			count("free", ">FREE", func(r *glue.Resource) glue.Opt[int64] { return r.FreeSlots }),
			count("total", ">TOTAL", func(r *glue.Resource) glue.Opt[int64] { return r.TotalSlots }),
			count("running", ">RUNNING", func(r *glue.Resource) glue.Opt[int64] { return r.Running }),
			count("waiting", ">WAITING", waiting),
			{"wall", ">WALL", func(_ *deps, r *glue.Resource) string { return wall(r) },
				func(x, y *glue.Resource) int { return byNumber(wallSeconds(x), wallSeconds(y)) },
				func(r *glue.Resource) string { return exactly(wallSeconds(r)) }},
			count("memory", ">MEMORY", func(r *glue.Resource) glue.Opt[int64] { return r.MaxMemory }),
			text("lrms", "LRMS", func(r *glue.Resource) string { return r.LRMS }),
			text("queue", "QUEUE", func(r *glue.Resource) string { return r.Queue }),
			text("interface", "INTERFACE", func(r *glue.Resource) string { return entry(r).Interface }),
			text("endpoint", "ENDPOINT", func(r *glue.Resource) string { return entry(r).URL }),
			{"source", "SOURCE", sourceOf, nil, func(r *glue.Resource) string { return r.Source }},
			{"age", ">AGE", func(d *deps, r *glue.Resource) string { return ago(d, told(r)) },
				func(x, y *glue.Resource) int { return told(y).Compare(told(x)) },
				func(r *glue.Resource) string { return told(r).UTC().Format(time.RFC3339) }},
		},
	}
}

// servingText is whether jobs are taken, and what else is to be known of what is said.
func servingText(b *plugins.Registry, r *glue.Resource) string {
	state := string(r.Serving)
	for _, more := range []struct {
		is   bool
		said string
	}{{len(r.Endpoints) > 0 && b.ReadOnly(entry(r).Interface), "shown only"}, {r.StateIsPlaceholder, "numbers dead"}} {
		switch {
		case more.is && state != "":
			state += ", " + more.said
		case more.is:
			state = more.said
		}
	}
	return state
}

// entry is the best endpoint for jobs; empty: none is published.
func entry(r *glue.Resource) glue.Endpoint {
	if len(r.Endpoints) == 0 {
		return glue.Endpoint{}
	}
	return r.Endpoints[0]
}

func sourceOf(d *deps, r *glue.Resource) string {
	if r.Stale {
		return r.Source + styled(d, yellow, " (stale)")
	}
	return r.Source
}

// told is when the state was made, or else brought.
func told(r *glue.Resource) time.Time {
	if r.Created.IsZero() {
		return r.Fetched
	}
	return r.Created
}

func wallSeconds(r *glue.Resource) glue.Opt[int64] {
	return glue.Opt[int64]{V: int64(r.MaxWallTime.V.Seconds()), OK: r.MaxWallTime.OK}
}

// byNumber orders numbers; what is not published comes before all.
func byNumber(a, b glue.Opt[int64]) int {
	if a.OK != b.OK {
		if b.OK {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.V, b.V)
}

// exactly is a number for machines: nothing where it is not published.
func exactly(n glue.Opt[int64]) string {
	if !n.OK {
		return ""
	}
	return strconv.FormatInt(n.V, 10)
}

// showResources prints a table of resources, or of the sites that they are at.
func showResources(d *deps, f resourcesOptions, b *plugins.Registry, rs []glue.Resource) error {
	if f.sites {
		return showList(d, siteFacets(), f.view, sitesOf(rs), "sites", "OPEN", "QUEUES", "TOTAL")
	}
	return showList(d, resourceFacets(b), f.view, pointers(rs), "resources", "AGE", "SOURCE", "TOTAL", "SITE", "WALL", "VO")
}

func pointers(rs []glue.Resource) []*glue.Resource {
	at := make([]*glue.Resource, len(rs))
	for i := range rs {
		at[i] = &rs[i]
	}
	return at
}

// inOrder are the resources that a view shows, for machines.
func inOrder(d *deps, v view, b *plugins.Registry, rs []glue.Resource) ([]glue.Resource, error) {
	at, err := resourceFacets(b).ordered(d, v, pointers(rs))
	if err != nil {
		return nil, err
	}
	out := make([]glue.Resource, len(at))
	for i, r := range at {
		out[i] = *r
	}
	return out, nil
}

// checkView tells whether the flags mean something together.
func (f *resourcesOptions) checkView(d *deps, list facets[*glue.Resource]) error {
	if !f.sites {
		return list.check(f.view, "resources")
	}
	if d.json || f.view.output == "json" {
		return usageError(errors.New("--sites is a table, or -o csv: the JSON has the site of each resource"))
	}
	return siteFacets().check(f.view, "sites")
}
