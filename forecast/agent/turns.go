package agent

import (
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// turnLengths are the wall times of the jobs of which an agent tells when their turn
// in its queue would come.
var turnLengths = [...]time.Duration{30 * time.Minute, 2 * time.Hour, 8 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// Turns are when jobs of some widths and lengths would start that came to a queue now,
// as ask tells it; of more than a number of processors or a wall time (0: any)
// nothing is told. A longer job that may start at once tells the same of the shorter.
func Turns(now time.Time, procs int, longest time.Duration, ask func(procs int, wall time.Duration) (time.Time, bool)) (list []wire.Turn) {
	for width := 1; procs > 0; width *= 2 {
		width = min(width, procs)
		for _, wall := range slices.Backward(lengthsTo(longest)) {
			at, ok := ask(width, wall)
			if !ok {
				continue
			}
			list = append(list, wire.Turn{Procs: int32(width), Wall: int64(wall / time.Second), From: max(at.Unix(), now.Unix())})
			if !at.After(now) {
				break
			}
		}
		if width == procs {
			break
		}
	}
	return list
}

// lengthsTo are the lengths up to the longest that is let in, and that itself.
func lengthsTo(longest time.Duration) []time.Duration {
	if longest <= 0 {
		return turnLengths[:]
	}
	var list []time.Duration
	for _, wall := range turnLengths {
		if wall < longest {
			list = append(list, wall)
		}
	}
	return append(list, longest)
}

// How often turns are worked out: a tenth of the time at most goes into it, and a
// second at a time; what is told of them is renewed where it is off by more than a
// share of the wait.
const (
	turnTime  = time.Second
	turnShare = 10
	turnLeast = 30 // seconds
)

// places is how many guests may wait in the queue.
func places(a *Agent) int32 {
	if way := a.Conf.Site.Start; way != wire.Plain && way != wire.Begin {
		return 0
	}
	return int32(a.Conf.Turns)
}

// turnsOf are those to be published, where the site lets guests queue: those told last,
// which the load has, while they are near enough.
func turnsOf(a *Agent, f *batch.Forecast, l *wire.Load) []wire.Turn {
	began, told := a.Now(), l.Turns
	if places(a) <= 0 {
		return nil
	}
	if began.Before(a.nextTurns) {
		return told
	}
	odds := a.turnOdds.Load()
	list := Turns(f.At, l.CPUs, time.Duration(a.Conf.Site.MaxGuest)*time.Second, func(procs int, wall time.Duration) (time.Time, bool) {
		if a.Now().Sub(began) >= turnTime {
			return time.Time{}, false
		}
		want, no := f.Ask(asks(a, f, procs, wall), 0)
		return want.Start, no.Cause == ""
	})
	odds.tell(list, f.At.Unix())
	a.nextTurns = began.Add(turnShare * a.Now().Sub(began))
	if near(list, told, f.At.Unix()) {
		return told
	}
	return list
}

// near tells whether what was told is as good as what is foretold now.
func near(list, told []wire.Turn, now int64) bool {
	if len(list) != len(told) {
		return false
	}
	for i, t := range list {
		was := told[i]
		if t.Procs != was.Procs || t.Wall != was.Wall || (t.Late == 0) != (was.Late == 0) {
			return false
		}
		for _, v := range [...][2]int64{{t.From, was.From}, {t.Early, was.Early}, {t.Late, was.Late}} {
			off := v[0] - max(v[1], now)
			if v[0] > 0 && max(off, -off) > max(turnLeast, (v[0]-now)/turnShare) {
				return false
			}
		}
	}
	return true
}
