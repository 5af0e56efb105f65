package tree

import (
	"context"
	"fmt"
	"slices"

	"gridbroker/forecast/managers"
)

// View is the tree with its tables at the instant at which a job was handed
// in, and that job's way through it.
type View struct {
	Config   Config
	At       int64 // of the tables, ticks
	Job      Job
	Managers []ManagerView // systems first, then domains level by level
	Way      []Step        // in order of time
}

// ManagerView is one manager.
type ManagerView struct {
	Name    string // s and its number, of a domain d and its number
	Parent  int    // number of the manager above it, -1 for none
	System  bool
	Nodes   int   // of the system
	Free    int   // nodes
	Waiting int   // jobs
	Dead    bool  // has failed
	Rows    []Row // what it knows of its neighbours
}

// Row is what a manager knows to be free in a neighbour's direction: amounts of
// nodes that some single system there has free, each once, ascending.
type Row struct {
	Neighbour int
	Free      []int
}

// Step is what happened to the job; At in ticks.
type Step struct {
	At      int64
	What    string // handed in, waits, is sent, starts
	Manager int    // where it was
	To      int    // where it was sent; -1: nowhere
}

// watch is the job that a run looks at.
type watch struct {
	job  int // index; -1: none
	view *View
	far  int // the job that went most hops
	told func(hundredths int64)
}

// time tells how much of the time is played.
func (w *watch) time(s *sim) {
	if w.told != nil {
		w.told(min(100, int64(100*float64(s.now)/float64(s.horizon))))
	}
}

// Watch runs the jobs as Run does, and follows one of them, by its number;
// 0 is the first of those that went over most links.
func Watch(ctx context.Context, c Config, nodes []int, jobs []Job, horizon float64, seed uint64, job int) (*View, error) {
	if c.Mode != "tree" && c.Mode != "dispatch" {
		return nil, fmt.Errorf("mode = %s: there is no tree to look at", c.Mode)
	}
	at := slices.IndexFunc(jobs, func(j Job) bool { return j.ID == job })
	switch {
	case job == 0:
		s, err := run(ctx, c, nodes, jobs, horizon, seed, watch{job: -1})
		if err != nil {
			return nil, err
		}
		at = s.watched.far
	case at < 0:
		return nil, fmt.Errorf("job %d: there are the jobs %d to %d", job, jobs[0].ID, jobs[len(jobs)-1].ID)
	}
	s, err := run(ctx, c, nodes, jobs, horizon, seed, watch{job: at})
	if err != nil {
		return nil, err
	}
	return s.watched.view, nil
}

// look takes down what there is when the watched job is handed in first.
func (w *watch) look(s *sim, home, job int) {
	if job != w.job || w.view != nil {
		return
	}
	v := &View{Config: *s.config, At: s.now, Job: s.jobs[job]}
	domains := 0
	for i, n := range s.nodes {
		m := ManagerView{Name: fmt.Sprintf("s%d", i), Parent: n.parent, System: n.nodes > 0, Nodes: n.nodes,
			Free: n.manager.Free().CPUs, Waiting: n.manager.Len(), Dead: n.dead}
		if !m.System {
			m.Name = fmt.Sprintf("d%d", domains)
			domains++
		}
		for k, peer := range n.peers {
			m.Rows = append(m.Rows, Row{peer, amounts(n.manager.Row(managers.Neighbour(k)))})
		}
		v.Managers = append(v.Managers, m)
	}
	w.view = v
	w.note(s.now, job, "handed in", home, -1)
}

func amounts(s managers.Set) []int {
	list := make([]int, len(s))
	for i := range s {
		list[i] = s[i].CPUs
	}
	return list
}

// note takes down what happens to the watched job. That it still waits is not new.
func (w *watch) note(now int64, job int, what string, manager, to int) {
	if job != w.job || w.view == nil {
		return
	}
	v := w.view
	if last := len(v.Way) - 1; what == "waits" && last >= 0 && v.Way[last].What == what && v.Way[last].Manager == manager {
		return
	}
	v.Way = append(v.Way, Step{now, what, manager, to})
}
