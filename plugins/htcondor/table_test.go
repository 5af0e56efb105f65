package htcondor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

func TestURLs(t *testing.T) {
	for raw, want := range map[string]address{
		"condor:":         {},
		"condor:/scratch": {},
		"condor+ssh://u@h:22/d?schedd=s@h&group=a.b": {schedd: "s@h", accounting: "a.b"},
		"condor://ce.example.org":                    {network: true, pool: "ce.example.org:9619"},
		"condor://127.0.0.1:9618?schedd=x":           {network: true, pool: "127.0.0.1:9618", schedd: "x"},
		"https://ce.example.org:9619/ignored?pool=x": {network: true, foreign: true, pool: "ce.example.org:9619", schedd: "ce.example.org"},
	} {
		a, err := parseURL(raw)
		a.Target = want.Target
		if err != nil || a != want {
			t.Errorf("%s: %+v %v, want %+v", raw, a, err, want)
		}
	}
	for _, raw := range []string{"condor+ssh:", "condor+ssh://-o@h", "condor+ssh://u:p@h", "condor:?schedd=--x", "condor:?pol=x", "condor://u@h:1", "condor://$(x):1", "slurm:"} {
		if _, err := parseURL(raw); err == nil {
			t.Errorf("%s was taken", raw)
		}
	}
}

// No word of a job gets into a submit file, and every row has every column.
func TestSubmitFile(t *testing.T) {
	s := &site{}
	evil := &jdl.Job{Executable: "$(HOME)", Args: []string{"$$(Name)"}, StdOutput: "evil out", Environment: []jdl.EnvVar{{Name: "EVIL", Value: "x"}},
		Demand: jdl.Demand{Slots: 2, Memory: 100, GPUs: 1, WallTime: 90 * time.Second, Queue: "evil"}}
	reqs := []plugins.Request{{ID: "a1", Job: evil, Resource: &glue.Resource{Queue: "Debian13/X86_64"}}, {ID: "b2", Job: &jdl.Job{}},
		{ID: "c3", Job: &jdl.Job{}, Resource: &glue.Resource{Queue: "x\"/y\nqueue"}}}
	groups, errs := s.Group("b-x", reqs, []int{0, 1, 2})
	if len(errs) > 0 || len(groups) != 2 {
		t.Fatalf("%d groups, %v", len(groups), errs)
	}
	first, second := groups[0].Files["sub"], groups[1].Files["sub"]
	for _, bad := range []string{"evil", "EVIL", "HOME", "$(Name)", "$$", "\nqueue\""} {
		if strings.Contains(first+second, bad) {
			t.Errorf("%q in a submit file:\n%s\n%s", bad, first, second)
		}
	}
	if !strings.Contains(first, "\na1 2 100 102400 1 90 690 2\n") || !strings.Contains(first, "allowed_job_duration = $(net)") ||
		!strings.Contains(first, `TARGET.OpSysAndVer == "Debian13" && TARGET.Arch == "X86_64"`) || !strings.Contains(first, "JobBatchName = a1\n") {
		t.Errorf("%s", first)
	}
	if !strings.Contains(second, "\nb2 1 512 102400 0 0 600 0\nc3 ") || strings.Contains(second, "allowed_job_duration") || !strings.Contains(second, "JobBatchName = b-x.g1\n") {
		t.Errorf("%s", second)
	}
}

// The states and holds of HTCondor, codes from real pools.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		job    ad
		state  plugins.State
		fault  plugins.Fault
		reason string
		code   glue.Opt[int]
	}{
		{ad{"JobStatus": 1.0}, plugins.Queued, "", "", glue.Opt[int]{}},
		{ad{"JobStatus": 1.0, "NumJobStarts": 1.0}, plugins.Failed, plugins.SitesFault, "it was evicted from its slot, and is not started again by itself", glue.Opt[int]{}},
		{ad{"JobStatus": 2.0, "JobCurrentStartDate": 5.0}, plugins.Running, "", "", glue.Opt[int]{}},
		{ad{"JobStatus": 6.0}, plugins.Finishing, "", "", glue.Opt[int]{}},
		{ad{"JobStatus": 7.0}, plugins.Running, "", "", glue.Opt[int]{}},
		{ad{"JobStatus": 4.0, "ExitCode": 3.0, "ExitBySignal": false}, plugins.Done, "", "", glue.Some(3)},
		{ad{"JobStatus": 4.0, "ExitSignal": 9.0, "ExitBySignal": true}, plugins.Failed, "", "ended by signal 9", glue.Opt[int]{}},
		{ad{"JobStatus": 4.0, "ExitSignal": 10.0, "ExitBySignal": true}, plugins.Failed, plugins.JobsFault, "stage-in failed", glue.Opt[int]{}},
		{ad{"JobStatus": 3.0, "LastJobStatus": 4.0, "ExitCode": 0.0}, plugins.Done, "", "", glue.Some(0)},
		{ad{"JobStatus": 3.0, "LastJobStatus": 2.0, "RemoveReason": "via condor_rm"}, plugins.Cancelled, "", "via condor_rm", glue.Opt[int]{}},
		{ad{"JobStatus": 5.0, "HoldReasonCode": 16.0, "HoldReason": "Spooling input data files"}, plugins.Preparing, "", "Spooling input data files", glue.Opt[int]{}},
		{ad{"JobStatus": 5.0, "HoldReasonCode": 1.0, "HoldReason": "operator says no"}, plugins.Held, "", "operator says no", glue.Opt[int]{}},
		{ad{"JobStatus": 5.0, "HoldReasonCode": 46.0, "HoldReason": "too long"}, plugins.Failed, plugins.JobsFault, "the wall time was used up: too long", glue.Opt[int]{}},
		{ad{"JobStatus": 5.0, "HoldReasonCode": 34.0, "HoldReason": "memory"}, plugins.Failed, plugins.SitesFault, "memory", glue.Opt[int]{}},
		{ad{"JobStatus": 5.0, "HoldReasonCode": 6.0, "HoldReasonSubCode": 22.0, "HoldReason": "EINVAL"}, plugins.Failed, plugins.SitesFault, "EINVAL", glue.Opt[int]{}},
		{ad{"JobStatus": 5.0, "HoldReasonCode": 6.0, "HoldReasonSubCode": 2.0, "HoldReason": "ENOENT"}, plugins.Failed, plugins.JobsFault, "ENOENT", glue.Opt[int]{}},
		{ad{"JobStatus": 5.0, "HoldReasonCode": 0.0, "HoldReason": "Proxy has expired"}, plugins.Failed, plugins.CredentialsFault, "Proxy has expired", glue.Opt[int]{}},
		{ad{"JobStatus": 5.0, "HoldReasonCode": 4.0, "HoldReason": "token"}, plugins.Failed, plugins.CredentialsFault, "token", glue.Opt[int]{}},
		{ad{"JobStatus": "nonsense"}, plugins.Unknown, "", "", glue.Opt[int]{}},
	} {
		var st plugins.Status
		fill(&st, c.job)
		if st.State != c.state || st.Fault != c.fault || st.Reason != c.reason || st.ExitCode != c.code {
			t.Errorf("%v: %+v", c.job, st)
		}
	}
}

// captured reads a capture of a real pool.
func captured(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("GRID_TESTDATA")
	if dir == "" {
		t.Skip("GRID_TESTDATA names no directory of captures")
	}
	text, err := os.ReadFile(filepath.Join(dir, "htcondor", name))
	if err != nil {
		t.Skip(err)
	}
	return string(text)
}

func TestCapturedPool(t *testing.T) {
	slots, err := parseSlots(captured(t, "status-slots.json"))
	if err != nil || len(slots) != 9 {
		t.Fatalf("%d slots, %v", len(slots), err)
	}
	schedds, err := parseAds(captured(t, "status-schedd.json"))
	if err != nil {
		t.Fatal(err)
	}
	if wait, ok := meanWait(schedds[0]); !ok || wait != 7*time.Second { // 1586 s for 213 jobs
		t.Errorf("mean wait %v %v", wait, ok)
	}
	for want, d := range map[int64]jdl.Demand{14: {}, 4: {Slots: 2}, 2: {Slots: 2, Memory: 8000}, 1: {Slots: 8}, 0: {Slots: 9}} {
		if got := room(slots, requestOf(d, "u")); got != want {
			t.Errorf("%+v: room for %d, want %d", d, got, want)
		}
	}
	if why := whyNever(slots, requestOf(jdl.Demand{GPUs: 1}, "")); !strings.Contains(why, "1 GPUs asked for, 0 GPUs at most") {
		t.Errorf("%q", why)
	}
}

func TestForecast(t *testing.T) {
	now := time.Now()
	busy := ad{"RecentJobsStarted": 10.0, "RecentJobsAccumTimeToStart": 6000.0, "RecentJobsCompleted": 60.0, "RecentStatsLifetime": 600.0,
		"TotalIdleJobs": 100.0, "JobsUnmaterialized": 80.0}
	for _, c := range []struct {
		schedd ad
		free   int64
		want   time.Duration
		ok     bool
	}{
		{busy, 3, 30 * time.Second, true},
		{busy, 0, 1800 * time.Second, true}, // 180 jobs at one in 10 s
		{ad{}, 0, 0, false},
		{ad{"RecentJobsStarted": 2.0, "RecentJobsAccumTimeToStart": 8.0}, 1, 4 * time.Second, true},
		{ad{"RecentJobsStarted": 2.0, "RecentJobsAccumTimeToStart": 8000.0}, 0, 4000 * time.Second, true},
	} {
		f, ok := forecast(c.schedd, c.free, now)
		if ok != c.ok || f.Median != c.want {
			t.Errorf("%v, %d free: %v %v, want %v", c.schedd, c.free, f.Median, ok, c.want)
		}
	}
}

func FuzzAds(f *testing.F) {
	f.Add(`[{"Name":"slot1@h","Start":"/Expr(TARGET.RequestCpus < 3)/","TotalSlotCpus":1,"HasX":true}]`)
	f.Add(`[{"JobStatus":5,"HoldReasonCode":1e300,"TotalSubmitProcs":1e9,"JobMaterializeNextProcId":0}]`)
	f.Fuzz(func(t *testing.T, text string) {
		slots, err := parseSlots(text)
		if err != nil {
			return
		}
		r := requestOf(jdl.Demand{}, "u")
		room(slots, r)
		whyNever(slots, r)
		tagsOf(slots)
		var jobs []ad
		for _, s := range slots {
			var st plugins.Status
			fill(&st, s.ad)
			meanWait(s.ad)
			jobs = append(jobs, s.ad)
		}
		if st := state(time.Now(), "c", slots, jobs, nil); len(st.Jobs) > maxUnmaterialised+len(jobs) {
			t.Errorf("%d jobs", len(st.Jobs))
		}
	})
}

// A neighbour who gives a job of his the id of one of ours does not hide ours.
func TestIDsOfNeighbours(t *testing.T) {
	s := &site{Site: &remote.Site{URL: "condor:", Options: &remote.Options{Command: time.Minute}, System: &remote.System{Name: "HTCondor"},
		Machine: neighbours{"condor_q": `[{"GridBrokerId":"a","ClusterId":7,"ProcId":0,"JobStatus":2},
{"GridBrokerId":"a","ClusterId":9,"ProcId":0,"JobStatus":3}]`}}}
	jobs, err := s.queued(t.Context(), []string{"7.0/a"})
	if err != nil || jobs["7.0/a"].integer("JobStatus") != 2 || len(jobs) != 1 {
		t.Errorf("%v %v", jobs, err)
	}
}

// neighbours is a cluster whose commands answer with fixed texts.
type neighbours map[string]string

func (n neighbours) Run(_ context.Context, argv []string, _ io.Reader, out io.Writer) error {
	for name, text := range n {
		if slices.Contains(argv, name) {
			_, err := io.WriteString(out, text)
			return err
		}
	}
	return fmt.Errorf("%q is not there", argv)
}

func (n neighbours) Files(context.Context) (remote.Files, error) { return nil, errors.New("no files") }

func (n neighbours) Close() error { return nil }

// A neighbour's batch with the name of one of ours is not taken for ours, before ours
// or after it; and where it is all there is, nobody says that ours is not there.
func TestBatchesOfNeighbours(t *testing.T) {
	const ping = "Destination: local schedd\nRemote Mapping:              alice@pool\nAuthorized: TRUE\n"
	at := func(queue, ping string) *site {
		return &site{Site: &remote.Site{URL: "condor:", Options: &remote.Options{Command: time.Minute}, System: &remote.System{Name: "HTCondor"},
			Machine: neighbours{"condor_q": queue, "condor_history": "", "condor_ping": ping}}}
	}
	job := func(cluster int, name, owner string) string {
		return fmt.Sprintf(`{"ClusterId":%d,"JobBatchName":%q,"Owner":%q}`, cluster, name, owner)
	}
	for _, c := range []struct{ queue, ping, want, err string }{
		{job(7, "a1", "alice") + "," + job(9, "a1", "mallory"), ping, "map[a1:7]", ""},
		{job(6, "a1", "mallory") + "," + job(7, "a1", "alice"), ping, "map[a1:7]", ""},
		{job(6, "a1", "mallory"), ping, "map[]", "job of mallory"},
		{job(6, "b1", "mallory"), ping, "map[]", ""},
		{job(6, "a1", "bob"), "Remote Mapping: unauthenticated@unmapped\n", "map[a1:6]", ""}, // it does not say who we are
	} {
		found, err := at("["+c.queue+"]", c.ping).Lookup(t.Context(), []string{"a1"})
		if fmt.Sprint(found) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v %v", c.queue, found, err)
		}
	}
}

// parseSlots reads the ads of condor_status -json, parseAds any.
func parseSlots(text string) (slots []slot, err error) {
	err = eachObject(text, func(object []byte) error {
		s, err := readSlot(object)
		slots = append(slots, s)
		return err
	})
	return slots, err
}

func parseAds(text string) (ads []ad, err error) {
	err = eachObject(text, func(object []byte) error {
		a, err := readAd(object)
		ads = append(ads, a)
		return err
	})
	return ads, err
}

func eachObject(text string, take func([]byte) error) error {
	s := &remote.Site{Options: &remote.Options{Command: time.Minute}, System: &remote.System{}, Machine: neighbours{"ads": text}}
	return remote.Records(context.Background(), s, take, "ads")
}
