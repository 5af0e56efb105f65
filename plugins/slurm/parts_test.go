package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/batch"
)

// Of jobs whose parts do not follow from what the nodes have given away each is
// asked about once; an answer of other nodes is not believed.
func TestParts(t *testing.T) {
	l := newLab(t)
	l.write("scontrol", `#!/bin/sh
here=${0%/*}
echo "$*" >>"$here/scontrol-calls"
for id; do :; done
case $id in
1) echo "JobId=1 JobName=x NodeList=n[1-2] JOB_GRES=(null) Nodes=n1 CPU_IDs=0-4,6 Mem=60 GRES= Nodes=n2 CPU_IDs=0-1 Mem=20 GRES= MinCPUsNode=1" ;;
2) echo "JobId=2 JobName=x Nodes=n9 CPU_IDs=0-5 NodeList=n[1-2] Nodes=n[1-2] CPU_IDs=2-4 Mem=60" ;;
*) exit 1 ;;
esac
`)
	if err := os.Chmod(filepath.Join(l.dir, "scontrol"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := l.At(l.url)
	if err != nil {
		t.Fatal(err)
	}
	started := time.Unix(1_700_000_000, 0)
	picture := func() []batch.Job {
		on := func(id string, procs int, names ...string) batch.Job {
			return batch.Job{ID: id, Procs: procs, Started: started, Placed: spread(names, procs)}
		}
		return []batch.Job{on("1", 8, "n1", "n2"), on("2", 6, "n1", "n2"), on("3", 9, "n3", "n4"), on("4", 2, "n4")}
	}
	nodes := records("NodeName=n1 CPUAlloc=8\nNodeName=n2 CPUAlloc=6\nNodeName=n3 CPUAlloc=4\nNodeName=n4 CPUAlloc=7\n")
	var p parts
	for range 2 {
		jobs := picture()
		place(jobs, nodes, nil) // as if the first had five on n1
		p.learn(t.Context(), s, jobs, nodes)
		if got := fmt.Sprint(jobs[0].Placed, jobs[1].Placed, jobs[2].Placed); got != "[{n1 6} {n2 2}] [{n1 2} {n2 4}] [{n3 4} {n4 5}]" {
			t.Errorf("got %s", got)
		}
	}
	if calls := l.lines("scontrol-calls"); len(calls) != 2 {
		t.Errorf("asked %q", calls)
	}
	jobs := picture()[:1] // alone, and begun anew
	jobs[0].Started = started.Add(time.Hour)
	p.learn(t.Context(), s, jobs, nodes)
	if calls := l.lines("scontrol-calls"); len(calls) != 3 {
		t.Errorf("asked %q", calls)
	}
}
