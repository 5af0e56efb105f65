// Package slots measures how good the slots are that an agent publishes: a
// workload is replayed on one cluster, a real agent looks at it late, now and then
// in vain or out of order, and what it publishes is held against what came.
package slots

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/wire"
)

// Trial is what is tried. All times are at least a second, chances 0 to 1.
type Trial struct {
	Procs   int
	Policy  batch.Policy
	Belief  string          // of the agent about run times, one of batch.BeliefNames
	Poll    time.Duration   // between two looks
	Delay   time.Duration   // a look shows what was up to so long ago
	Loss    float64         // of the looks show nothing
	Reorder float64         // of the looks show what was before the last one
	Every   time.Duration   // what is published is judged so often
	Ahead   []time.Duration // and so far ahead
	Length  time.Duration   // of the slots judged
	Skip    int             // the first jobs only teach
	Seed    uint64
}

// Row is how slots that begin some time ahead came out. Parts are 0 to 1; those of
// processors are of all that were published, each counted at each time.
type Row struct {
	Ahead     time.Duration `json:"ahead"`
	Judged    int           `json:"judged"`               // times at which something was published
	One       float64       `json:"one_processor_held"`   // part of these times at which one processor stayed free for the length
	Held      float64       `json:"held"`                 // part of the processors that stayed free for the length
	Began     float64       `json:"free_at_start"`        // part of them that were free when the slot began
	Withdrawn float64       `json:"withdrawn"`            // part of them no longer published just before it began
	Chance    float64       `json:"chance_told_mean"`     // that a slot stays free as a whole, as published
	Found     float64       `json:"part_of_idle_found"`   // part published of the processors that were idle for the length
	Published float64       `json:"processors_published"` // mean over all times
	Idle      float64       `json:"processors_idle"`      // mean over all times
	Looks     int           `json:"looks"`                // that showed something
	all       int
}

// moment is a publication to be judged at the start of a slot and at its end.
type moment struct {
	row      int
	from, to int64
	procs    int // published, least over the length
	now      int // still published just before it begins
	chance   float64
	free     int // least so far
	begun    bool
	atStart  int
}

// trial is a Trial under way.
type trial struct {
	Trial
	rng    *rand.Rand
	engine *batch.Engine
	agent  *agent.Agent
	now    time.Time
	past   []batch.State // of the last looks, the newest last
	looks  int
	ended  []batch.Ending
	free   int
	open   []*moment
	rows   []Row
	jobs   int
}

var errLost = errors.New("the look was lost")

// Queue implements plugins.QueueReader.
func (t *trial) Queue(context.Context) (batch.State, error) {
	if t.rng.Float64() < t.Loss {
		return batch.State{}, errLost
	}
	t.looks++
	back := 0
	if t.rng.Float64() < t.Reorder {
		back = 1 + t.rng.IntN(len(t.past))
	}
	return t.past[max(0, len(t.past)-1-back)], nil
}

// Endings implements agent.Accountant.
func (t *trial) Endings(_ context.Context, since time.Time) (list []batch.Ending, _ error) {
	for i := len(t.ended) - 1; i >= 0 && !t.ended[i].Ended.Before(since); i-- {
		list = append(list, t.ended[i])
	}
	return list, nil
}

// Run replays the tasks, in order of submission.
func (t Trial) Run(ctx context.Context, tasks iter.Seq2[batch.Task, error]) ([]Row, error) {
	r := &trial{Trial: t, rng: rand.New(rand.NewPCG(t.Seed, 1)), free: t.Procs}
	for _, a := range t.Ahead {
		r.rows = append(r.rows, Row{Ahead: a})
	}
	judged := time.Time{}
	for task, err := range tasks {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && r.engine == nil {
			err = r.begin(time.Unix(task.Submit, 0).UTC())
			judged = r.now
		}
		if err != nil {
			return nil, err
		}
		for at := r.now.Add(t.Poll); at.Unix() <= task.Submit; at = at.Add(t.Poll) {
			if err := r.look(ctx, at); err != nil {
				return nil, err
			}
			if !at.Before(judged.Add(t.Every)) && r.jobs >= t.Skip {
				judged = at
				r.publish()
			}
		}
		if err := r.submit(task); err != nil {
			return nil, err
		}
	}
	return r.report(), nil
}

// begin sets up the cluster and its agent, which tells of all that it foresees to be free.
func (t *trial) begin(now time.Time) error {
	t.now = now
	e, err := batch.NewEngine(batch.State{Now: now, Nodes: []batch.Node{{Name: "cluster", CPUs: t.Procs, Up: true}}, Queues: []batch.Queue{{Name: "all"}}}, t.Policy)
	if err != nil {
		return err
	}
	e.Observe(t.happened)
	belief, err := batch.NewBelief(t.Belief)
	if err != nil {
		return err
	}
	horizon := t.Ahead[len(t.Ahead)-1] + t.Length + t.Delay + time.Hour
	t.engine, t.past = e, []batch.State{e.State()}
	t.agent = &agent.Agent{Conf: agent.Config{Cluster: "trial", Horizon: horizon, Beside: true, Site: wire.Site{LRMS: "trial"}}, Reader: t, Account: t,
		Forecast: &batch.Forecaster{Policy: t.Policy, Belief: belief, Errors: &batch.Errors{}},
		Now:      func() time.Time { return t.now }, Log: slog.New(slog.DiscardHandler)}
	return nil
}

// happened keeps what is free, and how jobs ended.
func (t *trial) happened(e batch.Event) {
	switch e.Kind {
	case batch.Started:
		t.settle(e.At.Unix())
		t.free -= e.Job.Procs
	case batch.Ended, batch.TimedOut:
		t.settle(e.At.Unix())
		t.free += e.Job.Procs
		t.ended = append(t.ended, batch.Ending{ID: e.Job.ID, Started: e.Job.Started, Ended: e.At, Failed: e.Kind == batch.TimedOut})
		if len(t.ended) > 4096 {
			t.ended = append([]batch.Ending(nil), t.ended[2048:]...)
		}
	}
}

// settle tells the open moments what was free up to a time.
func (t *trial) settle(now int64) {
	kept := t.open[:0]
	for _, m := range t.open {
		if !m.begun && m.from < now {
			m.begun, m.atStart = true, t.free
		}
		if m.from < now {
			m.free = min(m.free, t.free)
		}
		if m.to <= now {
			t.judge(m)
			continue
		}
		kept = append(kept, m)
	}
	t.open = kept
}

func (t *trial) submit(task batch.Task) error {
	t.jobs++
	j := batch.Job{ID: fmt.Sprint(task.ID), User: fmt.Sprint(task.User), Queue: "all", Procs: task.Procs,
		Requested: time.Duration(task.Limit) * time.Second, Submitted: time.Unix(task.Submit, 0).UTC()}
	return t.engine.Submit(j, time.Duration(task.Run)*time.Second)
}

// look lets the agent look: at what was some time ago.
func (t *trial) look(ctx context.Context, at time.Time) error {
	shown := at.Add(-time.Duration(t.rng.Int64N(int64(t.Delay) + 1)).Truncate(time.Second))
	if shown.After(t.engine.Now()) {
		if err := t.engine.Advance(shown); err != nil {
			return err
		}
		t.past = append(t.past, t.engine.State())
		if len(t.past) > 3 {
			t.past = t.past[1:]
		}
	}
	if err := t.engine.Advance(at); err != nil {
		return err
	}
	t.now = at
	t.settle(at.Unix())
	if err := t.agent.Step(ctx); err != nil && !errors.Is(err, errLost) {
		return err
	}
	t.recheck()
	return nil
}

// offered are the slots that the agent tells; none before its first look.
func (t *trial) offered() []wire.Slot {
	o, err := t.agent.Offer()
	if err != nil {
		return nil
	}
	return o.Slots
}

// within is the least number of processors that slots offer over a stretch of time, and
// the mean chance told of those at its beginning that they stay free.
func within(list []wire.Slot, from, to int64) (procs int, chance float64) {
	times := []int64{from}
	for _, s := range list {
		if s.From > from && s.From < to {
			times = append(times, s.From)
		}
		if s.To > from && s.To < to {
			times = append(times, s.To)
		}
	}
	procs = -1
	for _, at := range times {
		n := 0
		for _, s := range list {
			if s.From <= at && (s.To == 0 || s.To > at) {
				n += int(s.CPUs)
				if at == from {
					chance += s.Hold * float64(s.CPUs)
				}
			}
		}
		if at == from && n > 0 {
			chance /= float64(n)
		}
		if procs < 0 || n < procs {
			procs = n
		}
	}
	return procs, chance
}

// publish notes what is published now for each time ahead.
func (t *trial) publish() {
	list := t.offered()
	for i, a := range t.Ahead {
		from := t.now.Add(a).Unix()
		m := &moment{row: i, from: from, to: from + int64(t.Length/time.Second), free: t.Procs}
		m.procs, m.chance = within(list, m.from, m.to)
		m.now = m.procs
		t.open = append(t.open, m)
	}
}

// recheck looks what is still published of what is about to begin.
func (t *trial) recheck() {
	soon := t.now.Add(t.Poll).Unix()
	var list []wire.Slot
	asked := false
	for _, m := range t.open {
		if m.begun || m.from >= soon || m.from < t.now.Unix() {
			continue
		}
		if !asked {
			list, asked = t.offered(), true
		}
		m.now, _ = within(list, m.from, m.to)
	}
}
