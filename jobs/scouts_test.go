package jobs_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/plugins/history"
	"gridbroker/rank"
	"gridbroker/testdata/testbed"
)

// expedition is a call with scouts over a fake back-end, with a clock that
// goes on by half a minute at every look.
type expedition struct {
	*jobs.Controller
	t     *testing.T
	fake  *fake
	mu    sync.Mutex
	clock time.Time
	sent  map[string]time.Time // by the back-end's id
	// ends is how a job fares at an endpoint: when it starts and ends after
	// it was sent, and how.
	ends func(endpoint string) (wait, run time.Duration, st plugins.Status)
}

func newExpedition(t *testing.T, follow bool) *expedition {
	x := &expedition{t: t, clock: start, sent: map[string]time.Time{}}
	x.Controller, x.fake = rig(t)
	x.Clock = clock.Set(func() time.Time { return x.pass(0) })
	x.Scouts = jobs.NewScouts(5, follow)
	x.fake.status = x.status
	return x
}

// pass lets time pass.
func (x *expedition) pass(d time.Duration) time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.clock = x.clock.Add(d)
	return x.clock
}

// remembering adds a history.
func (x *expedition) remembering() *history.Registry {
	h, err := history.Open(x.t.TempDir(), x.Clock.Now)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { h.Close() })
	x.Services.Historians, x.Recorders = []plugins.Historian{h}, []plugins.Recorder{h}
	return h
}

func (x *expedition) status(h plugins.Handle) plugins.Status {
	now := x.pass(20 * time.Millisecond)
	x.mu.Lock()
	at, ok := x.sent[h.ID]
	if !ok {
		at = now
		x.sent[h.ID] = at
	}
	x.mu.Unlock()
	wait, run, st := x.ends(h.Endpoint)
	switch {
	case now.Before(at.Add(wait)):
		return plugins.Status{State: plugins.Queued}
	case now.Before(at.Add(wait + run)):
		return plugins.Status{State: plugins.Running, Started: at.Add(wait)}
	}
	st.Started, st.Ended = at.Add(wait), at.Add(wait+run)
	return st
}

// sweep submits that many jobs and, where they are followed, waits for them.
func (x *expedition) sweep(jobs int, more string, found ...*glue.Resource) []*jobs.Outcome {
	x.t.Helper()
	if !strings.Contains(more, "RetryCount") {
		more += " RetryCount = 0;"
	}
	text := fmt.Sprintf(`JobType = "Parametric"; Executable = "/bin/true"; Arguments = "_PARAM_"; Parameters = %d; WallTime = "1 h"; %s`, jobs, more)
	sweep, err := jdl.ParseJobs("sweep.jdl", []byte(text))
	if err != nil {
		x.t.Fatal(err)
	}
	return submit(x.t, x.Controller, found, sweep)
}

func (x *expedition) follow(rs []*jobs.Outcome, found ...*glue.Resource) {
	x.t.Helper()
	err := x.Wait(x.t.Context(), rs, jobs.Waiting{Pause: time.Millisecond, Discover: always(found...),
		Seen: func([]*jobs.Outcome) { x.pass(30 * time.Second) }})
	if err != nil {
		x.t.Fatal(err)
	}
}

func count(rs []*jobs.Outcome) (lost, well int) {
	for _, r := range rs {
		if r.Failure() {
			lost++
		} else if r.Final() {
			well++
		}
	}
	return lost, well
}

// requestsTo counts requests to an endpoint, and the jobs in them.
func (x *expedition) requestsTo(name string) (requests, jobs int) {
	for _, q := range x.fake.requests {
		var n int
		at, _, _ := strings.Cut(q, " ")
		if _, err := fmt.Sscanf(q, at+" %d", &n); err != nil {
			x.t.Fatal(err)
		}
		if strings.Contains(at, name) {
			requests, jobs = requests+1, jobs+n
		}
	}
	return requests, jobs
}

// best publishes by far the most free slots.
func best(id string) *glue.Resource {
	return site(id, func(r *glue.Resource) {
		r.FreeSlots, r.TotalSlots = glue.Some[int64](5000), glue.Some[int64](5000)
	})
}

var wellDone = plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}

// A thousand jobs, and the best resource by far fails each at once: it gets
// five at most, whatever way it fails, with and without a memory.
func TestBlackHole(t *testing.T) {
	failures := map[string]plugins.Status{
		"program not found": {State: plugins.Done, ExitCode: glue.Some(127)},
		"program's own":     {State: plugins.Done, ExitCode: glue.Some(1)},
		"failed":            {State: plugins.Failed, Reason: "cannot stage in"},
		"vanished":          {State: plugins.Lost},
	}
	whole := testbed.Whole(t)
	for name, end := range failures {
		for _, memory := range []bool{true, false} {
			for _, policy := range []string{rank.Hybrid, rank.Random, rank.FastestQueue} {
				if !whole && policy != rank.Hybrid {
					continue
				}
				t.Run(fmt.Sprint(name, memory, policy), func(t *testing.T) {
					x := newExpedition(t, true)
					x.Policy.Name = policy
					if memory {
						x.remembering()
					}
					x.ends = func(endpoint string) (time.Duration, time.Duration, plugins.Status) {
						if strings.Contains(endpoint, "hole") {
							return 0, time.Second, end
						}
						return 0, 5 * time.Minute, wellDone
					}
					all := 40
					if memory && policy == rank.Hybrid && name == "program not found" {
						if all = 1000; !whole {
							all = 200
						}
					}
					found := []*glue.Resource{best("hole"), site("a"), site("b")}
					rs := x.sweep(all, "", found...)
					x.follow(rs, found...)
					lost, well := count(rs)
					if _, jobs := x.requestsTo("hole"); jobs > 5 || lost > 5 || lost+well != all {
						t.Errorf("%d jobs sent to a black hole, %d lost, %d well", jobs, lost, well)
					}
				})
			}
		}
	}
}

// A black hole with several queues is one: five jobs for all of them, and what
// the first queues' failures tell is believed of the others.
func TestBlackHoleOfSeveralQueues(t *testing.T) {
	testbed.Computes(t)
	for _, memory := range []bool{true, false} {
		x := newExpedition(t, true)
		if memory {
			x.remembering()
		}
		x.ends = func(endpoint string) (time.Duration, time.Duration, plugins.Status) {
			if strings.Contains(endpoint, "hole") {
				return 0, time.Second, plugins.Status{State: plugins.Failed, Reason: "Job submission to LRMS failed"}
			}
			return 0, 5 * time.Minute, wellDone
		}
		found := []*glue.Resource{site("a"), site("b")}
		for _, queue := range []string{"short", "long", "night", "grid"} {
			q := best("hole")
			q.ID, q.Name, q.Queue = "hole/"+queue, "hole/"+queue, queue
			found = append(found, q)
		}
		rs := x.sweep(300, "RetryCount = 0; Rank = RegExp(\"^hole\", other.GlueCEUniqueID) ? 2 : 1;", found...)
		x.follow(rs, found...)
		lost, well := count(rs)
		if _, jobs := x.requestsTo("hole"); jobs > 5 || lost > 5 || lost+well != 300 {
			t.Errorf("memory %v: %d jobs sent to a black hole, %d lost, %d well", memory, jobs, lost, well)
		}
	}
}

// Jobs that fail there are sent again elsewhere, and the next call does
// without scouts where the first has seen success.
func TestBlackHoleLosesNothingWithRetries(t *testing.T) {
	testbed.Computes(t)
	x := newExpedition(t, true)
	x.remembering()
	x.ends = func(endpoint string) (time.Duration, time.Duration, plugins.Status) {
		if strings.Contains(endpoint, "hole") {
			return 0, time.Second, plugins.Status{State: plugins.Failed}
		}
		return time.Minute, 5 * time.Minute, wellDone
	}
	found := []*glue.Resource{best("hole"), site("a"), site("b")}
	rs := x.sweep(200, "RetryCount = 1;", found...)
	x.follow(rs, found...)
	if lost, well := count(rs); lost != 0 || well != 200 {
		t.Errorf("%d lost, %d well", lost, well)
	}
	x.Scouts, x.fake.requests = jobs.NewScouts(5, false), nil
	x.sweep(1000, "", found...)
	_, hole := x.requestsTo("hole")
	requests, jobs := x.requestsTo("/arex")
	if hole > 5 || requests > 3 || jobs != 1000 {
		t.Errorf("the next call: %v", x.fake.requests)
	}
}

// While the best resource does not answer, a thousand jobs ask it twice at
// most, however often they are planned anew.
func TestDeadResourceWithScouts(t *testing.T) {
	all := 1000
	if !testbed.Whole(t) {
		all = 200
	}
	for _, memory := range []bool{true, false} {
		x := newExpedition(t, true)
		if memory {
			x.remembering()
		}
		x.fake.answer = func(endpoint, _ string) error {
			if strings.Contains(endpoint, "dead") {
				return fault(plugins.Unavailable, "connection refused")
			}
			return nil
		}
		x.ends = func(string) (time.Duration, time.Duration, plugins.Status) { return 0, 2 * time.Minute, wellDone }
		found := []*glue.Resource{best("dead"), site("a"), site("b")}
		rs := x.sweep(all, "", found...)
		x.follow(rs, found...)
		requests, _ := x.requestsTo("dead")
		if _, well := count(rs); requests > 2 || well != all {
			t.Errorf("memory %v: %d requests to the dead resource, %d well", memory, requests, well)
		}
	}
}

// Without a choice, and where a resource has lately done well, nothing is
// held back and one request takes all.
func TestNoScoutsWhereNoneAreNeeded(t *testing.T) {
	long := site("good", func(r *glue.Resource) { r.ID, r.Queue = "good/long", "long" })
	for name, found := range map[string][]*glue.Resource{"one": {best("good")}, "two queues of one": {best("good"), long}, "proven": {best("good"), site("a")}} {
		for _, follow := range []bool{true, false} {
			x := newExpedition(t, follow)
			if name == "proven" {
				h := x.remembering()
				if err := h.Pin(t.Context(), "good", true); err != nil {
					t.Fatal(err)
				}
			}
			x.sweep(100, "", found...)
			if requests, jobs := x.requestsTo("/good/"); requests != 1 || jobs < 90 {
				t.Errorf("%s, followed %v: %v", name, follow, x.fake.requests)
			}
		}
	}
}

// Jobs that nobody follows cannot wait for scouts: the unknown resource gets
// a few, a proven one the others; where none is proven the score decides.
func TestScoutsOfJobsNobodyFollows(t *testing.T) {
	for _, proven := range []bool{true, false} {
		x := newExpedition(t, false)
		h := x.remembering()
		if proven {
			if err := h.Pin(t.Context(), "a", true); err != nil {
				t.Fatal(err)
			}
		}
		rs := x.sweep(1000, "", best("unknown"), site("a"))
		_, jobs := x.requestsTo("unknown")
		if proven != (jobs <= 5) {
			t.Errorf("proven %v: %v", proven, x.fake.requests)
		}
		for _, r := range rs {
			if r.State != plugins.Accepted {
				t.Fatalf("%s: %s", r.ID, r.State)
			}
		}
	}
}

// Jobs that fail wherever they are sent are at fault themselves: they are not
// kept back for ever.
func TestJobsThatFailEverywhere(t *testing.T) {
	x := newExpedition(t, true)
	x.remembering()
	x.ends = func(string) (time.Duration, time.Duration, plugins.Status) {
		return 0, time.Second, plugins.Status{State: plugins.Done, ExitCode: glue.Some(3)}
	}
	found := []*glue.Resource{best("a"), site("b"), site("c")}
	rs := x.sweep(200, "", found...)
	x.follow(rs, found...)
	if lost, _ := count(rs); lost != 200 {
		t.Errorf("%d of 200 ended", lost)
	}
}

// A queue that keeps the scouts for ten minutes gets the others as well: they
// must not start to queue only when the first have run.
func TestScoutsThatQueue(t *testing.T) {
	testbed.Computes(t)
	x := newExpedition(t, true)
	x.ends = func(string) (time.Duration, time.Duration, plugins.Status) { return time.Hour, time.Minute, wellDone }
	found := []*glue.Resource{best("slow"), site("a")}
	rs := x.sweep(100, "", found...)
	x.follow(rs, found...)
	for _, r := range rs {
		if waited := r.Sent.Sub(r.Created); waited > rank.ProofWait+5*time.Minute {
			t.Fatalf("sent %s after it was submitted", waited)
		}
	}
}

// Another process that goes on with the jobs counts those already sent.
func TestScoutsOutliveTheirProcess(t *testing.T) {
	x := newExpedition(t, true)
	x.ends = func(endpoint string) (time.Duration, time.Duration, plugins.Status) {
		if strings.Contains(endpoint, "hole") {
			return 0, time.Second, plugins.Status{State: plugins.Failed}
		}
		return 0, 5 * time.Minute, wellDone
	}
	found := []*glue.Resource{best("hole"), site("a")}
	x.sweep(500, "", found...)
	x.Scouts = jobs.NewScouts(5, true)
	list, err := x.Store.Select(t.Context(), jobs.Query{})
	if err != nil {
		t.Fatal(err)
	}
	rs := jobs.Outcomes(list)
	x.follow(rs, found...)
	if lost, well := count(rs); lost > 5 || lost+well != 500 {
		t.Errorf("%d lost, %d well", lost, well)
	}
}

// A black hole that answers with exit code 0 is given away by the time its
// jobs took, once history knows how long they take.
func TestBlackHoleThatSeemsWell(t *testing.T) {
	x := newExpedition(t, true)
	x.remembering()
	x.ends = func(endpoint string) (time.Duration, time.Duration, plugins.Status) {
		if strings.Contains(endpoint, "hole") {
			return 0, time.Second, wellDone
		}
		return 0, 20 * time.Minute, wellDone
	}
	honest := []*glue.Resource{site("a"), site("b")}
	x.follow(x.sweep(10, "", honest...), honest...)
	found := append(honest, best("hole"))
	x.Scouts = jobs.NewScouts(5, true)
	rs := x.sweep(200, "", found...)
	x.follow(rs, found...)
	if _, jobs := x.requestsTo("hole"); jobs > 5 {
		t.Errorf("%d jobs sent to a black hole", jobs)
	}
}

// A black hole that answers with exit code 0 is given away by the files its
// jobs do not leave, the first time already.
func TestBlackHoleThatLeavesNoFiles(t *testing.T) {
	x := newExpedition(t, true)
	x.ends = func(endpoint string) (time.Duration, time.Duration, plugins.Status) { return 0, time.Second, wellDone }
	x.fake.left = func(h plugins.Handle) []string {
		if strings.Contains(h.Endpoint, "hole") {
			return []string{"log"}
		}
		return []string{"log", "out.dat", "plots/a.png"}
	}
	found := []*glue.Resource{best("hole"), site("a"), site("b")}
	rs := x.sweep(100, `RetryCount = 1; OutputSandbox = {"out.dat", "plots", "*.none"};`, found...)
	x.follow(rs, found...)
	_, jobs := x.requestsTo("hole")
	lost, well := count(rs)
	if jobs == 0 || jobs > 5 || lost > 0 || well != 100 {
		t.Errorf("%d jobs sent to a black hole, %d lost, %d well", jobs, lost, well)
	}
	for _, r := range rs {
		if len(r.Past) > 0 && !strings.Contains(r.Past[0].Reason, "left no out.dat, plots") {
			t.Fatalf("%+v", r.Past)
		}
	}
}
