package history

import (
	"fmt"
	"math"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/rank"
)

// TestLies: what a computing element says of a job's times, and cannot be, is not learned: neither the forecasts of others nor the run
// times of the task suffer by it.
func TestLies(t *testing.T) {
	for name, lie := range map[string]func(now time.Time) plugins.Status{
		"in a time that never comes": func(time.Time) plugins.Status {
			return plugins.Status{Started: time.Unix(1<<53, 0), Ended: time.Unix(1<<53+60, 0)}
		},
		"at no time": func(time.Time) plugins.Status {
			return plugins.Status{Started: time.Unix(-1<<53, 0), Ended: time.Unix(-1<<53, 0)}
		},
		"long before it was sent": func(now time.Time) plugins.Status { return plugins.Status{Started: now.AddDate(-50, 0, 0), Ended: now} },
		"after it is known to be": func(now time.Time) plugins.Status {
			return plugins.Status{Started: now.AddDate(1, 0, 0), Ended: now.AddDate(2, 0, 0)}
		},
		"for longer than it was sent": func(now time.Time) plugins.Status {
			return plugins.Status{Started: now, Ended: now, WallTime: 5000 * time.Hour}
		},
		"for ever": func(now time.Time) plugins.Status {
			return plugins.Status{Started: now, Ended: now, WallTime: math.MaxInt64}
		},
		"for less than nothing": func(now time.Time) plugins.Status {
			return plugins.Status{Started: now, Ended: now.AddDate(-9, 0, 0), WallTime: math.MinInt64}
		},
	} {
		b := newBench(t)
		honest, liar := resource("honest"), resource("liar")
		forecast := func() rank.Forecast { return rank.Forecast{Source: "the grid's", Made: b.clock, Median: time.Hour} }
		for range 4 {
			b.run(simulate, honest, time.Hour, time.Hour, 0, forecast())
		}
		for i := range 5 {
			id := fmt.Sprint("lie", i)
			if err := b.Sent(t.Context(), []plugins.Attempt{{ID: id, Job: simulate, Resource: liar, Forecasts: []rank.Forecast{forecast()}}}); err != nil {
				t.Fatal(err)
			}
			b.clock = b.clock.Add(2 * time.Hour)
			st := lie(b.clock)
			st.State, st.ExitCode = plugins.Done, glue.Some(0)
			if err := b.Ended(t.Context(), []plugins.End{{ID: id, Status: st}}); err != nil {
				t.Fatal(err)
			}
		}
		if d, ok := b.PastError(t.Context(), "the grid's"); !ok || d > time.Hour {
			t.Errorf("%s: the forecasts are wrong by %v, %v", name, d, ok)
		}
		if h := b.of(simulate, honest); !h.RunTime.OK || h.RunTime.V < time.Minute || h.RunTime.V > 3*time.Hour || h.WaitCorrection.V != 1 {
			t.Errorf("%s: the others are thought to be %+v", name, h)
		}
		h := b.of(simulate, liar)
		if c := h.WaitCorrection; c.OK && !(c.V >= 0 && c.V <= 3) || h.Overhead.V < 0 || h.Overhead.V > 3*time.Hour || h.RunTime.V > 3*time.Hour || h.RunTime.V < 0 {
			t.Errorf("%s: it is thought to be %+v", name, h)
		}
	}
}
