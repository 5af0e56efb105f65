package slurm

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
)

// TestSuspended: what suspended jobs (scontrol suspend) keep in a real 22.05 and a real 24.11: memory and GPUs, and no processor,
// until they would have ended; and one that has gone on since ends later by as long as it was suspended. 10 and 11 start where
// Slurm planned them, 7 sooner, when 2 ends: Slurm's plan had the end of 1 in the same group, which 8 waits for, too.
func TestSuspended(t *testing.T) {
	for dir, want := range map[string]map[string]string{
		"testdata/suspended": {
			"1":  "6 procs suspended ends 1134",  // n1, 8000 MB; 20 minutes
			"2":  "2 procs ends 834",             // n1
			"3":  "2 procs suspended ends 1434",  // n4, both GPUs
			"4":  "10 procs suspended ends 1737", // n2 and n3, 1500 MB of each
			"5":  "8 procs ends 2380",            // n4; 40 minutes, and 40 s that it was suspended
			"6":  "8 procs ends 360",             // n2, --exclusive, beside 4
			"7":  "8 procs starts 834",           // n1, beside what 1 has of its memory
			"8":  "1 procs starts 1434",          // n1, 10000 MB
			"9":  "6 procs ends 170",             // n1
			"10": "1 procs starts 2380",          // n4, a GPU
			"11": "16 procs starts 1737",         // n2 and n3, 15500 MB of each
			"12": "8 procs ends 770",             // n3, beside 4
		},
		"testdata/suspended24": {
			"1": "6 procs suspended ends 1134", "2": "2 procs ends 835", "3": "2 procs suspended ends 1435", "4": "10 procs suspended ends 1735", "5": "8 procs ends 2380",
			"6": "8 procs ends 360", "7": "8 procs starts 835", "8": "1 procs starts 1435", "9": "6 procs ends 170", "10": "1 procs starts 2380", "11": "16 procs starts 1735", "12": "8 procs ends 770",
		},
	} {
		s := taped(t, dir)
		_, starts := foretold(t, s)
		for _, j := range s.Jobs {
			got := fmt.Sprint(j.Procs, " procs")
			if j.Suspended {
				got += " suspended"
			}
			if j.Started.IsZero() {
				got += fmt.Sprint(" starts ", starts[j.ID])
			} else {
				got += fmt.Sprint(" ends ", int(j.Started.Add(j.Requested).Sub(s.Now).Seconds()))
			}
			if got != want[j.ID] {
				t.Errorf("%s: %s: %s, want %s", dir, j.ID, got, want[j.ID])
			}
			delete(want, j.ID)
		}
		if len(want) > 0 {
			t.Errorf("%s: without %v", dir, want)
		}
	}
}

// TestSuspendedByItself: where Slurm suspends jobs by itself (22.05 and 24.11 with PreemptMode=SUSPEND,GANG) no other job of
// their partition gets the processors; a count of what nodes have given away leaves out what suspended jobs do not have.
func TestSuspendedByItself(t *testing.T) {
	now := time.Unix(1795917763, 0)
	running := map[byte]string{'T': "SUSPENDED", 'C': "6", 'D': "1", 'N': "n2", 'S': "1795917703", 'e': "1795921303"}
	wide := map[byte]string{'i': "8", 'T': "RUNNING", 'C': "8", 'D': "2", 'N': "n[1-2]", 'S': "1795917703", 'e': "1795921303"}
	for mode, itself := range map[string]bool{"OFF": false, "": false, "REQUEUE": false, "SUSPEND": true, "GANG": true, "GANG,SUSPEND": true} {
		c := cluster{jobs: []*entry{entryWith(running), entryWith(wide)}, parts: records("PartitionName=short PreemptMode=" + mode),
			nodes: records("NodeName=n1 CPUTot=8 CPUAlloc=2 State=MIXED Partitions=short\nNodeName=n2 CPUTot=8 CPUAlloc=6 State=MIXED Partitions=short\n")}
		s := c.state(now, "c")
		if s.Jobs[0].Suspended == itself || s.Jobs[1].Suspended {
			t.Errorf("%s: suspended %v, and %v that runs", mode, s.Jobs[0].Suspended, s.Jobs[1].Suspended)
		}
		if got := fmt.Sprint(s.Jobs[1].Placed); !itself && got != "[{n1 2} {n2 6}]" {
			t.Errorf("%s: beside one that is suspended %s", mode, got)
		}
		var r glue.Resource
		count(&r, s, "short")
		if want := int64(8 + occupied(&batch.Job{Procs: 6, Suspended: !itself})); r.UsedSlots.V != want {
			t.Errorf("%s: %d processors in use, want %d", mode, r.UsedSlots.V, want)
		}
		beside := batch.State{Now: now, Nodes: s.Nodes, Jobs: s.Jobs[:1:1]} // where one that is not shown runs
		if (&hidden{some: true}).fill(&beside, records("NodeName=n2 CPUAlloc=3\n")); !itself && (len(beside.Jobs) != 2 || beside.Jobs[1].Procs != 3) {
			t.Errorf("%s: beside one that is suspended %+v", mode, beside.Jobs)
		}
		h := hidden{some: true}
		if h.fill(&s, c.nodes); !itself && len(s.Jobs) != 2 {
			t.Errorf("%s: %d jobs", mode, len(s.Jobs))
		}
	}
}

// TestSuspendedForOthers: of a real 22.05 and a real 24.11 with PreemptMode=SUSPEND,GANG it is read who is suspended for others of a higher
// partition. These had 12 and 13 suspended for 16, 17 and 18 (which go on 109 and 110 s from now, by limits), and no other job of low
// had their processors; when 16 and 17 had ended, sooner, they said of 12 and 13 that these end later by as long as they had been suspended.
func TestSuspendedForOthers(t *testing.T) {
	for dir, want := range map[string][2]string{"testdata/gang": {" 21 284 19 284 20 393", " 21 284 20 284 19 394"}, "testdata/gang24": {" 21 284 19 284 20 394", " 21 284 20 284 19 394"}} {
		s := taped(t, dir)
		for _, j := range s.Jobs {
			if want := j.ID == "12" || j.ID == "13"; j.Paused != want || j.Suspended {
				t.Errorf("%s: %s: suspended for others %v, otherwise %v", dir, j.ID, j.Paused, j.Suspended)
			}
		}
		f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: 3e9, Preemption: batch.Preemption{Type: "partition_prio"}}}}
		starts := func() string {
			out, err := f.Forecast(s)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, e := range out.Jobs {
				got += fmt.Sprint(" ", e.ID, " ", int(e.Start.Sub(s.Now).Seconds()))
			}
			return got
		}
		if got := starts(); got != want[0] {
			t.Errorf("%s:%s", dir, got)
		}
		for i := range s.Jobs { // one that wants three nodes waits for those that were suspended
			if s.Jobs[i].ID == "19" {
				s.Jobs[i].Procs, s.Jobs[i].Nodes, s.Jobs[i].MaxNodes = 24, 3, 3
			}
		}
		if got := starts(); got != want[1] {
			t.Errorf("%s, three nodes:%s", dir, got)
		}
	}
}
