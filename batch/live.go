package batch

import (
	"fmt"
	"time"
)

// Live follows a real cluster event by event and always has a forecast. The
// cluster decides what starts; the model follows it. An event that happens as
// foretold leaves the schedule as it is; after any other it is worked out
// anew, only as far as it is asked for. Where the Forecaster has Errors they
// learn how each job's first forecast came out.
//
// A Live is not safe for concurrent use.
type Live struct {
	f        *Forecaster
	c        *cluster
	jobs     map[string]int32   // place in the machine by job ID
	run      *forward           // the schedule still to be worked out; nil: stale
	expected []Expected         // the schedule as far as it is worked out
	ends     []int64            // believed ends by place in the machine, as the schedule has them
	first    map[string]promise // the first forecast of each waiting job, where errors are learned
}

// promise is a start foretold, and when it was.
type promise struct{ made, start int64 }

// Live begins to follow a cluster from a state.
func (f *Forecaster) Live(s State) (*Live, error) {
	c, err := newCluster(s, f.Policy, &f.users)
	if err != nil {
		return nil, err
	}
	c.following = true
	l := &Live{f: f, c: c, jobs: map[string]int32{}, first: map[string]promise{}}
	for id := range c.jobs {
		if c.jobs[id].state != gone {
			l.jobs[c.state.Jobs[c.ids[c.jobs[id].ID]].ID] = int32(id)
		}
	}
	return l, nil
}

// Refused lists the waiting jobs that will not start as things are.
func (l *Live) Refused() []Refusal { return l.c.refuse }

// Submit takes in a job that was submitted at j.Submitted.
func (l *Live) Submit(j Job) error {
	if _, ok := l.jobs[j.ID]; ok {
		return fmt.Errorf("job %s is there already", j.ID)
	}
	l.advance(j.Submitted)
	l.run = nil
	if why := l.c.refused(&j); why != "" {
		l.c.refuse = append(l.c.refuse, Refusal{j.ID, why})
		return nil
	}
	l.c.state.Jobs = append(l.c.state.Jobs, j)
	l.jobs[j.ID] = l.c.join(len(l.c.state.Jobs) - 1)
	return nil
}

// Start takes in that a waiting job was started; placed may be empty.
func (l *Live) Start(id string, at time.Time, placed []Placement) error {
	place, err := l.find(id, queued)
	if err != nil {
		return err
	}
	l.advance(at)
	if len(l.expected) == 0 && l.run != nil {
		l.more()
	}
	if len(l.expected) > 0 && l.expected[0].ID == id && l.expected[0].Start.Unix() == l.c.now && len(placed) == 0 {
		l.expected = l.expected[1:]
	} else {
		l.run = nil
	}
	if p, ok := l.first[id]; ok && l.f.Errors != nil {
		l.f.Errors.Learn(p.start-p.made, l.c.now-p.made)
	}
	delete(l.first, id)
	l.c.begun++
	l.c.startAs(place, placed)
	return nil
}

// End takes in that a running job ended, and learns from it.
func (l *Live) End(id string, at time.Time) error {
	place, err := l.find(id, running)
	if err != nil {
		return err
	}
	l.advance(at)
	t := l.c.jobs[place].Task
	if t.Run = max(1, l.c.now-l.c.jobs[place].start); int(place) >= len(l.ends) || l.ends[place] != l.c.now {
		l.run = nil
	}
	l.f.belief().Learn(&t)
	l.c.end(l.c.now, place)
	delete(l.jobs, id)
	return nil
}

// Cancel takes in that a waiting job left the queue.
func (l *Live) Cancel(id string, at time.Time) error {
	place, err := l.find(id, queued)
	if err != nil {
		return err
	}
	l.advance(at)
	l.run = nil
	l.c.cancel(l.c.now, place)
	delete(l.jobs, id)
	delete(l.first, id)
	return nil
}

func (l *Live) find(id string, want jobState) (int32, error) {
	place, ok := l.jobs[id]
	if !ok || l.c.jobs[place].state != want {
		return 0, fmt.Errorf("job %s is not %s", id, map[jobState]string{queued: "waiting", running: "running"}[want])
	}
	return place, nil
}

// advance moves the clock on.
func (l *Live) advance(at time.Time) {
	l.c.advance(at.Unix())
	for id := range l.c.jobs {
		if j := &l.c.jobs[id]; j.state == running && j.start+j.limit <= l.c.now {
			l.run = nil
			l.c.extend(j)
		}
	}
}

// Starts returns the first n starts expected (0: all that wait).
func (l *Live) Starts(n int) []Expected {
	if l.run == nil {
		l.begin()
	}
	for (n == 0 || len(l.expected) < n) && l.more() {
	}
	if n > 0 && len(l.expected) > n {
		return l.expected[:n]
	}
	return l.expected
}

func (l *Live) begin() {
	l.run, l.expected = l.c.forward(l.f.belief()), nil
	l.ends = make([]int64, len(l.c.jobs))
	for _, d := range l.run.ends {
		l.ends[d.job] = d.at
	}
}

// more works out one more start.
func (l *Live) more() bool {
	j, ok := l.run.next()
	if !ok {
		return false
	}
	end := l.run.end(j, 0)
	l.ends[l.run.place] = end
	e := l.f.expected(l.c, j, end)
	l.expected = append(l.expected, e)
	if _, ok := l.first[e.ID]; !ok && l.f.Errors != nil {
		l.first[e.ID] = promise{l.c.now, j.start}
	}
	return true
}
