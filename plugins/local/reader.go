package local

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"gridbroker/batch"
	"gridbroker/plugins"
)

var _ plugins.QueueOpener = (*Backend)(nil)

// reader reads the slots and jobs of one site of this machine.
type reader struct{ site *site }

// QueueReader opens "local:NAME", or "local:" where there is one site only.
func (b *Backend) QueueReader(raw string) (plugins.QueueReader, error) {
	s, err := b.site(raw)
	return &reader{s}, err
}

// LRMS is the kind of batch system, as the site publishes it.
func (r *reader) LRMS() string { return "fork" }

// Queue implements plugins.QueueReader: the site is one node.
func (r *reader) Queue(context.Context) (batch.State, error) {
	s := r.site
	name := s.Name
	state := batch.State{Now: s.now(), Cluster: EndpointURL(name)}
	state.Nodes = []batch.Node{{Name: name, CPUs: s.Slots, Memory: s.Memory, Features: s.Tags, Up: !s.Disabled}}
	state.Queues = []batch.Queue{{Name: name, MaxWallTime: s.MaxWall, Closed: s.Disabled}}
	// Jobs are moved while this looks: one that is released meanwhile was held, one that starts waited, and is told once.
	before, err := s.names("held")
	if err != nil {
		return state, err
	}
	queued, err := s.waiting()
	if err != nil {
		return state, err
	}
	after, err := s.names("held")
	if err != nil {
		return state, err
	}
	started, err := s.names("running")
	told := map[string]bool{}
	for _, id := range started {
		told[id] = true
	}
	for _, sp := range queued {
		if !told[sp.ID] {
			told[sp.ID] = true
			state.Jobs = append(state.Jobs, job(name, sp))
		}
	}
	for _, id := range append(before, after...) {
		if !told[id] {
			told[id] = true
			state.Jobs = append(state.Jobs, onHold(s, id)...)
		}
	}
	if err != nil {
		return state, err
	}
	running, err := runs(s, started)
	state.Jobs = append(state.Jobs, running...)
	return state, err
}

// onHold is a job that its owner holds; none: it is gone, or nothing tells what it is.
func onHold(s *site, id string) []batch.Job {
	var sp spec
	if st, err := s.status(id); err != nil || st.State != plugins.Queued || s.spec(id, &sp) != nil {
		return nil
	}
	j := job(s.Name, sp)
	j.Held = true
	return []batch.Job{j}
}

// runs are those of some jobs that run.
func runs(s *site, ids []string) (jobs []batch.Job, err error) {
	for _, id := range ids {
		var sp spec
		if e := readJSON(filepath.Join(s.job(id), "spec.json"), &sp); errors.Is(e, fs.ErrNotExist) {
			continue
		} else if e != nil {
			return jobs, e
		}
		st, e := s.settle(id)
		if e != nil || st.State.Final() {
			continue
		}
		j := job(s.Name, sp)
		if j.Started = st.Started; j.Started.IsZero() {
			j.Started = s.now()
		}
		j.Placed = []batch.Placement{{Node: s.Name, Procs: j.Procs}}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func job(queue string, sp spec) batch.Job {
	return batch.Job{ID: sp.ID, Queue: queue, Procs: max(1, sp.Slots), Requested: sp.Wall, Submitted: sp.Submitted}
}
