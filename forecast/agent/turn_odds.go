package agent

import (
	"math"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// turnOdds are between when and when the turns of jobs come, with four chances in five,
// by their sizes, in seconds of Unix time; nil: nothing is known.
type turnOdds map[turnSize][2]int64

type turnSize struct {
	procs int32
	wall  int64 // seconds
}

// asks is a job of a size that comes to the queue at the time of a forecast.
func asks(a *Agent, f *batch.Forecast, procs int, wall time.Duration) batch.Job {
	return batch.Job{ID: "asked", Queue: a.Conf.Queue, Procs: procs, Requested: wall, Submitted: f.At}
}

// ponderTurns works the odds of turns out of a forecast of the whole queue, of as many
// sizes as there is time for, where the site lets guests queue.
func ponderTurns(a *Agent, told *outlook) {
	if learned, _, _ := a.odds.Learned(); places(a) <= 0 || learned < leastLearned {
		return
	}
	f, began := told.forecast, a.Now()
	state, _ := a.State()
	odds := turnOdds{}
	goOn := func() bool { return a.Now().Sub(began) < turnTime }
	Turns(f.At, load(state).CPUs, time.Duration(a.Conf.Site.MaxGuest)*time.Second, func(procs int, wall time.Duration) (time.Time, bool) {
		if !goOn() {
			return time.Time{}, false
		}
		d, no := a.odds.Ask(f, asks(a, f, procs, wall), goOn, told.doubts...)
		if no.Cause == "" {
			at := func(chance float64) int64 { return f.At.Unix() + int64(math.Round(d.Quantile(chance))) }
			odds[turnSize{int32(procs), int64(wall / time.Second)}] = [2]int64{at(0.1), at(0.9)}
		}
		return f.At.Add(time.Second), no.Cause == "" // of every size
	})
	a.turnOdds.Store(&odds)
}

// tell adds the odds to turns that do not come at once.
func (o *turnOdds) tell(list []wire.Turn, now int64) {
	if o == nil {
		return
	}
	for i := range list {
		t := &list[i]
		if odds, known := (*o)[turnSize{t.Procs, t.Wall}]; known && t.From > now {
			t.Early = max(now, odds[0])
			t.Late = max(t.Early, odds[1])
		}
	}
}
