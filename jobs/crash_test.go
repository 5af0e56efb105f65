package jobs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// TestMain lets the test binary stand for a "grid submit" that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("GRID_TEST_CRASH_DIR"); dir != "" {
		at, _ := strconv.ParseInt(os.Getenv("GRID_TEST_CRASH_AT"), 10, 64)
		fmt.Println(submitAndDie(dir, at))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const crashJobs = 100

// submitAndDie submits 100 jobs over four endpoints, one of which refuses and
// one of which is dead, and kills itself at the n-th of the points where it
// may: before and after each job at the back-end, and wherever the clock is
// read, which is in every step and between the rows of every transaction. It
// returns the number of points.
func submitAndDie(dir string, at int64) (points int64) {
	point := func() {
		if atomic.AddInt64(&points, 1) == at {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	b, _ := crashBroker(dir, point)
	defer b.Store.Close()
	var list []*jdl.Job
	for i := range crashJobs {
		ad := classad.NewAd()
		ad.Set("Executable", classad.NewLiteral(classad.StringValue("/bin/true")))
		list = append(list, &jdl.Job{Ad: ad, Name: fmt.Sprint("job", i), Executable: "/bin/true", Requirements: classad.NewLiteral(classad.BoolValue(true))})
	}
	p, err := b.Plan(context.Background(), list, crashSites())
	if err != nil {
		panic(err)
	}
	if _, err := b.Submit(context.Background(), p); err != nil {
		panic(err)
	}
	return points
}

func crashSites() []*glue.Resource {
	return []*glue.Resource{site("a"), site("b"), site("refuses"), site("dead")}
}

func crashBroker(dir string, point func()) (*jobs.Controller, *fake) {
	f := &fake{dir: dir, point: point, answer: func(endpoint, _ string) error {
		switch {
		case strings.Contains(endpoint, "refuses"):
			return &plugins.Error{Kind: plugins.Refused, Op: "submit", Endpoint: endpoint, Said: "full"}
		case strings.Contains(endpoint, "dead"):
			return &plugins.Error{Kind: plugins.Unavailable, Op: "submit", Endpoint: endpoint, Said: "no route to host"}
		}
		return nil
	}}
	now := func() time.Time {
		if point != nil {
			point()
		}
		return start
	}
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: f})
	if err != nil {
		panic(err)
	}
	store, err := jobs.OpenStore(dir, now)
	if err != nil {
		panic(err)
	}
	return newController(func(b *jobs.Controller) { b.Registry, b.Store, b.Clock = reg, store, clock.Set(now) }), f
}

// A submission of 100 jobs is killed at every one of its steps; then the
// store and the back-end are asked what became of it. No job is lost, none is
// there twice, also after what did not arrive is submitted again.
func TestKilledAtEveryStep(t *testing.T) {
	out, err := crash(t.TempDir(), 0)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	points, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || points < 2*crashJobs {
		t.Fatalf("%s points, %v", out, err)
	}
	// Every step where the real servers are tested, too; else some.
	step := crashStep
	if os.Getenv("GRID_TESTBED") == "require" {
		step = (step + 16) / 17
	}
	if os.Getenv("GRID_LONG") != "" { // make test-long
		step = 1
	}
	for at := 1; at <= points; at += step {
		dir := t.TempDir()
		if out, err := crash(dir, at); err == nil {
			t.Fatalf("not killed at %d of %d: %s", at, points, out)
		}
		afterCrash(t, dir, at)
		if t.Failed() {
			return
		}
	}
	t.Logf("killed at every %dth of %d points", step, points)
}

func crash(dir string, at int) ([]byte, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GRID_TEST_CRASH_DIR="+dir, "GRID_TEST_CRASH_AT="+strconv.Itoa(at))
	return cmd.Output()
}

func afterCrash(t *testing.T, dir string, at int) {
	t.Helper()
	ctx := context.Background()
	b, f := crashBroker(dir, nil)
	defer b.Store.Close()
	now := start.Add(time.Minute)
	b.Clock = clock.Set(func() time.Time { return now })
	list, err := b.Store.Select(ctx, jobs.Query{})
	if err != nil {
		t.Fatal(err)
	}
	rs := jobs.Outcomes(list)
	if n := len(rs); n != 0 && n != crashJobs || n == 0 && len(f.accepted()) > 0 {
		t.Fatalf("killed at %d: %d jobs recorded, %d accepted", at, n, len(f.accepted()))
	}
	refresh(t, b, rs) // from now on its outcome counts as uncertain
	now = now.Add(jobs.SettleTime)
	refresh(t, b, rs)
	there := map[string]string{}
	for _, line := range f.accepted() {
		_, request, _ := strings.Cut(line, " ")
		there[jobID(request)] = request
	}
	var again []*jobs.Outcome
	for _, r := range rs {
		switch request, ok := there[r.ID]; {
		case ok && r.Handle.ID != "their-"+request:
			t.Errorf("killed at %d: job %s is at its back-end, the record says %s %q", at, r.ID, r.State, r.Handle.ID)
		case ok && r.State != plugins.Running:
			t.Errorf("killed at %d: job %s is %s, want running", at, r.ID, r.State)
		case !ok && r.State != plugins.Intended:
			t.Errorf("killed at %d: job %s is not at its back-end and is %s", at, r.ID, r.State)
		case !ok:
			again = append(again, r)
		}
	}
	if err := b.Resubmit(ctx, again, jobs.Anew{Discover: always(crashSites()...), Anywhere: true}); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, line := range f.accepted() {
		_, request, _ := strings.Cut(line, " ")
		count[jobID(request)]++
	}
	for _, r := range rs {
		if count[r.ID] != 1 {
			t.Errorf("killed at %d: job %s was submitted %d times", at, r.ID, count[r.ID])
		}
	}
}
