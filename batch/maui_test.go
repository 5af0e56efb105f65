package batch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gridbroker/batch"
)

// mauiJobs reads jobs written "name procs limit submission [priority]", which
// run to their limit.
func mauiJobs(t *testing.T, text string) (tasks []batch.Task, names []string) {
	t.Helper()
	for line := range strings.SplitSeq(text, ", ") {
		name, task := "", batch.Task{ID: int64(len(tasks) + 1)}
		if n, err := fmt.Sscan(line+" 0", &name, &task.Procs, &task.Limit, &task.Submit, &task.Priority); n < 4 {
			t.Fatalf("%q: %v", line, err)
		}
		task.Run = task.Limit
		tasks, names = append(tasks, task), append(names, name)
	}
	return tasks, names
}

// TestMauiParameters runs small scenes on ten processors whose outcome follows
// from the administrator's guide alone. Six are busy until 100 s, four until
// 10 s; then all the others wait, and what may start besides the first of them
// must fit four processors until 100 s or those that it leaves free then.
func TestMauiParameters(t *testing.T) {
	const (
		busy = "r 6 100 0, s 4 10 0, "
		// h gets 8 of 10 at 100 s; a to f are tried at 10 s in this order
		choice = busy + "h 8 50 1, a 2 30 2, b 3 70 3, c 4 50 4, d 1 80 5, e 2 85 6, f 4 88 7"
		// g needs all ten and can have them at 150 s, when h is done; x takes
		// two that h leaves, for longer than that
		deep = busy + "h 8 50 1, g 10 50 2, x 2 200 3"
		// y would hold up h
		late = busy + "h 8 50 1, y 4 200 2"
		// h has the reservation until g, of higher priority, comes; z is in
		// the way of h, who needs ten, not of g, who needs nine
		overtaken = busy + "h 10 50 1, g 9 50 2 5, z 1 200 3"
		// one of a and b at a time
		pair = "r 10 100 0, "
	)
	for _, v := range []struct {
		params, jobs string
		want         string // starts
	}{
		{"BACKFILLPOLICY=FIRSTFIT", choice, "a10 d10"},
		{"", choice, "a10 d10"},
		{"BACKFILLPOLICY=NONE", choice, ""},
		{"BACKFILLPOLICY=BESTFIT", choice, "c10"}, // of c and f the earlier
		{"BACKFILLPOLICY=BESTFIT BACKFILLMETRIC=SECONDS", choice, "f10"},
		{"BACKFILLPOLICY=BESTFIT BACKFILLMETRIC=PROCSECONDS", choice, "f10"},
		{"BACKFILLPOLICY=GREEDY BACKFILLMETRIC=PROCS", choice, "a10 e10"},                                      // the first set that fills all four
		{"BACKFILLPOLICY=GREEDY BACKFILLMETRIC=SECONDS", choice, "d10 e10"},                                    // 165 s
		{"BACKFILLPOLICY=GREEDY BACKFILLMETRIC=PROCSECONDS", choice, "f10"},                                    // 352, b and d have 290
		{"BACKFILLDEPTH=1", choice, "a10"},                                                                     // h holds a reservation and does not count
		{"BACKFILLDEPTH=2 BACKFILLPOLICY=BESTFIT", choice, "b10"},                                              // of a and b
		{"BACKFILLDEPTH=4 BACKFILLPOLICY=BESTFIT", choice, "c10"},                                              // of a to d
		{"BACKFILLDEPTH=5 BACKFILLPOLICY=GREEDY", choice, "a10 e10"},                                           // of a to e
		{"BACKFILLDEPTH=4 BACKFILLPOLICY=GREEDY", choice, "b10 d10"},                                           // of a to d: the first set of four processors
		{"RESERVATIONDEPTH=1", deep, "x10 h100 g210"},                                                          // g waits for x
		{"RESERVATIONDEPTH=2", deep, "h100 g150 x200"},                                                         // g is kept from x
		{"RESERVATIONDEPTH=UNLIMITED", deep, "h100 g150 x200"},                                                 //
		{"RESERVATIONPOLICY=CURRENTHIGHEST", late, "h100 y150"},                                                //
		{"RESERVATIONPOLICY=NEVER", late, "y10 h210"},                                                          // nothing is kept for h
		{"RESERVATIONPOLICY=CURRENTHIGHEST", overtaken, "z10 g100 h210"},                                       // h loses it
		{"RESERVATIONPOLICY=HIGHEST", overtaken, "g100 h150 z200"},                                             // h keeps it
		{"RESERVATIONPOLICY=NEVER", overtaken, "z10 g100 h210"},                                                //
		{"", pair + "a 6 10 1, b 10 10 2", "a100 b110"},                                                        // first come
		{"", pair + "a 6 10 1, b 10 10 2 1", "b100 a110"},                                                      // the cluster's own priority
		{"PROCWEIGHT=1", pair + "a 6 10 1, b 10 10 2", "b100 a110"},                                            //
		{"PROCWEIGHT=-1", pair + "a 10 10 1, b 6 10 2", "b100 a110"},                                           //
		{"PSWEIGHT=1", pair + "a 6 10 1, b 5 20 2", "b100 a120"},                                               // 60 and 100 processor seconds
		{"XFACTORWEIGHT=1", pair + "a 6 1000 1, b 6 10 2", "b100 a110"},                                        // 1.1 and 10.8
		{"XFACTORWEIGHT=1 XFACTORCAP=1.05", pair + "a 6 1000 1, b 6 10 2", "a100 b1100"},                       // both capped
		{"XFACTORWEIGHT=1 XFMINWCLIMIT=2000", pair + "a 6 1000 1, b 6 10 2", "a100 b1100"},                     // both count as 2000 s
		{"QUEUETIMEWEIGHT=1 PROCWEIGHT=1", "r 10 1000 0, a 6 10 1, b 10 10 2", "b1000 a1010"},                  // minutes: a second is little
		{"QUEUETIMEWEIGHT=1 PROCWEIGHT=1", "r 10 1000 0, a 6 10 1, b 10 10 301", "a1000 b1010"},                // five minutes are more than four processors
		{"QUEUETIMEWEIGHT=1 QUEUETIMECAP=1 PROCWEIGHT=1", "r 10 1000 0, a 6 10 1, b 10 10 301", "b1000 a1010"}, // of which one counts
		{"QUEUETIMEWEIGHT=60 PROCWEIGHT=1", "r 10 1000 0, a 6 10 1, b 10 10 4", "b1000 a1010"},                 // three seconds, four processors
		{"QUEUETIMEWEIGHT=60 PROCWEIGHT=1", "r 10 1000 0, a 6 10 1, b 10 10 6", "a1000 b1010"},                 // five seconds
	} {
		t.Run(v.params, func(t *testing.T) {
			tasks, names := mauiJobs(t, v.jobs)
			starts := replay(t, tasks, 10, maui(t, v.params))
			if got := told(tasks, names, starts, strings.Contains(v.jobs, "f 4 88")); got != v.want {
				t.Errorf("%s\ngot  %s\nwant %s", v.jobs, got, v.want)
			}
		})
	}
}

// told writes the starts of the jobs that waited, in order of time; with first
// only those at 10 s.
func told(tasks []batch.Task, names []string, starts []int64, first bool) string {
	slices.SortStableFunc(tasks, func(a, b batch.Task) int { return int(starts[a.ID] - starts[b.ID]) })
	var list []string
	for _, k := range tasks {
		if at := starts[k.ID]; at > 0 && (at == 10 || !first) {
			list = append(list, fmt.Sprint(names[k.ID-1], at))
		}
	}
	return strings.Join(list, " ")
}
