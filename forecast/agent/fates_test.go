package agent

import (
	"context"
	"testing"
	"time"

	"gridbroker/batch"
)

// ledger is an accounting of what ended since it was kept.
type ledger []batch.Ending

// Endings implements Accountant.
func (l ledger) Endings(_ context.Context, since time.Time) (list []batch.Ending, _ error) {
	for _, e := range l {
		if !e.Ended.Before(since) {
			list = append(list, e)
		}
	}
	return list, nil
}

// TestRestartKeepsFates: an agent that was started again knows how those jobs ended that others are still said to wait for: from its
// memory where it saw them go, from accounting where that was while it was stopped. Who waits for their success is not foretold a start.
func TestRestartKeepsFates(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		b := newBench(t)
		book := ledger{}
		hire := func() *Agent {
			a := b.agent()
			a.Account = &book
			return a
		}
		step := func(a *Agent) {
			t.Helper()
			if err := a.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		b.later("x", true)
		for _, id := range []string{"ok", "not"} {
			b.later(id, false)
		}
		jobs := b.site.state.Jobs
		jobs[1].After = []batch.Dependency{{ID: "x", On: batch.OnSuccess}}
		jobs[2].After = []batch.Dependency{{ID: "x", On: batch.OnFailure}}
		first := hire()
		step(first)
		fails := func() {
			b.wait(time.Minute)
			b.site.state.Jobs = jobs[1:]
			book = append(book, batch.Ending{ID: "x", Started: jobs[0].Started, Ended: b.now, Failed: true})
		}
		if !stopped {
			fails()
			step(first)
			b.wait(5 * time.Minute) // accounting is not asked as far back again
			step(first)
		}
		if err := first.save(true); err != nil {
			t.Fatal(err)
		}
		if stopped {
			fails()
		}
		b.wait(5 * time.Minute)
		again := hire()
		for range 2 {
			step(again)
			b.wait(time.Minute)
			if ok, not := b.c.jobs["ok"].Start, b.c.jobs["not"].Start; ok != 0 || not == 0 {
				t.Errorf("x failed while the agent was stopped %v: who waits for its success is to start at %d, for its failure at %d", stopped, ok, not)
			}
		}
	}
}
