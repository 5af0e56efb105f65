package slurm

import (
	"fmt"
	"strings"
	"testing"
)

// TestOdds24: what a real 24.11 tells of licences, of which a reservation keeps some, reservations with flags, partitions that share
// processors or leave a part of each node, GPUs of two types on a node, counts of features, nodes for a user's own jobs, limits of
// arrays, begins and several reservations is read as the same of a 22.05, and these start where it planned them, or a minute sooner, but
// 15 and 16, for which it made no plan.
func TestOdds24(t *testing.T) {
	s := taped(t, "testdata/odds24")
	want := map[string]string{
		"10":   "8 procs 2 nodes each 4",                                         // --ntasks-per-node=4
		"12":   "8 procs 1 nodes starts 173",                                     // -n8 -N1
		"13":   "24 procs 0 nodes starts 173",                                    // -n24
		"14":   "3 procs 3 nodes begins 304 starts 305",                          // -N3 -w n1
		"15":   "1 procs 1 nodes starts 173",                                     // lic:2 of four, of which one is left
		"16":   "1 procs 1 nodes starts 120",                                     // two:2, of which a reservation keeps one
		"17":   "1 procs 1 nodes runs",                                           // lic:1
		"18":   "1 procs 1 nodes 2 gpus [gpu:a] after 13 end",                    // of a node that has a and b
		"19":   "1 procs 1 nodes 2 gpus [gpu:b] after 18 end",                    //
		"20":   "1 procs 1 nodes 3 gpus",                                         // --gpus=3
		"21":   "12 procs 3 nodes [a|b] begins 604 starts 604",                   // [a*2&b*1]
		"22":   "4 procs 1 nodes starts 179",                                     // --exclusive=user, where all jobs are of one
		"23":   "4 procs 1 nodes begins 724 starts 724",                          // of a partition with OverSubscribe=FORCE:2
		"24":   "4 procs 1 nodes",                                                // YES:3
		"26":   "4 procs 2 nodes",                                                // MinNodes=2
		"27":   "8 procs 0 nodes after 21 end starts 724",                        // MaxCPUsPerNode=4
		"30":   "4 procs 3 nodes runs",                                           // in a reservation with FLEX, before it and beside it
		"32":   "2 procs 1 nodes runs",                                           // in one of two
		"33":   "2 procs 1 nodes begins 394 starts 394",                          // --begin
		"34_1": "4 procs 1 nodes 2 at once", "34_5": "4 procs 1 nodes 2 at once", // %2
		"37": "4 procs 1 nodes until 594", // --deadline=now+10minutes
	}
	_, starts := foretold(t, s)
	for _, j := range s.Jobs {
		w, ok := want[j.ID]
		delete(want, j.ID)
		got := told(s.Now, j)
		if j.ArrayLimit > 0 {
			got += fmt.Sprint(" ", j.ArrayLimit, " at once")
		}
		if !j.Deadline.IsZero() {
			got += fmt.Sprint(" until ", int(j.Deadline.Sub(s.Now).Seconds()))
		}
		if strings.Contains(w, "starts") {
			got += fmt.Sprint(" starts ", starts[j.ID])
		}
		if ok && got != w {
			t.Errorf("%s: %s, want %s", j.ID, got, w)
		}
	}
	if len(want) > 0 {
		t.Errorf("without %v", want)
	}
	var kept []string
	for _, r := range s.Reservations {
		kept = append(kept, fmt.Sprint(r.Name, r.Nodes, r.Each, r.Flex, int(r.Start.Sub(s.Now).Seconds()), " ", int(r.End.Sub(s.Now).Seconds())))
	}
	if got := strings.Join(kept[:min(len(kept), 6)], "\n"); len(kept) != 11 || got != `lic[] 0 false -11 119
cores[n6] 4 false -11 179
maint[n7] 0 false 889 1490
flexy[n8] 0 true 290 1490
daily[n3] 0 false 2990 3590
daily[n3] 0 false 89390 89990` {
		t.Errorf("%d: %s", len(kept), got)
	}
}
