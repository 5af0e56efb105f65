package agent

import (
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// loss is what guests cost local jobs, as an agent sees it: the time that local jobs
// waited, and how much of it was for guests. A job waits for guests as long as it would
// start at once if they were not there, and does not as they are.
type loss struct {
	Waited float64   `json:"waited"` // job-seconds, what is long ago counts less
	Lost   float64   `json:"lost"`   // of these, for guests
	At     time.Time `json:"at"`     // of the last look

	waiting, lost float64 // jobs, as of the last look
}

// lossForgotten is the time after which a wait counts for a third.
const lossForgotten = 14 * 24 * time.Hour

// count takes in what the last look saw, until now, and what this one sees.
func (l *loss) count(waiting, lost float64, now time.Time) {
	l.wait(now)
	l.waiting, l.lost = waiting, lost
}

// wait takes in what the last look saw, until now. Of a time in which nobody looked
// nothing is known.
func (l *loss) wait(now time.Time) {
	if past := now.Sub(l.At); !l.At.IsZero() && past > 0 {
		keep := max(0, 1-past.Seconds()/lossForgotten.Seconds())
		seen := min(past, slotMissed).Seconds()
		l.Waited, l.Lost = keep*l.Waited+seen*l.waiting, keep*l.Lost+seen*l.lost
	}
	l.At = now
}

// share is how much longer local jobs waited than without guests. Where little was
// waited nothing can be told yet.
func (l *loss) share() float64 { return l.Lost / (l.Waited - l.Lost + leastWaited.Seconds()) }

// leastWaited is the sum of waits at which a loss is told in half.
const leastWaited = 100 * time.Hour

// seeLoss takes in what guests cost local jobs. A tenth of the time goes into it at most.
func (a *Agent) seeLoss(s batch.State, f *batch.Forecast, booked []wire.Booking) error {
	began := a.Now()
	if a.Conf.Site.Start == wire.Partition || began.Before(a.nextLoss) {
		return nil
	}
	waiting, lost, err := losing(s, f, booked, a.Forecast.Policy)
	if err != nil {
		return err
	}
	a.loss.count(waiting, lost, began)
	a.nextLoss = began.Add(ponderShare * a.Now().Sub(began))
	a.Meter.loss.Set(a.loss.share())
	return nil
}

// recall takes in what was learned before.
func (l *loss) recall(before *loss) {
	if before != nil && before.Lost >= 0 && before.Waited >= before.Lost {
		*l = *before
	}
}

// losing tells how many local jobs wait, and how many of them do so for guests.
func losing(s batch.State, f *batch.Forecast, booked []wire.Booking, by batch.Policy) (waiting, lost float64, err error) {
	var mark []bool
	running, looked := 0, false
	for i := range s.Jobs {
		if !waits(&s.Jobs[i], s.Now) {
			continue
		}
		if !looked {
			mark, _, running = guests(s, booked)
			looked = true
		}
		if mark == nil || !mark[i] {
			waiting++
		}
	}
	if running == 0 || waiting == 0 {
		return waiting, 0, nil
	}
	alone, wide := without(s, mark), map[string]int{}
	for i := range alone.Jobs {
		if j := &alone.Jobs[i]; waits(j, s.Now) {
			wide[j.ID] = j.Procs
		}
	}
	live, err := (&batch.Forecaster{Policy: by, Belief: batch.Estimate{}}).Live(alone)
	if err != nil {
		return 0, 0, err
	}
	soon := s.Now.Add(time.Second)
	starts, procs := startTimes(f), 0
	for _, e := range live.Near(time.Second).Jobs {
		if at, foreseen := starts[e.ID]; e.Start.Before(soon) && (!foreseen || !at.Before(soon)) {
			lost++
			procs += wide[e.ID]
		}
	}
	all := 0
	for i := range s.Nodes {
		all += s.Nodes[i].CPUs
	}
	lost += (waiting - lost) * float64(procs) / float64(all)
	return waiting, lost, nil
}

// waits tells whether a job is ready to run.
func waits(j *batch.Job, now time.Time) bool {
	return j.Started.IsZero() && !j.Held && len(j.After) == 0 && !j.Begin.After(now)
}

// guests marks the jobs of a state that came for bookings, nil: none, and counts how many of those
// wait and run.
func guests(s batch.State, booked []wire.Booking) (mark []bool, waiting, running int) {
	if len(booked) == 0 {
		return nil, 0, 0
	}
	open := map[int][]*wire.Booking{}
	for i := range booked {
		b := &booked[i]
		open[int(b.Procs)] = append(open[int(b.Procs)], b)
	}
	mark = make([]bool, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		list := open[j.Procs]
		k := slices.IndexFunc(list, func(b *wire.Booking) bool {
			return j.Started.IsZero() && isGuest(j, b) || !j.Started.IsZero() && isRunningGuest(j, b)
		})
		if k < 0 {
			continue
		}
		if mark[i] = true; j.Started.IsZero() {
			waiting++
		} else {
			running++
		}
		list[k] = list[len(list)-1]
		open[j.Procs] = list[:len(list)-1]
	}
	return mark, waiting, running
}

// without is a state without the jobs that are marked.
func without(s batch.State, mark []bool) batch.State {
	all := s.Jobs
	s.Jobs = make([]batch.Job, 0, len(all))
	for i := range all {
		if mark == nil || !mark[i] {
			s.Jobs = append(s.Jobs, all[i])
		}
	}
	return s
}

// isRunningGuest tells whether a running job may be what was sent for a booking of a slot.
// One that waited for its turn stands in nobody's way that it did not before.
func isRunningGuest(j *batch.Job, b *wire.Booking) bool {
	more := int64(j.Requested/time.Second) - (b.To - b.From)
	return b.Running && b.Way != wire.InTurn && int(b.Procs) == j.Procs && j.Started.Unix() >= b.From && (j.Requested == 0 || more >= 0 && more < 60)
}
