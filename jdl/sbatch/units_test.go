package sbatch

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

// TestUnits has the forms of sbatch(1): times, sizes, counts, GPUs.
func TestUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Minute, "5:30": 330 * time.Second, "100:00": 100 * time.Minute, "1:00:00": time.Hour, "36:00:00": 36 * time.Hour, "2-0": 48 * time.Hour,
		"2-03": 51 * time.Hour, "2-03:04": 51*time.Hour + 4*time.Minute, "2-03:04:05": 51*time.Hour + 4*time.Minute + 5*time.Second, "infinite": 0, "Unlimited": 0,
		"1-": 24 * time.Hour, "-1": 0, "": -1, "-": -1, "-5": -1, "1:2:3:4": -1, "1-2:3:4:5": -1, "5m": -1, "1.5": -1, ":30": -1, "99999999999": -1, "70000-0": -1, "1-99999999": -1, " 5": -1,
	} {
		d, err := parseTime(text)
		if err != nil {
			d = -1
		}
		if d != want {
			t.Errorf("time %q: %v, want %v", text, d, want)
		}
	}
	for text, want := range map[string]int64{"100": 100, "100M": 100, "2G": 2048, "1T": 1 << 20, "2048K": 2, "1K": 1, "0": 0, "": -1, "2GB": 2048, "2gb": 2048, "x": -1, "-1": -1, "1Q": -1, "1.5G": -1, "1GiB": -1, "1 G": -1} {
		mb, err := parseMemory(text)
		if err != nil {
			mb = -1
		}
		if mb != want {
			t.Errorf("memory %q: %d, want %d", text, mb, want)
		}
	}
	for text, want := range map[string]string{
		"2": "{2 [] false}", "a100:2": "{2 [a100] true}", "a100": "{1 [a100] true}", "a100:1,v100:3": "{4 [a100 v100] false}", "a:b:2": "{2 [a:b] false}",
		"0": "{0 [] true}", "a:0": "{0 [] true}", ":": "", "99999999999": "", "a:1,b,a:1,b": "{4 [a b] true}", "1,a:2": "{3 [a] false}",
	} {
		w, err := gpus(text)
		got := fmt.Sprint(w)
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("GPUs %q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"gpu": "[1] []", "gpu:2": "[2] []", "gres/gpu:a:2,nvme:1": "[a:2] [nvme:1]", "gpux:1": "[] [gpux:1]", "gpu:1,gpu:b:2": "[1 b:2] []",
	} {
		if gpu, other := generic(text); fmt.Sprint(gpu, other) != want {
			t.Errorf("gres %q: %v %v, want %s", text, gpu, other, want)
		}
	}
}

// TestTasksOfArrays: drawn arrays have the tasks that counting them up gives,
// in order, each once.
func TestTasksOfArrays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		var parts []string
		want := map[int64]bool{}
		for range 1 + rng.IntN(4) {
			low, length, step := rng.Int64N(30), rng.Int64N(20), 1+rng.Int64N(4)
			switch rng.IntN(3) {
			case 0:
				parts, want[low] = append(parts, fmt.Sprint(low)), true
			default:
				parts = append(parts, fmt.Sprintf("%d-%d:%d", low, low+length, step))
				for i := low; i <= low+length; i += step {
					want[i] = true
				}
			}
		}
		text := strings.Join(parts, ",")
		list, limit, err := tasks(text + "%7")
		if err != nil || limit != 7 || len(list) != len(want) || !slices.IsSorted(list) || slices.ContainsFunc(list, func(n int64) bool { return !want[n] }) {
			t.Fatalf("%s: %v, limit %d, %v", text, list, limit, err)
		}
	}
	for _, bad := range []string{"", ",", "%4", "a", "1-", "-1", "3-1", "1-5:0", "1-5:x", "1:2:3x", "0-99999999999", "0-100001", strings.Repeat("0-99999,", 2)} {
		if list, _, err := tasks(bad); err == nil {
			t.Errorf("%q: %d tasks", bad, len(list))
		}
	}
}

// script is read as the jobs of a script with some lines of options.
func readScript(t *testing.T, lines ...string) (ads []*classad.Ad, warnings []string, err error) {
	t.Helper()
	ads, err = Read("job.sh", []byte("#!/bin/sh\n"+strings.Join(lines, "\n")+"\n./a\n"), func(d *classad.Diagnostic) { warnings = append(warnings, d.Msg) })
	return ads, warnings, err
}

// TestNamesOfFiles: what sbatch replaces in them, filled up with zeros as the
// number before the letter says.
func TestNamesOfFiles(t *testing.T) {
	for pattern, want := range map[string]string{
		"o-%j": "o-0", "%x.%a": "n.7", "%3a": "007", "%A_%4a": "0_0007", "%%a": "%a", "100%": "100%", "%99a": "0000000007", "%u-%N": "0-0", "%5%": "%5%", "%2x": "n",
	} {
		ads, _, err := readScript(t, "#SBATCH -J n -a 7", "#SBATCH -o "+pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := ads[0].EvalAttr("StdOutput", nil).Str(); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// TestStreamsOfScripts: one file for both unless two are named; none for /dev/null.
func TestStreamsOfScripts(t *testing.T) {
	for options, want := range map[string]string{
		"-J n":                             "slurm-0.out slurm-0.out ",
		"-o o":                             "o o ",
		"-e e":                             "slurm-0.out e ",
		"-o o -e e -i in/x":                "o e x",
		"-o /dev/null":                     "  ",
		"-o /dev/null -e e":                " e ",
		"-e /dev/null":                     "slurm-0.out  ",
		"-i /dev/null":                     "slurm-0.out slurm-0.out ",
		"-i /data/in":                      "slurm-0.out slurm-0.out /data/in",
		"--output=a --output=b -o \"c d\"": "c d c d ",
	} {
		ads, _, err := readScript(t, "#SBATCH "+options)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"StdOutput", "StdError", "StdInput"} {
			s, _ := ads[0].EvalAttr(name, nil).Str()
			got = append(got, s)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", options, strings.Join(got, " "), want)
		}
	}
}

// TestProcessors: tasks, processors and nodes in all the ways in which people ask for them.
func TestProcessors(t *testing.T) {
	for options, want := range map[string]string{
		"-n 4":                          "slots 4 nodes 0 per node 0",
		"-c 8":                          "slots 8 nodes 0 per node 8",
		"-n 2 -c 4":                     "slots 8 nodes 0 per node 4",
		"-N 2":                          "slots 2 nodes 2 per node 1",
		"-N 2 --ntasks-per-node=3 -c 2": "slots 12 nodes 2 per node 6",
		"-n 6 --ntasks-per-node=3":      "slots 6 nodes 0 per node 3",
		"--nodes=2-4 -n 8":              "slots 8 nodes 2 per node 4; --nodes: the most of 2-4 is not used",
		"--mem=8G -n 4":                 "slots 4 nodes 0 per node 0 memory 2048",
		"--mem=8G -n 4 -N 2":            "slots 4 nodes 2 per node 2 memory 4096",
		"--mem-per-cpu=1000 -n 4":       "slots 4 nodes 0 per node 0 memory 1000",
		"--mem=0":                       "slots 1 nodes 0 per node 0; --mem=0: all that the node has cannot be asked for",
		"--gpus-per-node=2 -N 3":        "slots 3 nodes 3 per node 1 gpus 6",
		"--gpus-per-task=1 -n 4 -c 2":   "slots 8 nodes 0 per node 2 gpus 4",
		"--gres=gpu:2 -N 2":             "slots 2 nodes 2 per node 1 gpus 4",
		"--time=UNLIMITED":              "slots 1 nodes 0 per node 0; --time: that there is no limit cannot be said: the queue's own holds",
		"-G a100:2 --gres=gpu:1":        "slots 1 nodes 0 per node 0 gpus 2 [gpu:a100]",
		"-n4 -c2 -N1":                   "slots 8 nodes 1 per node 8",
		"-p a,b -n 2":                   "slots 2 nodes 0 per node 0",
		"-N 1k":                         "slots 1024 nodes 1024 per node 1",
		"-N 2-2 -n 2":                   "slots 2 nodes 2 per node 1",
		"--gpus=2 --cpus-per-gpu=4 --mem-per-gpu=16G": "slots 8 nodes 0 per node 0 memory 4096 gpus 2",
		"-N 2 --gres=gpu:2 --cpus-per-gpu=2 --mem=8G": "slots 8 nodes 2 per node 4 memory 2048 gpus 4",
		"-n 16 --gpus=2 --cpus-per-gpu=4":             "slots 16 nodes 0 per node 0 gpus 2",
		"--gres=gpu:0 --gpus=0 --gpus-per-node=0":     "slots 1 nodes 0 per node 0",
		"--gres=gpu:0,gpu:a:2":                        "slots 1 nodes 0 per node 0 gpus 2 [gpu:a]",
		"--gres=gpu:a100:1,gpu:v100:1 -N 2":           "slots 2 nodes 2 per node 1 gpus 4 [gpu:a100 gpu:v100]",
		"--gpus=a100:1,v100:3":                        "slots 1 nodes 0 per node 0 gpus 4; --gpus: the kind of GPU in a100:1,v100:3 is not used: one kind can be asked for, or as many of each",
		"-G a100:2 --gpus-per-node=a100:2":            "slots 1 nodes 0 per node 0 gpus 2 [gpu:a100]",
		"-G a:1 --gpus-per-node=b:1":                  "slots 1 nodes 0 per node 0 gpus 1 [gpu:a]; --gpus-per-node: the kind of GPU in b:1 is not used: one kind can be asked for, or as many of each",
		"--gres=none":                                 "slots 1 nodes 0 per node 0",
		"-n=4 -J=x":                                   "slots 4 nodes 0 per node 0; -n=4 is read as -n 4; sbatch takes the = for a part of the value; -J=x is read as -J x; sbatch takes the = for a part of the value",
		"--array=[3]":                                 "slots 1 nodes 0 per node 0",
		"--mem-per-gpu=1G":                            "slots 1 nodes 0 per node 0; --mem-per-gpu is not used: no GPU is asked for",
	} {
		ads, warnings, err := readScript(t, "#SBATCH "+options)
		if err != nil {
			t.Errorf("%s: %v", options, err)
			continue
		}
		set, err := jdl.FromRecords("job.sh", nil, ads, jdl.WithoutFiles(), jdl.WithDir("/job"), jdl.WithDialect(jdl.GLite))
		if err != nil {
			t.Errorf("%s: %v", options, err)
			continue
		}
		d := set.Jobs[0].Demand
		got := fmt.Sprintf("slots %d nodes %d per node %d", max(1, d.Slots), d.Nodes, d.PerNode())
		if d.Memory > 0 {
			got += fmt.Sprint(" memory ", d.Memory)
		}
		if d.GPUs > 0 {
			got += fmt.Sprint(" gpus ", d.GPUs)
		}
		if len(d.RuntimeEnvironments) > 0 {
			got += fmt.Sprint(" ", d.RuntimeEnvironments)
		}
		if got = strings.Join(append([]string{got}, warnings...), "; "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", options, got, want)
		}
	}
}

// TestMemoryOnce: memory that is asked for in two ways is refused, as sbatch refuses it, and nodes of which there are fewer
// at most than at least.
func TestMemoryOnce(t *testing.T) {
	for options, want := range map[string]string{
		"-N 2-1": "--nodes: 2 nodes at least and 1 at most", "-N 1-": `--nodes: "" is no number`, "-N 1-x": `--nodes: "x" is no number`,
		"--mem=1G --mem-per-gpu=2G --gpus=1": "--mem and --mem-per-gpu exclude each other",
		"--mem=0 --mem-per-cpu=2G":           "--mem and --mem-per-cpu exclude each other",
	} {
		if _, _, err := readScript(t, "#SBATCH "+options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", options, err, want)
		}
	}
}

// TestSameWords: a script with several faults or warnings is told about in the same words each time.
func TestSameWords(t *testing.T) {
	for _, options := range []string{"-n x -c y --ntasks-per-node=z", "--gpus=0 --gpus-per-node=x --gpus-per-task=y", "-G a:1 --gpus-per-node=b:1 --gpus-per-task=c:1"} {
		_, first, want := readScript(t, "#SBATCH "+options)
		for range 30 {
			if _, warnings, err := readScript(t, "#SBATCH "+options); fmt.Sprint(err) != fmt.Sprint(want) || !reflect.DeepEqual(warnings, first) {
				t.Fatalf("%s: %v %q, then %v %q", options, want, first, err, warnings)
			}
		}
	}
}

// TestExports: variables with a value go along, those of the shell are named.
func TestExports(t *testing.T) {
	ads, warnings, err := readScript(t, "#SBATCH --export=A=1,B=x=y,NONE,HOME,9=2,,NIL")
	if err != nil {
		t.Fatal(err)
	}
	if got := classad.Unparse(ads[0]); !strings.Contains(got, `"A=1", "B=x=y"`) && !strings.Contains(got, `"A=1","B=x=y"`) {
		t.Error(got)
	}
	if text := strings.Join(warnings, "; "); len(warnings) != 2 || !strings.Contains(text, "--export: HOME of your shell") || !strings.Contains(text, "9=2") {
		t.Errorf("%q", warnings)
	}
}

// TestUnquote: words are taken apart as sbatch does it with a line of options.
func TestUnquote(t *testing.T) {
	for line, want := range map[string]string{
		`#SBATCH -J "a b"`: "a b", `#SBATCH -J 'a "b"'`: `a "b"`, `#SBATCH -J a\ b`: "a b", `#SBATCH --job-name="a"'b'c`: "abc", `#SBATCH -J "a\"b"`: `a"b`,
		`#SBATCH -Jx`: "x", `#SBATCH -J=x`: "x", "#SBATCH\t-J\ttab": "tab", `#SBATCH -J a # -J b`: "a", `#SBATCH -J a\#b`: "a#b", `#SBATCH -J ''`: "job.sh",
	} {
		ads, _, err := readScript(t, line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got, _ := ads[0].EvalAttr("JobName", nil).Str(); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestDependent: the jobs of a DAG are submitted in an order in which those they
// wait for have their number already, with scripts whatever it is called.
func TestDependent(t *testing.T) {
	set := &jdl.JobSet{Jobs: []*jdl.Job{{Node: "last", After: []string{"left", "right"}}, {Node: "left", After: []string{"first"}}, {Node: "right", After: []string{"first"}}, {Node: "first"}, {Node: "end", After: []string{"last"}, Final: true}}}
	got := string(Dependent(set, []string{"3.sh", "1.sh", "2.sh", "0.sh", "4.sh"}))
	want := `#!/bin/sh
cd "$(dirname "$0")" || exit
job3=$(sbatch --parsable ./0.sh) || exit
job3=${job3%%;*}
job1=$(sbatch --parsable --dependency=afterok:$job3 --kill-on-invalid-dep=yes ./1.sh) || exit
job1=${job1%%;*}
job2=$(sbatch --parsable --dependency=afterok:$job3 --kill-on-invalid-dep=yes ./2.sh) || exit
job2=${job2%%;*}
job0=$(sbatch --parsable --dependency=afterok:$job1:$job2 --kill-on-invalid-dep=yes ./3.sh) || exit
job0=${job0%%;*}
job4=$(sbatch --parsable --dependency=afterany:$job0 --kill-on-invalid-dep=yes ./4.sh) || exit
job4=${job4%%;*}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOptionsOfSbatch: options are taken as sbatch takes them: cut short as far as
// they are still one's alone, short ones together. What sbatch would refuse for a
// mistake in a name is no warning, since the job would run without what it needs.
func TestOptionsOfSbatch(t *testing.T) {
	for line, want := range map[string]string{
		"--job-n=x":                      "job-name=x",
		"--exclusiv":                     "exclusive=",
		"--mail-t END --time 5":          "mail-type=END time=5",
		"-vv -Qv -HJ name":               "verbose= verbose= quiet= verbose= hold= job-name=name",
		"-kJname":                        "no-kill= job-name=name",
		"--spankopt --time=5":            "spankopt= time=5",
		"--mem 10 --mem-per-c=5":         "mem=10 mem-per-cpu=5",
		"--kill-on-invalid-dep yes -n 2": "kill-on-invalid-dep=yes ntasks=2",
		"--tasks-per-node=3":             "ntasks-per-node=3",
		"--tasks 3 --job=x":              "ntasks-per-node=3 job-name=x",
		"--ntask=4":                      "--ntask is the beginning of several options: ntasks, ntasks-per-core,",
		"--cpus-per-tasks=4":             "sbatch has no option --cpus-per-tasks (did you mean cpus-per-task?)",
		"--meme=4":                       "sbatch has no option --meme (did you mean mem?)",
		"-Zv":                            `"-Zv" is no option of sbatch`,
		"--time":                         "--time wants a value",
	} {
		s, err := parse("#!/bin/sh\n#SBATCH " + line + "\n")
		var got []string
		for _, o := range s.options {
			got = append(got, o.name+"="+o.value)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if !strings.HasPrefix(strings.Join(got, " "), want) {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

// TestWarningsOfScripts: a script of very many options that there are not is read in a time that grows with its length, and
// warned about two hundred times and once more at most.
func TestWarningsOfScripts(t *testing.T) {
	testbed.Computes(t)
	var lines []string
	for i := range 30_000 {
		lines = append(lines, fmt.Sprintf("#SBATCH --of-no-use-%d=1", i))
	}
	_, warnings, err := readScript(t, lines...)
	if err != nil || len(warnings) != 201 || warnings[200] != "there are more warnings, not shown" {
		t.Errorf("%d warnings, %v", len(warnings), err)
	}
}
