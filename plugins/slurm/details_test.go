package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOneNode: a job that asks for one node has its processors on it, one that asks for none on as many as have some. squeue tells both
// alike, "scontrol show job" does not (22.05, 24.11).
func TestOneNode(t *testing.T) {
	for _, dir := range []string{"testdata/one", "testdata/one24"} {
		want := map[string]int{
			"9":    0, // -n8
			"10":   1, // -n8 -N1
			"11":   1, // -n1
			"12":   1, // -n5 -N1-1
			"13_1": 0, // --array=1-2 -n6
			"13_2": 0,
			"14":   2, // -n3 -N2
			"15":   0, // -n16
			"16_1": 1, // --array=1-2 -n6 -N1
			"16_2": 1,
		}
		for _, j := range taped(t, dir).Jobs {
			w, ok := want[j.ID]
			delete(want, j.ID)
			if ok && j.Nodes != w {
				t.Errorf("%s: %s on %d nodes, want %d", dir, j.ID, j.Nodes, w)
			}
		}
		if len(want) > 0 {
			t.Errorf("%s: without %v", dir, want)
		}
	}
}

// TestDetailsOnce: each job is asked about once, by itself where they are few, else all at once; what is asked of
// one that is gone is forgotten.
func TestDetailsOnce(t *testing.T) {
	l := newLab(t)
	l.write("scontrol", `#!/bin/sh
echo "$*" >>"$0.asked"
case "$*" in
*"show job") for i in $(seq 40); do echo "JobId=$i JobName=x JobId=41 NumNodes=1-1 JobState=RUNNING"; echo "JobId=$i JobName=JobId=41 JobState=PENDING NumNodes=1"; done
	echo "JobId=80 ArrayJobId=50 ArrayTaskId=3 JobName=x JobState=PENDING NumNodes=1-1"; echo "JobId=50 ArrayJobId=50 ArrayTaskId=4-9 JobName=x JobState=PENDING NumNodes=1" ;;
*) echo "JobId=${*##* } NumNodes=1-1" ;;
esac
`)
	b := New(Options{Environ: []string{"PATH=" + l.dir + ":" + os.Getenv("PATH")}, Home: t.TempDir(), Command: time.Minute})
	t.Cleanup(func() { b.Close() })
	q, err := b.QueueReader(l.url)
	if err != nil {
		t.Fatal(err)
	}
	site, m := q.(*Queue).site, details{}
	look := func(ids ...string) (free, asked int) {
		c := cluster{asked: map[string]demand{}}
		for _, id := range ids {
			c.jobs = append(c.jobs, entryWith(map[byte]string{'i': id, 'C': "4"}))
			c.asked[id] = demand{nodes: 1}
		}
		m.learn(t.Context(), site, &c)
		for _, d := range c.asked {
			if d.asked {
				asked++
			}
			if d.free {
				free++
			}
		}
		return free, asked
	}
	var many []string
	for i := range 41 {
		many = append(many, fmt.Sprint(i+1))
	}
	for _, c := range []struct {
		ids         []string
		free, asked int
		times       int
	}{
		{many[:2], 0, 2, 2}, {many[:2], 0, 2, 2}, // known
		{append(many[:41:41], "50", "50_3"), 38 + 1, 40 + 2, 3}, // all at once; of 41 nothing was told
		{many, 38, 41, 4}, // and it is asked again
		{nil, 0, 0, 4}, {many[:1], 0, 1, 5},
	} {
		free, asked := look(c.ids...)
		said, _ := os.ReadFile(filepath.Join(l.dir, "scontrol.asked"))
		times := strings.Count(string(said), "\n")
		if free != c.free || asked != c.asked || times != c.times {
			t.Errorf("of %d: %d free, %d known, asked %d times, want %+v", len(c.ids), free, asked, times, c)
		}
	}
}
