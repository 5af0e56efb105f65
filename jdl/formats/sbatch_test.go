package formats

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
	"gridbroker/testdata/testbed"
)

const slurmScript = `#!/bin/bash -l
# a job as people write it
#SBATCH -J train-%j --time=1-02:30:00
#SBATCH -p "gpu"   # the partition
#SBATCH -n 4 -c2
#SBATCH -N 2
#SBATCH --mem=16G
#SBATCH --tmp=20G
#SBATCH --gres=gpu:a100:2,nvme:1
#SBATCH -o logs/%x-%j.out
#SBATCH --export=ALL,SEED=7
#SBATCH --constraint="VEE-Debian11&haswell"
#SBATCH --mail-type=END --qos normal
##SBATCH -n 99

srun ./train --threads $SLURM_CPUS_PER_TASK --node $SLURM_NODEID
#SBATCH --time=1
`

// TestSbatchRead reads a script with what people write in it; what only Slurm
// acts on is said.
func TestSbatchRead(t *testing.T) {
	set, err := ParseJobs("job.sh", []byte(slurmScript), jdl.WithRoot(allFiles{}), jdl.WithDir("/job"))
	if err != nil || len(set.Jobs) != 1 {
		t.Fatalf("%+v, %v", set, err)
	}
	j := set.Jobs[0]
	d := j.Demand
	testbed.Equal(t, "program", []any{j.Executable, j.Name, j.InputSandbox[0].Source, j.InputSandbox[0].Executable}, []any{"job.sh", "train-%j", "/job/job.sh", true})
	testbed.Equal(t, "demand", []any{d.WallTime, d.Slots, d.Nodes, d.PerNode(), d.Memory, d.Disk, d.GPUs, d.Queue, d.RuntimeEnvironments},
		[]any{26*time.Hour + 30*time.Minute, 8, 2, 4, int64(4096), int64(20480), 4, "gpu", []string{"gpu:a100", "VEE-Debian11"}})
	testbed.Equal(t, "streams", []string{j.StdOutput, j.StdError, j.OutputSandbox[0].Name}, []string{"train-%j-0.out", "train-%j-0.out", "*"})
	testbed.Equal(t, "environment", j.Environment, []jdl.EnvVar{{Name: "SEED", Value: "7"}, {Name: "SLURM_CPUS_PER_TASK", Value: "2"}})
	var got []string
	for _, w := range set.Warnings {
		got = append(got, w.Msg)
	}
	for _, want := range []string{"nvme:1 is not used", "logs/train-%j-0.out comes back as", "ALL of your shell", "haswell is a feature",
		"--mail-type is not used", "--qos is not used", "below the first command", "srun is a command of Slurm", "SLURM_NODEID is set by Slurm"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("nothing says %q:\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(got) != 9 {
		t.Errorf("%d warnings, want 9: %q", len(got), got)
	}
}

// TestSbatchTimes has sbatch's six forms of a time.
func TestSbatchTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{"90": 90 * time.Minute, "10:30": 630 * time.Second, "2:00:00": 2 * time.Hour, "1-12": 36 * time.Hour,
		"1-1:30": 25*time.Hour + 30*time.Minute, "1-00:00:05": 24*time.Hour + 5*time.Second, "0": 0, "UNLIMITED": 0} {
		j := parseTest(t, "#!/bin/sh\n#SBATCH -t "+text+"\ntrue\n", "test.jdl")
		testbed.Equal(t, text, j.Demand.WallTime, want)
	}
}

// TestSbatchArray: each task is a job that knows its number.
func TestSbatchArray(t *testing.T) {
	set, err := ParseJobs("a.sh", []byte("#!/bin/sh\n#SBATCH --array=1-9:4,20%2\n./a $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_MAX\n"), jdl.WithRoot(allFiles{}), jdl.WithDir("/job"))
	if err != nil || len(set.Jobs) != 4 || len(set.Warnings) != 0 || set.MaxRunning != 2 {
		t.Fatalf("%+v, %v", set, err)
	}
	for i, want := range []string{"1", "5", "9", "20"} {
		testbed.Equal(t, "environment", set.Jobs[i].Environment, []jdl.EnvVar{{Name: "SLURM_ARRAY_TASK_ID", Value: want}, {Name: "SLURM_ARRAY_TASK_MAX", Value: "20"}})
		testbed.Equal(t, "output", set.Jobs[i].StdOutput, "slurm-0_"+want+".out")
		testbed.Equal(t, "node", set.Jobs[i].Node, strconv.Itoa(i))
	}
}

// TestSbatchTasks: the tasks that squeue lists for such arrays.
func TestSbatchTasks(t *testing.T) {
	for array, want := range map[string]string{
		"1-10:2%3,20": "1 3 5 7 9 20", "5,1,5": "1 5", "1-3,2": "1 2 3", "1,,2": "1 2", "007": "7", "1-2%0": "1 2",
	} {
		set, err := ParseJobs("a.sh", []byte("#!/bin/sh\n#SBATCH --array="+array+"\n./a $SLURM_ARRAY_TASK_ID\n"), jdl.WithRoot(allFiles{}), jdl.WithDir("/job"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range set.Jobs {
			got = append(got, j.Environment[0].Value)
		}
		testbed.Equal(t, array, strings.Join(got, " "), want)
	}
}

func TestSbatchErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"--time=soon", `t.sh:2:9: --time: "soon" is no time`},
		{"-n 0", `--ntasks: "0" is no number`},
		{"--mem", `--mem wants a value`},
		{"--mem=", `--mem= has no value`},
		{"--time=", `--time= has no value`},
		{"--partition= -n 2", `--partition= has no value`},
		{"--exclusive=foo", `--exclusive=foo: it is user or mcs or topo`},
		{"--open-mode=x", `--open-mode=x: it is append or truncate`},
		{"--kill-on-invalid-dep=1", `--kill-on-invalid-dep=1: it is yes or no`},
		{"-d afterok:7", `--dependency: only JDL can say that a job waits`},
		{"--array=,%3", `",%3" is no array of tasks`},
		{"--array=1-5%x", `"x" is no number of tasks that run at once`},
		{"--array=5-1", `"5-1" is no array of tasks`},
		{"--array=0-999999999", `has more than 100000 tasks`},
		{"hetjob", `heterogeneous jobs are not supported`},
		{"time=1", `"time=1" is no option of sbatch`},
		{"--gpus=a:b:0x", `--gpus: "0x" is no number`},
	} {
		_, err := ParseJobs("t.sh", []byte("#!/bin/sh\n#SBATCH "+c.line+"\ntrue\n"), jdl.WithRoot(allFiles{}), jdl.WithDir("/job"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.line, err, c.want)
		}
	}
}

// TestSbatchThereAndBack: what a script written here asks for is read again.
func TestSbatchThereAndBack(t *testing.T) {
	full := parseTest(t, strings.NewReplacer(`"APPS/HEP/ATLAS-23.0.1", "ENV/PROXY"`, `"VEE-Debian11"`, "CPUTime = 3600;", "GPUNumber = 3;", `, "https://h.example/x/data"`, "",
		`"data", `, "", `"gsiftp://h.example/p"`, `"gsiftp://localhost"`, "WholeNodes = true;", "").Replace(fullJob), fullFiles...)
	text, err := sbatch.Write(full, sbatch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again := parseTest(t, string(text), "test.jdl")
	testbed.Equal(t, "demand", again.Demand, full.Demand)
	if _, err := xrsl.Write(again, xrsl.Options{}); err == nil || !strings.Contains(err.Error(), "GPUNumber") {
		t.Errorf("GPUs in xRSL: %v", err)
	}
}

func FuzzSbatch(f *testing.F) {
	f.Add(slurmScript)
	f.Add("#!/bin/sh\n#SBATCH -a 1,2-4:2%3 --gres=gpu\n")
	f.Add("#!/bin/sh\n#SBATCH --job-name=\"a \\\"b\" 'c\n")
	f.Fuzz(func(t *testing.T, src string) {
		_, _ = ParseJobsAs(Sbatch, "f.sh", []byte(src), jdl.WithRoot(allFiles{}), jdl.WithDir("/job"))
	})
}
