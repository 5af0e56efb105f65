package slurm

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/rank"
)

func TestStates(t *testing.T) {
	for word, want := range map[string]plugins.State{
		"PENDING": plugins.Queued, "CANCELLED by 1000": plugins.Cancelled, "CANCELLED+": plugins.Cancelled, "OUT_OF_ME+": plugins.Unknown,
		"COMPLETED": plugins.Done, "NODE_FAIL": plugins.Failed, "TIMEOUT": plugins.Failed, "COMPLETING": plugins.Finishing, "NEW_STATE": plugins.Unknown, "": plugins.Unknown,
	} {
		if got := stateOf(word, "None"); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
	if got := stateOf("PENDING", "JobHeldUser"); got != plugins.Held {
		t.Errorf("held by the user: %s", got)
	}
	for word, s := range states {
		if s == plugins.Unknown || s == "" || s == plugins.Lost {
			t.Errorf("%s maps to %q", word, s)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Minute, "1:30": 90 * time.Second, "01:00:00": time.Hour, "3-00:00:00": 72 * time.Hour, "1-12": 36 * time.Hour,
		"1-12:30": 36*time.Hour + 30*time.Minute, "00:00.003": 3 * time.Millisecond, "02:03:04": 2*time.Hour + 3*time.Minute + 4*time.Second,
	} {
		if got, ok := duration(text); !ok || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"UNLIMITED", "INFINITE", "NONE", "NOT_SET", "N/A", "", "-1", "1:2:3:4", "1-2:3:4:5", "x-1", "99999999999999"} {
		if got, ok := duration(text); ok {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestMemoryAndGPUs(t *testing.T) {
	for text, want := range map[string]float64{"500M": 500, "4G": 4096, "3148K": 3148.0 / 1024, "1.5T": 1.5 * 1024 * 1024, "500Mc": 500, "4Gn": 4096, "16000": 16000, "0": 0} {
		if got, _, ok := megabytes(text); !ok || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, ok, want)
		}
	}
	for text, want := range map[string]int{
		"(null)": 0, "": 0, "gpu": 1, "gpu:2": 2, "gpu:tesla:4(S:0-1)": 4, "gres:gpu:1": 1, "gres/gpu:a100=2": 2, "gpu:a:1,gpu:b:2,nic:4": 3, "gpu:tesla": 1, "fpga:3": 0,
	} {
		if got := gpus(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]string{"gpu": "", "gpu:2": "", "gpu:tesla": "gpu:tesla", "gres/gpu:a100=2": "gpu:a100", "gpu:a:1(S:0),gpu:b:2,nic:4": "gpu:a gpu:b"} {
		if got := strings.Join(gpuTypes(text), " "); got != want {
			t.Errorf("%s: types %q, want %q", text, got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "n1": "n1", "n[1-3,7]": "n1 n2 n3 n7", "c[08-10]-ib,login": "c08-ib c09-ib c10-ib login", "r[1-2]n[1-2]": "r1n1 r1n2 r2n1 r2n2", "n[0-2]": "n0 n1 n2", "a[": "a[", "a]b[": "a]b[", "x[5-2]": "",
	} {
		if got := strings.Join(hosts(text), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if n := len(hosts("a[1-99999999]b[1-99999999]")); n > maxHosts {
		t.Errorf("%d hosts", n)
	}
}

// Lines that Slurm 22.05 printed.
func TestNodes(t *testing.T) {
	m := pairs("NodeName=n7 Arch=x86_64 CPUAlloc=2 CPUEfctv=8 CPUTot=8 ActiveFeatures=debian12,VEE-Debian11 Gres=gpu:2 OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=16000 AllocMem=0 State=MIXED TmpDisk=20000 Partitions=short,long Reason=not a = problem [root@2026-11-21T04:28:50]")
	n := node(m)
	if n.Name != "n7" || n.CPUs != 8 || n.Memory != 16000 || n.Disk != 20000 || n.GPUs != 2 || len(n.Features) != 2 || len(n.Queues) != 2 || !n.Up || !strings.HasPrefix(m["OS"], "Linux 6.18.44 #1") {
		t.Errorf("%+v", n)
	}
	for state, up := range map[string]bool{
		"IDLE": true, "MIXED": true, "ALLOCATED": true, "IDLE+CLOUD": true, "DOWN": false, "IDLE*": false, "IDLE+DRAIN": false, "IDLE+BLOCKED": false, "MIXED+DRAIN": false, "UNKNOWN+DRAIN+INVALID_REG": false, "": false, "FUTURE": false,
	} {
		if nodeUp(state) != up {
			t.Errorf("%s: up %v", state, !up)
		}
	}
}

func TestPlannedStarts(t *testing.T) {
	now := time.Unix(1795235000, 0)
	said := "sbatch: Job 7 to start at 1795235403 using 4 processors on nodes n1 in partition short\n"
	if f, ok := planned(said, now); !ok || !reflect.DeepEqual(f, rank.AtMost(now, now.Add(goodFor), 403*time.Second)) {
		t.Errorf("%+v %v", f, ok)
	}
	for _, said := range []string{
		"", "allocation failure: Requested node configuration is not available",
		"sbatch: Job 7 to start at 162824860800 using 4 processors", // in the year 7130
		"sbatch: Job 7 to start at 2026-11-21T02:44:09 using 4 processors",
	} {
		if f, ok := planned(said, now); ok {
			t.Errorf("%s: %+v", said, f)
		}
	}
}

func TestURLs(t *testing.T) {
	for _, raw := range []string{"slurm:", "slurm:/scratch/x", "slurm+ssh://h", "slurm+ssh://u@h:22/scratch?account=a&ssh=external", "slurm:?cache=http://cache.example.org:8470"} {
		if _, _, err := parseURL(raw); err != nil {
			t.Error(err)
		}
	}
	for raw, want := range map[string]string{
		"slurm://host": "slurm+ssh://host", "slurm+ssh:": "no host", "slurm+ssh://u:secret@h": "passwords", "slurm:?acount=x": "no such option",
		"slurm+ssh://-oProxyCommand=x": "no host", "slurm:?account=--x": "no such option", "slurm:?cache=ftp://c/": "grid cache serve", "http://h": "not a URL of slurm",
	} {
		if _, _, err := parseURL(raw); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

func FuzzTables(f *testing.F) {
	f.Add("1|wrap|COMPLETED|0:0|1795235401|1795235401|1795235402|00:00.003||n1|None\n1.batch|batch|FAILED|3:0|1|2|3|00:00.002|3148K|n1|\n")
	f.Add("NodeName=n7 OS=Linux a b State=IDLE\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs := map[string]row{}
		for _, f := range rows(text, "|", len(sacctFields)) {
			takeSacct(f, map[string]bool{"1": true}, jobs)
		}
		if len(jobs) > 1 {
			t.Errorf("%q: %v", text, jobs)
		}
		records(text)
		hosts(text)
		gpus(text)
		megabytes(text)
		if d, ok := duration(text); ok && d < 0 {
			t.Errorf("%q: %v", text, d)
		}
		planned(text, time.Unix(0, 0))
		parseMembers(text, map[string]bool{"a": true}, map[string][]string{})
	})
}

// A submission that died on another login host blocks the look-up for ten
// minutes, and not for ever.
func TestDeadSubmissionElsewhere(t *testing.T) {
	l := newLab(t)
	base := strings.TrimPrefix(l.url, "slurm:")
	for name, text := range map[string]string{"jobs/a/at": "b-x g0 0\n", "batches/b-x/busy": "1 another-host\n"} {
		file := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ep := glue.Endpoint{URL: l.url}
	if _, err := l.Find(t.Context(), ep, []string{"a"}); err == nil {
		t.Error("a verdict while a submission is on its way")
	}
	old := time.Now().Add(-11 * time.Minute)
	if err := os.Chtimes(filepath.Join(base, "batches/b-x/busy"), old, old); err != nil {
		t.Fatal(err)
	}
	if found, err := l.Find(t.Context(), ep, []string{"a"}); err != nil || len(found) != 0 {
		t.Errorf("%v %v", found, err)
	}
}

// TestUnlimitedPartition: what a partition says is unlimited is a limit that is none, what it does not say is not known.
func TestUnlimitedPartition(t *testing.T) {
	for want, p := range map[glue.Limits]map[string]string{
		glue.LimitWallTime | glue.LimitCPUTime | glue.LimitMemory: {"MaxTime": "UNLIMITED", "MaxMemPerNode": "UNLIMITED"},
		glue.LimitMemory: {"MaxTime": "1-00:00:00", "MaxMemPerNode": "UNLIMITED"},
		0:                {"MaxTime": "01:00:00", "MaxMemPerNode": "2000"},
	} {
		var r glue.Resource
		if limits(&r, p); r.Unlimited != want {
			t.Errorf("%v: %v, want %v", p, r.Unlimited.Document(), want.Document())
		}
	}
	var r glue.Resource
	if limits(&r, map[string]string{}); r.Unlimited != 0 || r.MaxWallTime.OK {
		t.Errorf("a partition that says nothing: %v", r.Unlimited.Document())
	}
}
