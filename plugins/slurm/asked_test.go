package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// tape answers a reader's questions with what a real 22.05 said to them, all at one moment. Who does not ask for all
// is not told of jobs and partitions that his groups keep him off.
const tape = `#!/bin/sh
case "${0##*/} $*" in
*"show config"*|*"show licenses"*|*"show job"*|*"show qos"*|*"show assoc where cluster"*|*--all*) ;;
*) exit 0 ;;
esac
case "${0##*/} $*" in
*"show node"*) cat "%[1]s/node" ;;
*"show partition"*) cat "%[1]s/partition" ;;
*"show reservation"*) cat "%[1]s/reservation" ;;
*"show licenses"*) cat "%[1]s/licenses" ;;
*tres-alloc*) cat "%[1]s/demands" ;;
*%%F*%%K*) cat "%[1]s/arrays" ;;
*%%P*) cat "%[1]s/queue" ;;
*%%i*%%j*) cat "%[1]s/names" ;;
*"show config"*) cat "%[1]s/config" ;;
*"show qos"*) cat "%[1]s/qos" ;;
*"show assoc"*) cat "%[1]s/assoc" ;;
*"show job"*) for id; do :; done; grep "JobId=$id " "%[1]s/job" ;;
*) exit 1 ;;
esac
`

// taped reads a recorded cluster.
func taped(t *testing.T, dir string) batch.State {
	t.Helper()
	at, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	for _, name := range []string{"squeue", "scontrol", "sacctmgr"} {
		l.write(name, fmt.Sprintf(tape, at))
		if err := os.Chmod(filepath.Join(l.dir, name), 0o700); err != nil { // sacctmgr is not among the stand-ins
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(at, "now"))
	var now int64
	if n, _ := fmt.Sscan(string(text), &now); err != nil || n != 1 {
		t.Fatal("no time", err)
	}
	b := New(Options{Environ: []string{"PATH=" + l.dir + ":" + os.Getenv("PATH")}, Home: t.TempDir(), Command: time.Minute, Now: func() time.Time { return time.Unix(now, 0) }})
	t.Cleanup(func() { b.Close() })
	q, err := b.QueueReader(l.url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(at, "config")); err == nil {
		if _, err := q.(*Queue).Rules(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s, err := q.Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAsked: how jobs ask that one-letter columns do not tell, or that has no model of its
// own. Times are seconds from the moment of the recording; Slurm itself planned the starts of
// 194, 195, 203 and both parts of 206 where their begins are.
func TestAsked(t *testing.T) {
	s := taped(t, "testdata/asked")
	want := map[string]string{
		"188":   "8 procs 2 nodes each 4",                                     // -n8 --ntasks-per-node=4
		"189":   "9 procs 0 nodes each 3",                                     // -n3 -c3
		"191":   "7 procs 7 nodes",                                            // -N7-8; squeue says one processor
		"192":   "1 procs 1 nodes 3 gpus",                                     // --gpus=3
		"193":   "2 procs 1 nodes 2 gpus",                                     // -n2 --gpus-per-task=1
		"194":   "1 procs 1 nodes 2 gpus [gpu:a] begins 233",                  // of a node that has a and b
		"195":   "1 procs 1 nodes 2 gpus [gpu:b] begins 293",                  //
		"196":   "1 procs 1 nodes",                                            // lic:2 of four, of which none is left
		"198":   "1 procs 1 nodes",                                            // two:2, of which a reservation keeps one
		"200":   "1 procs 1 nodes after 199 end",                              // singleton
		"201":   "1 procs 1 nodes after 199 end, 200 end",                     //
		"202":   "1 procs 1 nodes after 199 start 1m0s",                       // after:199+1
		"203":   "12 procs 3 nodes [a|b] begins 353",                          // [a*2&b*1]
		"206+0": "1 procs 1 nodes begins 173",                                 // can start at once, the other part cannot
		"206+1": "8 procs 1 nodes begins 173",                                 //
		"208":   "1 procs 1 nodes after 206+1 end, 206+0 end",                 // afterany:206
		"209+0": "1 procs 1 nodes held begins 30",                             // the other part never starts
		"209+1": "1 procs 1 nodes held begins 30",                             //
		"186":   "1 procs 1 nodes 2 gpus runs", "187": "1 procs 1 nodes runs", // --gpus=2
	}
	for _, j := range s.Jobs {
		if w, ok := want[j.ID]; ok && told(s.Now, j) != w {
			t.Errorf("%s: %s, want %s", j.ID, told(s.Now, j), w)
		}
		delete(want, j.ID)
	}
	if len(want) > 0 || len(s.Jobs) != 32 {
		t.Errorf("%d jobs, without %v", len(s.Jobs), want)
	}
	ends := map[string]int{}
	for _, j := range s.Jobs {
		ends[j.ID] = int(j.Started.Add(j.Requested).Sub(s.Now).Seconds())
	}
	if _, starts := foretold(t, s); starts["196"] < ends["187"] || starts["196"] > ends["187"]+60 || starts["198"] != 111 {
		t.Errorf("who waits for licences starts %v and %v, the one that has some ends %v", starts["196"], starts["198"], ends["187"])
	}
	for _, n := range s.Nodes {
		if n.Name == "n7" && (n.Memory != 15_000 || n.CPUs != 6) {
			t.Errorf("what is kept for the system is given to jobs: %+v", n)
		}
	}
	if r := s.Reservations; len(r) != 3 || r[0].Each != 4 || fmt.Sprint(r[0].Nodes) != "[n6]" || len(r[1].Nodes) > 0 || r[1].Procs != 0 ||
		fmt.Sprint(r[2].Nodes, r[2].Users) != "[n6] [root]" { // of a job --exclusive=user
		t.Errorf("%+v", r)
	}
}

// TestMoreAsked: ways of asking that a real 22.05 was asked about later: all memory of a node,
// processors and memory with each GPU (by itself and by its partition's defaults), nodes of one feature
// of several or that are neighbours, and a partition whose jobs let others have their processors. Of the
// starts those of 163, 169 and 170 are where Slurm planned them; 166 it planned behind the end that is meant.
func TestMoreAsked(t *testing.T) {
	s := taped(t, "testdata/alike")
	want := map[string]string{
		"163":   "2 procs 1 nodes begins 1788, 100 MB",    // -p force -w n1, where jobs of another partition run
		"164":   "1 procs 1 nodes, 16000 MB",              // --mem=0
		"165":   "2 procs 2 nodes, 16000 MB",              // -N2 --mem=0
		"166":   "3 procs 1 nodes each 3 1 gpus, 333 MB",  // --gpus=1 --cpus-per-gpu=3, of a partition with DefMemPerGPU=1000
		"167":   "2 procs 1 nodes each 2 1 gpus, 7750 MB", // --gres=gpu:1 --mem-per-gpu=15500, of a partition with DefCpuPerGPU=2
		"168":   "4 procs 1 nodes each 4 2 gpus, 500 MB",  // --gres=gpu:2
		"169":   "8 procs 2 nodes each 4 [a|b] begins 468, 100 MB",
		"170":   "8 procs 2 nodes each 4 after 158 end, 100 MB", // which ends as it is planned to
		"172_1": "8 procs 1 nodes, 300 MB, 2 at once",           // --array=1-4%2 --mem-per-cpu=300
		"172_4": "8 procs 1 nodes, 300 MB, 2 at once",
	}
	for _, j := range s.Jobs {
		got := fmt.Sprint(told(s.Now, j), ", ", j.Memory, " MB")
		if j.ArrayLimit > 0 {
			got += fmt.Sprint(", ", j.ArrayLimit, " at once")
		}
		if w, ok := want[j.ID]; ok && got != w {
			t.Errorf("%s: %s, want %s", j.ID, got, w)
		}
		delete(want, j.ID)
	}
	if len(want) > 0 {
		t.Errorf("without %v", want)
	}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: 3e9, Window: 336 * 3600e9, MaxJobTest: 5000}}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]int{"164": 1311, "166": 1190, "169": 469, "170": 711}
	for _, e := range out.Jobs {
		if w, ok := starts[e.ID]; ok && int(e.Start.Sub(s.Now).Seconds()) != w {
			t.Errorf("%s starts %v, want %d", e.ID, e.Start.Sub(s.Now), w)
		}
		delete(starts, e.ID)
	}
	if len(starts) > 0 {
		t.Errorf("without starts of %v", starts)
	}
}

// TestLimitsAsked: jobs that a limit of a QOS keeps waiting, in the words of a real 22.05 and a real 24.11: until the one that has
// what it lets run has ended, 20 minutes from when it started, or for ever, as it lets one job have less.
func TestLimitsAsked(t *testing.T) {
	for dir, want := range map[string]map[string]string{
		"testdata/limits": {
			"175": "174", // QOSGrpGRES
			"177": "176", // QOSMaxGRESPerUser
			"179": "",    // QOSMaxGRESPerJob
			"181": "180", // QOSGrpMemLimit
			"183": "182", // QOSMaxMemoryPerUser
			"185": "",    // QOSMaxMemoryPerJob
			"187": "",    // QOSMaxCpuPerJobLimit
			"191": "190", // QOSMaxJobsPerUserLimit
			"195": "194", // QOSGrpBilling
		},
		"testdata/limits24": {"2": "1", "4": "3", "5": "", "7": "6", "9": "8", "10": "", "11": "", "13": "12", "15": "14"}, // in this order, and 10 before 11
	} {
		s := taped(t, dir)
		_, starts := foretold(t, s)
		ends := map[string]int{}
		for _, j := range s.Jobs {
			ends[j.ID] = int(j.Started.Add(j.Requested).Sub(s.Now).Seconds())
		}
		for _, j := range s.Jobs {
			w, ok := want[j.ID]
			if !ok {
				continue
			}
			delete(want, j.ID)
			at, starts := starts[j.ID]
			if j.Held != (w == "") || starts != (w != "") || starts && (at < ends[w] || at > ends[w]+60) {
				t.Errorf("%s: %s starts %v, held %v; want %q, which ends %v", dir, j.ID, at, j.Held, w, ends[w])
			}
		}
		if len(want) > 0 {
			t.Errorf("%s: without %v", dir, want)
		}
	}
}

// TestAsked24: the same ways of asking of a real 24.11, and memory in all; starts are where it planned them.
func TestAsked24(t *testing.T) {
	s := taped(t, "testdata/asked24")
	want := map[string]string{
		"20":   "1 procs 1 nodes, 16000 MB starts 1779",                        // --mem=0 -w n3
		"21":   "2 procs 2 nodes, 32000 MB",                                    // -N2 --mem=0
		"22":   "3 procs 1 nodes each 3 1 gpus, 999 MB starts 1479",            // --gpus=1 --cpus-per-gpu=3, of a partition with DefMemPerGPU=1000; it had 1000
		"23":   "2 procs 1 nodes each 2 1 gpus, 15500 MB",                      // --gres=gpu:1 --mem-per-gpu=15500, of a partition with DefCpuPerGPU=2
		"25":   "8 procs 2 nodes each 4, 800 MB starts 580",                    // -n8 --ntasks-per-node=4; planned a second sooner
		"26":   "9 procs 0 nodes each 3, 900 MB",                               // -n3 -c3
		"27":   "3 procs 3 nodes, 300 MB",                                      // -N3-4; squeue says one processor
		"28":   "2 procs 1 nodes 2 gpus, 200 MB",                               // -n2 --gpus-per-task=1
		"30":   "8 procs 2 nodes each 4 [a|b] begins 2397, 800 MB starts 2397", // -C [a|b]
		"31":   "8 procs 2 nodes each 4 after 30 end, 800 MB starts 2697",      // --contiguous
		"33":   "1 procs 1 nodes after 32 end, 100 MB",                         // singleton
		"34":   "1 procs 1 nodes after 16 start 1m0s, 100 MB starts 40",        // after:16+1; not planned
		"35_1": "8 procs 1 nodes, 800 MB, 2 at once",                           // --array=1-4%2
		"36+0": "1 procs 1 nodes begins 2697, 100 MB starts 2697",              // can start at once, the other part cannot
		"36+1": "8 procs 1 nodes begins 2697, 800 MB",                          //
	}
	f := batch.Forecaster{Policy: batch.Policy{Name: "slurm", Slurm: batch.Slurm{Interval: 3e9, Window: 336 * 3600e9, MaxJobTest: 5000, Recent: true}}}
	out, err := f.Forecast(s)
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]int{}
	for _, e := range out.Jobs {
		starts[e.ID] = int(e.Start.Sub(s.Now).Seconds())
	}
	for _, j := range s.Jobs {
		w, ok := want[j.ID]
		got := fmt.Sprint(told(s.Now, j), ", ", j.Memory*int64(j.Procs), " MB")
		if j.ArrayLimit > 0 {
			got += fmt.Sprint(", ", j.ArrayLimit, " at once")
		}
		if strings.Contains(w, "starts") {
			got += fmt.Sprint(" starts ", starts[j.ID])
		}
		if ok && got != w {
			t.Errorf("%s: %s, want %s", j.ID, got, w)
		}
		delete(want, j.ID)
	}
	if len(want) > 0 {
		t.Errorf("without %v", want)
	}
}

// TestWholeCores: where a real 22.05 gives whole cores of two threads (CR_Core_Memory) a job that waits
// is foretold with all threads of its cores, as it has them when it runs: 258 not beside 257, which leaves
// it two processors.
func TestWholeCores(t *testing.T) {
	s := taped(t, "testdata/cores")
	want := map[string]string{
		"257": "6 procs 1 nodes each 2 starts 289",
		"258": "4 procs 1 nodes each 2 starts 889",
		"259": "4 procs 1 nodes each 4 starts 889",  // -n1 -c3
		"260": "8 procs 1 nodes each 2 starts 1489", // -n4 --hint=nomultithread
		"261": "8 procs 1 nodes each 2 starts 2089", // -n4 --ntasks-per-core=1
		"262": "8 procs 1 nodes each 2 starts 2689", // -n4 --threads-per-core=1
		"263": "10 procs 0 nodes each 2 starts 3589",
		"264": "1 procs 1 nodes begins 3592 starts 3592", // also of a partition whose cores have one thread
	}
	_, starts := foretold(t, s)
	for _, j := range s.Jobs {
		if got := fmt.Sprint(told(s.Now, j), " starts ", starts[j.ID]); j.Started.IsZero() && got != want[j.ID] {
			t.Errorf("%s: %s, want %s", j.ID, got, want[j.ID])
		}
		if j.ID == "262" && j.Memory*int64(j.Procs) != 600 {
			t.Errorf("%d MB of each of %d", j.Memory, j.Procs)
		}
	}
}

// TestOddCores: of tasks of three processors, of which there are as many on a node as fit, each node's processors are
// rounded up to whole cores (22.05, 24.11): two jobs -n3 -c3 have 6 and 4 of n1 and n2, 4 and 6 of n2 and n3, and leave
// two on two of them for -n2. The third of these started 40 s later in both, when the first of the former had ended.
func TestOddCores(t *testing.T) {
	for _, dir := range []string{"testdata/odd", "testdata/odd24"} {
		s := taped(t, dir)
		_, starts := foretold(t, s)
		want := map[string]int{"13": 0, "14": 0, "15": 0, "16": 0, "17": 600} // by their limits
		for id, after := range want {
			if got := starts[id] - starts["13"]; got != after {
				t.Errorf("%s: %s starts %d s after 13, want %d", dir, id, got, after)
			}
		}
	}
}

// TestMemoryBeside: processors that Slurm gives a job beside those that it asks for, with its GPUs or as other threads of
// its cores, have memory where that is asked for by processor, which squeue does not always tell: what a 22.05 and a
// 24.11 gave each job (processors, MB in all).
func TestMemoryBeside(t *testing.T) {
	want := []string{
		"2 3000",  // -n1 --mem=3000
		"2 6000",  // -n1 --mem-per-cpu=3000
		"4 12000", // -N2 --mem-per-cpu=3000
		"4 6000",  // -N2 --mem=3000
		"2 4000",  // --array=1-2 -n1 --mem-per-cpu=2000
		"3 300",   // --gres=gpu:1, of a partition with DefCpuPerGPU=3, and so the following
		"3 1500",  // --gres=gpu:1 --mem-per-cpu=500
		"6 3000",  // --gres=gpu:2 --mem-per-cpu=500
		"3 1500",  // --gpus=1 --mem-per-cpu=500
		"6 3000",  // --gpus=2 -n2 --mem-per-cpu=500
		"4 2000",  // --gpus=2 -n2 -c2 --mem-per-cpu=500
		"4 2000",  // --gres=gpu:1 -n4 -N1 --mem-per-cpu=500
		"6 3000",  // --gres=gpu:1 -N2 --mem-per-cpu=500
		"6 3000",  // --gpus-per-task=1 -n2 -N1 --mem-per-cpu=500
		"3 500",   // --gres=gpu:1 --mem=500
		"3 2100",  // --gres=gpu:1, of a partition with DefMemPerCPU=700, too
		"6 4200",  // --gpus=2
		"2 1400",  // --gpus=1 --cpus-per-gpu=2
		"6 500",   // --gres=gpu:2 --mem=500
	}
	const first = 42
	for _, dir := range []string{"testdata/ungiven", "testdata/ungiven24"} {
		got := map[string]string{}
		for _, j := range taped(t, dir).Jobs {
			id, _, _ := strings.Cut(j.ID, "_")
			got[id] = fmt.Sprint(j.Procs, " ", j.Memory*int64(j.Procs))
		}
		for i, w := range want {
			var procs, mb, wantProcs, wantMB int
			fmt.Sscan(got[fmt.Sprint(first+i)], &procs, &mb)
			fmt.Sscan(w, &wantProcs, &wantMB)
			if procs != wantProcs || mb > wantMB || mb <= wantMB-wantProcs { // whole MB of each processor
				t.Errorf("%s: %d has %d processors, %d MB; want %s", dir, first+i, procs, mb, w)
			}
		}
	}
}

// told says what a job asks for.
func told(now time.Time, j batch.Job) string {
	said := []string{fmt.Sprint(j.Procs, " procs ", j.Nodes, " nodes")}
	add := func(is bool, words ...any) {
		if is {
			said = append(said, fmt.Sprint(words...))
		}
	}
	add(j.MaxNodes > 0, "of ", j.MaxNodes)
	add(j.Each > 0, "each ", j.Each)
	add(j.GPUs > 0, j.GPUs, " gpus")
	add(len(j.Features) > 0, j.Features)
	add(!j.Started.IsZero(), "runs")
	add(j.Held, "held")
	add(!j.Begin.IsZero(), "begins ", int(j.Begin.Sub(now).Seconds()))
	var after []string
	for _, d := range j.After {
		after = append(after, strings.TrimSuffix(fmt.Sprint(d.ID, " ", d.On, " ", d.Delay), " 0s"))
	}
	add(len(after) > 0, "after ", strings.Join(after, ", "))
	return strings.Join(said, " ")
}
