package agent

import (
	"math"
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

// lengths are the longest guests that an agent lets in by what they cost. What is
// shorter than the first is not worth its way.
var lengths = [...]time.Duration{5 * time.Minute, 7 * time.Minute, 10 * time.Minute, 12 * time.Minute, 15 * time.Minute, 20 * time.Minute, 25 * time.Minute, 30 * time.Minute,
	40 * time.Minute, time.Hour, 90 * time.Minute, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}

// longest is the longest guest for which there is room within a bound of the loss: at the
// bound itself atBound, the less of it is used the longer; 0: none at all. How much a guest
// costs goes by its length: that is what a local job that comes waits for at most.
func (l *loss) longest(bound float64) time.Duration {
	most := time.Duration(math.MaxInt64)
	if used := l.share() / bound; used > 0 {
		most = time.Duration(min(float64(most)/2, float64(atBound)*math.Pow(used, -steep)))
	}
	length := time.Duration(0)
	for _, v := range lengths {
		if most < v {
			return length
		}
		length = v
	}
	return math.MaxInt64
}

// With a tenth more of the bound in use guests are a quarter shorter.
const (
	atBound = 30 * time.Minute
	steep   = 3
)

// losing tells how many local jobs wait, and how many of them do so for guests.
func losing(s batch.State, f *batch.Forecast, booked []wire.Booking, by batch.Policy) (waiting, lost float64, err error) {
	alone, guests := withoutGuests(s, booked)
	wide := map[string]int{}
	for i := range alone.Jobs {
		if j := &alone.Jobs[i]; waits(j, s.Now) {
			waiting++
			wide[j.ID] = j.Procs
		}
	}
	if guests == 0 || waiting == 0 {
		return waiting, 0, nil
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

// withoutGuests is a state without the jobs that came for bookings, and how many of
// those run.
func withoutGuests(s batch.State, booked []wire.Booking) (alone batch.State, running int) {
	open := map[int][]*wire.Booking{}
	for i := range booked {
		b := &booked[i]
		open[int(b.Procs)] = append(open[int(b.Procs)], b)
	}
	alone = s
	alone.Jobs = make([]batch.Job, 0, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		k, list := -1, open[j.Procs]
		for n, b := range list {
			if j.Started.IsZero() && isGuest(j, b) || !j.Started.IsZero() && isRunningGuest(j, b) {
				k = n
				break
			}
		}
		if k < 0 {
			alone.Jobs = append(alone.Jobs, *j)
			continue
		}
		if !j.Started.IsZero() {
			running++
		}
		list[k] = list[len(list)-1]
		open[j.Procs] = list[:len(list)-1]
	}
	return alone, running
}

// isRunningGuest tells whether a running job may be what was sent for a booking of a slot.
// One that waited for its turn stands in nobody's way that it did not before.
func isRunningGuest(j *batch.Job, b *wire.Booking) bool {
	more := int64(j.Requested/time.Second) - (b.To - b.From)
	return b.Running && b.Way != wire.InTurn && int(b.Procs) == j.Procs && j.Started.Unix() >= b.From && (j.Requested == 0 || more >= 0 && more < 60)
}
