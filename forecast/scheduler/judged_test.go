package scheduler

import (
	"fmt"
	"testing"
	"time"
)

// How long requirements take to be judged is told by the stopwatch that is given, and nothing else: by one that stands still,
// a simulation's, no job has to wait for a later cycle, however long the machine was busy with something else.
func TestJudgingGoesByItsStopwatch(t *testing.T) {
	for _, step := range []time.Duration{0, judgeTime} {
		m := newMemory(0)
		for i := range 3 {
			id := fmt.Sprint("s", i)
			m.jobs.enter(&Job{ID: id, Seq: int64(i), Owner: "alice", State: Waiting, Procs: 1, Wall: 60, JDL: `[ Executable = "x"; ]`, Match: id})
		}
		at := simEpoch
		conf := Config{Stopwatch: func() time.Time {
			at = at.Add(step)
			time.Sleep(judgeTime / 2) // of which nothing is to be seen
			return at
		}}
		in := conf.problem(m, simEpoch, nil)
		if want := map[time.Duration]int{judgeTime: 2}[step]; len(in.late) != want || len(in.jobs)+len(in.late) != 3 {
			t.Errorf("by a stopwatch that goes on by %v: %d are late, %d to be planned, want %d late", step, len(in.late), len(in.jobs), want)
		}
	}
}
