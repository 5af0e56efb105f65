package maui

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

const resourceSample = `VERSION 230
COMPUTENODE AVAILABLE 1795304220 n1 DEFAULT 2048 1024 1000 8 1 1 1 linux x86 [big][fast] [DEFAULT:8][short:2] [NONE] [NONE] [NONE] [NONE] [NONE]
# a comment
COMPUTENODE DRAINED 1795304220 n2 [NONE] 0 1024 1000 8 1 1 1 [NONE] [NONE] [NONE] [NONE] [NONE] [NONE] [NONE] [NONE] [NONE]
`

const workloadSample = `VERSION 230
j0 0 3 bob users 20 Completed [DEFAULT:1] 1795304092 1795304093 1795304093 1795304103 [NONE] [NONE] [NONE] >= 64M >= 0M [big] 1795304092 3 -1 high:low [NONE] acct [NONE] [NONE] 2 9.00 DEFAULT 1 10M 0M 0M 0 0 n8:n7 [DEFAULT] n7 [NONE] [DEFAULT] [NONE] [NONE]
`

func TestTraces(t *testing.T) {
	nodes, err := ReadResources(strings.NewReader(resourceSample))
	if err != nil || len(nodes) != 2 || nodes[0].Classes["short"] != 2 || len(nodes[0].Features) != 2 || nodes[1].State != NodeDraining {
		t.Fatalf("%+v %v", nodes, err)
	}
	jobs, err := ReadWorkload(strings.NewReader(workloadSample))
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%+v %v", jobs, err)
	}
	j := jobs[0]
	if j.Tasks != 3 || j.QOS != "high" || j.Delivered != "low" || j.Class != "DEFAULT" || j.NodeMemory.Amount != 64 || j.Memory != 10 || len(j.TaskList) != 2 || j.Hosts[0] != "n7" {
		t.Errorf("%+v", j)
	}
}

// TestTraceRoundTrip reads what was written, of the samples and of the files
// of a real Maui.
func TestTraceRoundTrip(t *testing.T) {
	texts := []string{resourceSample}
	dir := filepath.Join(os.Getenv("GRID_TESTDATA"), "wiki", "sim")
	for _, pattern := range []string{"*.trace", "*.out"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	for _, text := range texts {
		if err := roundTrip(text); err != nil {
			t.Error(err)
		}
	}
}

// writeResourceswrites a resource trace.
func writeResources(w io.Writer, nodes []TraceNode) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, traceVersion)
	for _, n := range nodes {
		fmt.Fprintln(out, "COMPUTENODE", textOr(n.Availability), n.At, textOr(n.Name), textOr(n.Manager), n.Swap, n.Memory, n.Disk, n.Procs,
			n.Frame, n.Slot, n.Slots, textOr(n.OS), textOr(n.Arch), brackets(n.Features), classWords(n.Classes), textOr(n.Networks), textOr(n.Generic),
			textOr(n.Reserved[0]), textOr(n.Reserved[1]), textOr(n.Reserved[2]))
	}
	return out.Flush()
}

func roundTrip(text string) error {
	var out bytes.Buffer
	if strings.Contains(text, "COMPUTENODE") {
		nodes, err := ReadResources(strings.NewReader(text))
		if err != nil {
			return err
		}
		if err := writeResources(&out, nodes); err != nil {
			return err
		}
		again, err := ReadResources(&out)
		if err != nil || !reflect.DeepEqual(again, nodes) {
			return fmt.Errorf("%+v\n%+v %v", nodes, again, err)
		}
		return nil
	}
	jobs, err := ReadWorkload(strings.NewReader(text))
	if err != nil {
		return err
	}
	if err := WriteWorkload(&out, jobs); err != nil {
		return err
	}
	again, err := ReadWorkload(&out)
	if err != nil || !reflect.DeepEqual(again, jobs) {
		return fmt.Errorf("%+v\n%+v %v", jobs, again, err)
	}
	return nil
}

func TestTraceErrors(t *testing.T) {
	for text, want := range map[string]string{
		"COMPUTENODE": "line 1: the first line must be VERSION 230", "VERSION 229\n": "line 1: want VERSION 230", "VERSION 230\na b\n": "line 2: 2 fields, want 44",
		strings.Replace(workloadSample, "bob users 20", "bob users soon", 1): `line 2: `,
	} {
		_, err := ReadWorkload(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(resourceSample)
	f.Add(workloadSample)
	f.Fuzz(func(t *testing.T, text string) {
		if jobs, err := ReadWorkload(strings.NewReader(text)); err == nil {
			var out bytes.Buffer
			WriteWorkload(&out, jobs)
			again, err := ReadWorkload(&out)
			if err != nil || len(again) != len(jobs) {
				t.Errorf("%q: %d jobs, then %d: %v", text, len(jobs), len(again), err)
			}
		}
		ReadResources(strings.NewReader(text))
	})
}

func FuzzReadConfig(f *testing.F) {
	f.Add("BACKFILLPOLICY BESTFIT\nRESERVATIONDEPTH[0] 4\nUSERCFG[bob] MAXJOB=1,3 PRIORITY=5 FSTARGET=20+\nSRCFG[x] HOSTLIST=n1,n2")
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := ReadConfig(strings.NewReader(text))
		if err != nil {
			return
		}
		s := New(c)
		s.Iterate(1000, []Node{{Name: "n1", Procs: 2}}, []Job{{ID: "a", User: "bob", Tasks: 1, Limit: 10, Queued: 1}})
	})
}

// BenchmarkIterate is an iteration over 1,000 nodes and 10,000 waiting jobs: all
// nodes in use and jobs of up to 256 processors; all nodes free, or in use, and
// jobs of up to 8.
func BenchmarkIterate(b *testing.B) {
	for _, c := range []struct {
		name   string
		depth  int
		free   bool
		widest int64
	}{{"depth-1", 1, false, 256}, {"depth-100", 100, false, 256}, {"narrow", 1, false, 8}, {"free", 1, true, 8}} {
		b.Run(c.name, func(b *testing.B) {
			config, _, err := ReadConfig(strings.NewReader(fmt.Sprintf("RESERVATIONDEPTH[0] %d", c.depth)))
			if err != nil {
				b.Fatal(err)
			}
			nodes, jobs := busy(1000, 10000, c.widest)
			if c.free {
				jobs = jobs[1000:]
			}
			before, actions := testbed.Processor(b).Seconds(), 0
			for b.Loop() {
				actions = len(New(config).Iterate(1_000_000, nodes, jobs))
			}
			b.ReportMetric((testbed.Processor(b).Seconds()-before)*1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(actions), "starts")
		})
	}
}

func busy(count, waiting int, widest int64) (nodes []Node, jobs []Job) {
	for i := range count {
		n := Node{Name: fmt.Sprintf("n%04d", i), Procs: 16, Memory: 64 << 10, Classes: map[string]int64{"batch": 16}, State: NodeRunning}
		nodes = append(nodes, n)
		jobs = append(jobs, Job{ID: fmt.Sprint("r", i), User: "u", Group: "g", Class: "batch", Tasks: int64(12 + i%5), Limit: 3600 + int64(i*37%86400),
			Queued: 900_000, Started: 999_000, State: JobRunning})
		r := &jobs[len(jobs)-1]
		for range r.Tasks {
			r.TaskList = append(r.TaskList, n.Name)
		}
	}
	for i := range waiting {
		jobs = append(jobs, Job{ID: fmt.Sprint("w", i), User: fmt.Sprint("u", i%97), Group: "g", Class: "batch", Tasks: 1 + int64(i)*31%widest,
			Limit: 600 + int64(i*7919%80000), Queued: 900_000 + int64(i)})
	}
	return nodes, jobs
}
