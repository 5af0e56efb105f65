package main

// manifest is the truth, for tests to compare with.
type manifest struct {
	Sites   int            `json:"sites"`
	Entries map[string]int `json:"entries"` // by file
	Dirt    map[string]int `json:"dirt"`    // queues or CEs spoilt, by kind
	ByVO    map[string]int `json:"by_vo"`   // queues by VO let in
	Queues  []truth        `json:"queues"`
}

// truth is what a reader of both schemas should find out about a queue. What
// is null was not published, or as a placeholder.
type truth struct {
	ID       string   `json:"id"` // GlueCEUniqueID
	Site     string   `json:"site"`
	Host     string   `json:"host"`
	Queue    string   `json:"queue"`
	Style    string   `json:"style"`
	Serving  string   `json:"serving"`
	VOs      []string `json:"vos"`
	Slots    int64    `json:"slots"`
	Running  *int64   `json:"running"`
	Waiting  *int64   `json:"waiting"`
	Free     *int64   `json:"free"`
	Wall     *int64   `json:"wall"` // minutes
	Conflict bool     `json:"conflict,omitempty"`
	Views    bool     `json:"views"`
	Nodes    bool     `json:"nodes"` // GLUE 1.3 describes the nodes
	Stale    bool     `json:"stale,omitempty"`
	Tags     int      `json:"tags"`
}

func newManifest(g *grid) *manifest {
	m := &manifest{Sites: len(g.sites), Entries: map[string]int{}, Dirt: map[string]int{}, ByVO: map[string]int{}}
	for _, s := range g.sites {
		for _, c := range s.ces {
			m.count("stale_glue2", c.staleGlue2)
			m.count("lower_vo", c.lowerVO)
			m.count("no_subcluster", c.noSubCluster)
			m.count("dangling_cluster", c.dangling)
			m.count("closed_endpoint", c.off)
			for _, q := range c.queues {
				m.add(q)
			}
		}
	}
	return m
}

func (m *manifest) count(kind string, spoilt bool) {
	if spoilt {
		m.Dirt[kind]++
	}
}

func (m *manifest) add(q *queue) {
	m.count("dead_provider", q.dead)
	m.count("no_views", q.noViews)
	m.count("no_free", q.noFree)
	m.count("negative_free", q.negative)
	m.count("wrong_total", q.wrongTotal != 0)
	m.count("no_limit", !q.limitKnown)
	m.count("conflict", q.wall2 != 0)
	for _, vo := range q.vos {
		m.ByVO[vo]++
	}
	c := q.ce
	t := truth{ID: q.id(), Site: c.site.name, Host: c.host, Queue: q.name, Style: c.style, Serving: q.serving, VOs: q.vos,
		Slots: c.nodes * c.cores, Conflict: q.wall2 != 0, Views: !q.noViews, Nodes: !c.noSubCluster && !c.dangling, Stale: c.staleGlue2, Tags: len(c.tags)}
	if q.limitKnown {
		t.Wall = &q.wall
	}
	if !q.dead {
		t.Running, t.Waiting = &q.run, &q.wait
		if !q.noFree || !q.negative {
			t.Free = &q.free
		}
	}
	m.Queues = append(m.Queues, t)
}
