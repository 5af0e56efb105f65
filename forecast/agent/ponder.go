package agent

import (
	"gridbroker/batch"
	"gridbroker/batch/predict"
)

// outlook is a forecast of the whole queue and what its policy may be instead.
type outlook struct {
	forecast *batch.Forecast
	doubts   []predict.Doubt
	starts   map[string]batch.Expected // of the forecast, by job
}

// ponderShare is how many times as long as it was pondered nothing is pondered.
const ponderShare = 10

// ponder gives the work that need not be done before a look is told of: the whole
// queue, far jobs' starts among it, and the odds of jobs that were not seen before,
// which costs several runs of the schedule. A tenth of the time goes into it at
// most; nil: it is not due. The work may be done beside further looks.
func ponder(a *Agent) func() {
	if a.live == nil || !a.unpondered || a.Conf.Near && a.Conf.Turns == 0 || !a.pondering.TryLock() {
		return nil
	}
	began := a.Now()
	if began.Before(a.nextPonder) {
		a.pondering.Unlock()
		return nil
	}
	a.unpondered = false
	whole, others := a.live.Fork(), doubts(a.fit)
	return func() {
		defer a.pondering.Unlock()
		told := &outlook{forecast: whole(), doubts: others}
		told.starts = make(map[string]batch.Expected, len(told.forecast.Jobs))
		for _, e := range told.forecast.Jobs {
			told.starts[e.ID] = e
		}
		a.foretold.Store(told)
		a.odds.Promise(told.forecast, told.doubts...)
		ponderTurns(a, told)
		a.pondered.Store(true)
		now := a.Now()
		a.nextPonder = now.Add(ponderShare * now.Sub(began))
		a.Meter.odds(a.odds.Learned())
	}
}
