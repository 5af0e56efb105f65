package daemon

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/forecast/managers"
)

// A manager remembers the first and the last steps of a job, and of so many jobs, for an hour at least.
func TestWaysAreBounded(t *testing.T) {
	var w ways
	restless := &managers.Job{ID: "restless"}
	w.note(restless, HandedIn, "")
	for restless.Hops = range 5 * maxSteps {
		w.note(restless, SentOn, "x")
	}
	if steps := w.of("restless"); len(steps) != maxSteps || steps[0].Did != HandedIn || steps[1].Hops != 0 || steps[maxSteps-1].Hops != 5*maxSteps-1 || steps[maxSteps-2].Hops != 5*maxSteps-2 {
		t.Errorf("%+v", w.of("restless"))
	}
	for i := range maxWays - 1 {
		w.note(&managers.Job{ID: managers.ID(fmt.Sprint(i))}, Offered, "")
	}
	w.note(&managers.Job{ID: "one more"}, Offered, "")
	w.note(restless, Freed, "")
	if steps := w.of("restless"); len(steps) != maxSteps || steps[maxSteps-1].Did != Freed || len(w.of("7")) != 1 {
		t.Errorf("%d steps, %d", len(steps), len(w.of("7")))
	}
	w.turned = w.turned.Add(-wayTime - time.Second)
	w.note(&managers.Job{ID: "later"}, Offered, "")
	if len(w.of("7")) != 0 || len(w.of("restless")) != maxSteps || len(w.is)+len(w.before) > maxWays {
		t.Errorf("%d and %d jobs are remembered", len(w.is), len(w.before))
	}
}
