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
	queued, err := s.waiting()
	if err != nil {
		return state, err
	}
	for _, sp := range queued {
		state.Jobs = append(state.Jobs, job(name, sp))
	}
	started, err := s.names("running")
	for _, id := range started {
		var sp spec
		if e := readJSON(filepath.Join(s.job(id), "spec.json"), &sp); errors.Is(e, fs.ErrNotExist) {
			continue
		} else if e != nil {
			return state, e
		}
		st, e := s.settle(id)
		if e != nil || st.State.Final() {
			continue
		}
		j := job(name, sp)
		if j.Started = st.Started; j.Started.IsZero() {
			j.Started = s.now()
		}
		j.Placed = []batch.Placement{{Node: name, Procs: j.Procs}}
		state.Jobs = append(state.Jobs, j)
	}
	return state, err
}

func job(queue string, sp spec) batch.Job {
	return batch.Job{ID: sp.ID, Queue: queue, Procs: max(1, sp.Slots), Requested: sp.Wall, Submitted: sp.Submitted}
}
