package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/broker/brokertest"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/rank"
)

var (
	start     = brokertest.Start
	newJob    = brokertest.NewJob
	stored    = brokertest.ParseJob
	site      = brokertest.Site
	newBroker = brokertest.New
	plan      = brokertest.Plan
)

func TestNoMatchSaysWhy(t *testing.T) {
	memory := func(mb int64) func(*glue.Resource) {
		return func(r *glue.Resource) { r.MainMemory = glue.Some(mb) }
	}
	rs := []*glue.Resource{site("a", memory(15360)), site("b", memory(15360)), site("c", memory(8000)),
		site("d", func(r *glue.Resource) { r.Serving = glue.Closed })}
	job := newJob(t, "[Requirements = other.GlueHostMainMemoryRAMSize >= 16000 &&\n other.GlueCEStateStatus == \"Production\" && other.GlueCEStateFreeJobSlot > 0;]")
	p := plan(t, newBroker(), rs, job)
	e, ok := errors.AsType[*broker.NoMatchError](p.Jobs[0].Err)
	if !ok {
		t.Fatalf("error %v", p.Jobs[0].Err)
	}
	x := e.Explanation()
	if got := e.Error(); got != "job: none of 4 resources matches; most fail on requirements (3)" {
		t.Error(got)
	}
	if got := fmt.Sprint(x.Clauses[0].Text, x.Clauses[0].Line, x.Clauses[0].Col, x.Clauses[0].False, x.Clauses[0].Undefined, x.Clauses[2].Undefined, x.Clauses[2].Left); got !=
		"other.GlueHostMainMemoryRAMSize >= 160001 17 3 1 4 0" {
		t.Errorf("clauses %s", got)
	}
	if len(x.Unpublished) != 1 || x.Unpublished[0].Meant != "GlueCEStateFreeJobSlots" {
		t.Errorf("unpublished %+v", x.Unpublished)
	}
	if got := x.Nearest[0].String(); got != "without other.GlueHostMainMemoryRAMSize >= 16000 and other.GlueCEStateFreeJobSlot > 0: 3 more" {
		t.Errorf("nearest miss %q", got)
	}
	if got := x.Rejected[0].Reason.String(); got != "want other.GlueHostMainMemoryRAMSize >= 16000, have GlueHostMainMemoryRAMSize 15360" {
		t.Errorf("reason %q", got)
	}

	job = newJob(t, `[Requirements = other.GlueHostMainMemoryRAMSize >= 16000]`)
	p = plan(t, newBroker(), rs, job)
	e, _ = errors.AsType[*broker.NoMatchError](p.Jobs[0].Err)
	if got := e.Explanation().Nearest[0].String(); got !=
		"without other.GlueHostMainMemoryRAMSize >= 16000 (1:17): 3 more; with GlueHostMainMemoryRAMSize >= 15360: 2 more" {
		t.Errorf("nearest miss %q", got)
	}
}

// Every rejected resource has exactly one reason, and dropping what the
// nearest miss names lets as many more match as it says.
func TestNearestMissHoldsGood(t *testing.T) {
	var rs []*glue.Resource
	for i := range 60 {
		rs = append(rs, site(fmt.Sprintf("ce%02d", i), func(r *glue.Resource) {
			r.MainMemory = glue.Some(int64(1000 * (i % 8)))
			r.MaxWallTime = glue.Some(time.Duration(i%5) * time.Hour)
			if i%3 == 0 {
				r.Access = []string{"VO:cms"}
			}
		}))
	}
	job := newJob(t, `[Requirements = other.GlueHostMainMemoryRAMSize > 6500 && other.GlueCEPolicyMaxWallClockTime >= 180]`)
	p := plan(t, newBroker(), rs, job)
	before := len(p.Jobs[0].Choices)
	x := p.Jobs[0].Match.Explain(nil)
	if x.Matching != before || len(x.Rejected) != len(rs)-before {
		t.Fatalf("%d matching, %d rejected of %d; %d choices", x.Matching, len(x.Rejected), len(rs), before)
	}
	for _, miss := range x.Nearest {
		if len(miss.Drop) != 1 || !strings.HasPrefix(miss.Drop[0], "other.") {
			continue
		}
		var keep []string
		for _, c := range x.Clauses {
			if c.Text != miss.Drop[0] {
				keep = append(keep, c.Text)
			}
		}
		relaxed := plan(t, newBroker(), rs, newJob(t, "[Requirements = "+strings.Join(keep, " && ")+"]"))
		if got := len(relaxed.Jobs[0].Choices) - before; got != miss.More {
			t.Errorf("%s: without it %d more match", miss, got)
		}
		bound := plan(t, newBroker(), rs, newJob(t, "[Requirements = "+strings.Join(append(keep, "other."+miss.To), " && ")+"]"))
		if got := len(bound.Jobs[0].Choices) - before; got != miss.ToMore {
			t.Errorf("%s: so bounded %d more match", miss, got)
		}
	}
}

func TestPlanSpreadsEqualJobs(t *testing.T) {
	rs := make([]*glue.Resource, 10)
	for i := range rs {
		rs[i] = site(fmt.Sprintf("ce%d", i))
	}
	jobs := make([]*jdl.Job, 1000)
	for i := range jobs {
		jobs[i] = newJob(t, fmt.Sprintf(`[Executable = "/bin/echo"; Arguments = "%d"]`, i))
	}
	counts := map[string]int{}
	p := plan(t, newBroker(), rs, jobs...)
	for _, j := range p.Jobs {
		counts[j.Choices[0].Resource.ID]++
		if j.Match != p.Jobs[0].Match {
			t.Fatal("equal jobs were matched more than once")
		}
	}
	for id, n := range counts { // binomial(1000, 1/10): five σ
		if n < 52 || n > 148 {
			t.Errorf("%s got %d of 1000 jobs", id, n)
		}
	}
	again := plan(t, newBroker(), rs, jobs...)
	for i := range jobs {
		if p.Jobs[i].Choices[0].Resource != again.Jobs[i].Choices[0].Resource {
			t.Fatalf("job %d: the same seed gives another place", i)
		}
	}
}

// A Rank on free slots spreads as well: it is evaluated with the counters the
// earlier jobs of the call leave.
func TestPlanSpreadsByRank(t *testing.T) {
	rs := []*glue.Resource{site("a"), site("b", func(r *glue.Resource) { r.FreeSlots.V = 8 })}
	jobs := make([]*jdl.Job, 10)
	for i := range jobs {
		jobs[i] = newJob(t, `[Rank = other.GlueCEStateFreeJobSlots]`)
	}
	counts := map[string]int{}
	for _, j := range plan(t, newBroker(), rs, jobs...).Jobs {
		counts[j.Choices[0].Resource.ID]++
	}
	if counts["a"] != 6 || counts["b"] != 4 {
		t.Errorf("10 jobs over 10 and 8 free slots: %v, want 6 and 4", counts)
	}
}

func TestJobsThatDifferAreMatchedApart(t *testing.T) {
	rs := []*glue.Resource{site("a", func(r *glue.Resource) { r.MainMemory = glue.Some[int64](1000) })}
	p := plan(t, newBroker(), rs,
		newJob(t, `[Need = 500; Requirements = other.GlueHostMainMemoryRAMSize > Need]`),
		newJob(t, `[Need = 5000; Requirements = other.GlueHostMainMemoryRAMSize > Need]`))
	if p.Jobs[0].Err != nil || p.Jobs[1].Err == nil {
		t.Errorf("errors %v, %v: the second job needs more than there is", p.Jobs[0].Err, p.Jobs[1].Err)
	}
}

// A Rank that is no number puts a resource last and never away: where it is
// undefined for all of them the score decides.
func TestUndefinedRankComesLast(t *testing.T) {
	rs := []*glue.Resource{site("a", func(r *glue.Resource) { r.FreeSlots.OK = false }), site("b"), site("c", func(r *glue.Resource) { r.FreeSlots.OK = false })}
	p := plan(t, newBroker(), rs, newJob(t, `[Rank = other.GlueCEStateFreeJobSlots]`))
	c := p.Jobs[0].Choices
	if len(c) != 3 || c[0].Resource.ID != "b" || c[1].Unranked != "undefined" || len(p.Jobs[0].Dropped) != 0 {
		t.Errorf("choices %v, dropped %v", c, p.Jobs[0].Dropped)
	}
	for _, text := range []string{`[Rank = other.NobodyPublishes]`, `[Rank = "text"]`, `[Rank = 1/0]`, `[Rank = other.NobodyPublishes; FuzzyRank = true]`} {
		p = plan(t, newBroker(), rs, newJob(t, text))
		if c := p.Jobs[0].Choices; len(c) != 3 || c[0].Unranked == "" {
			t.Errorf("%s: choices %v", text, c)
		}
	}
}

// service is a silent, a faulty or an honest service of every kind.
type service struct {
	name string
	ask  func(ctx context.Context, rs []*glue.Resource) (map[string]rank.Forecast, error)
	bad  map[string]plugins.Trouble
	past map[string]rank.History
}

func (s service) Name() string { return s.name }
func (s service) Forecast(ctx context.Context, _ *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	return s.ask(ctx, rs)
}
func (s service) Troubles(context.Context, []*glue.Resource) (map[string]plugins.Trouble, error) {
	return s.bad, nil
}
func (s service) History(context.Context, *jdl.Job, []*glue.Resource) (map[string]rank.History, error) {
	return s.past, nil
}

func TestServicesCostNothingButTheirTerm(t *testing.T) {
	var asked []string
	honest := service{name: "honest", ask: func(_ context.Context, rs []*glue.Resource) (map[string]rank.Forecast, error) {
		out := map[string]rank.Forecast{}
		for _, r := range rs {
			asked = append(asked, r.ID)
			wait := time.Hour
			if r.ID == "b" {
				wait = 0
			}
			out[r.ID] = rank.Forecast{Source: "honest", Made: start, Median: wait, Low: wait, High: wait}
		}
		return out, nil
	}}
	silent := service{name: "silent", ask: func(context.Context, []*glue.Resource) (map[string]rank.Forecast, error) {
		select {} // for ever, whatever the context says
	}}
	faulty := service{name: "faulty", ask: func(context.Context, []*glue.Resource) (map[string]rank.Forecast, error) {
		panic("nil pointer")
	}}
	b := newBroker(func(b *broker.Broker) {
		b.AskFor = 50 * time.Millisecond
		b.Services.Forecasters = []plugins.Forecaster{silent, honest, faulty}
	})
	rs := []*glue.Resource{site("a"), site("b"), site("c", func(r *glue.Resource) { r.Serving = glue.Closed })}
	p := plan(t, b, rs, newJob(t, "[]"))
	if got := p.Jobs[0].Choices[0].Resource.ID; got != "b" {
		t.Errorf("chose %s, the forecast says b", got)
	}
	if strings.Join(asked, " ") != "a b" {
		t.Errorf("asked about %v, only a and b passed the filters", asked)
	}
	var said []string
	for _, o := range p.Services {
		said = append(said, fmt.Sprintf("%s %d %s", o.Name, o.Answers, o.Error))
	}
	if got := strings.Join(said, "; "); got != "silent 0 no answer in time; honest 2 ; faulty 0 internal error: nil pointer" {
		t.Error(got)
	}
}

func TestBansAndAlarmsRejectForNow(t *testing.T) {
	s := service{name: "nagios",
		bad:  map[string]plugins.Trouble{"a": {Critical: true, Said: "load 900"}, "c": {Said: "slow"}},
		past: map[string]rank.History{"b": {BannedUntil: start.Add(time.Minute), BanReason: "5 fast failures"}}}
	b := newBroker(func(b *broker.Broker) {
		b.Services.Monitors = []plugins.Monitor{s}
		b.Services.Historians = []plugins.Historian{s}
	})
	p := plan(t, b, []*glue.Resource{site("a"), site("b"), site("c"), site("d")}, newJob(t, "[]"))
	x := p.Jobs[0].Match.Explain(nil)
	if x.Matching != 2 || p.Jobs[0].Choices[0].Resource.ID != "d" {
		t.Errorf("%d match, first %s; want c and d, the healthy one first", x.Matching, p.Jobs[0].Choices[0].Resource.ID)
	}
	var got []string
	for _, r := range x.Rejected {
		got = append(got, r.Reason.String())
		if !r.Reason.Temporary || r.Reason.Filter != "health" {
			t.Errorf("%+v is not a temporary reason of health", r.Reason)
		}
	}
	want := "want a resource that is well, have nagios: load 900; want a resource that works, have banned until 06:01:00Z: 5 fast failures"
	if strings.Join(got, "; ") != want {
		t.Errorf("%q", got)
	}
}

// Where a queue has a view for the job's VO, that view stands for it.
func TestViewStandsForTheQueue(t *testing.T) {
	queue := func(id, vo string) *glue.Resource {
		return site(id, func(r *glue.Resource) { r.CE, r.ViewOf, r.Access = "ce", vo, []string{"VO:atlas", "VO:cms"} })
	}
	rs := []*glue.Resource{queue("plain", ""), queue("view", "ATLAS"), site("other")}
	rs[0].Views, rs[1].Access = []string{"ATLAS"}, []string{"VO:atlas"}
	for vo, want := range map[string]string{"atlas": "other view", "cms": "plain"} {
		var got []string
		for _, c := range plan(t, newBroker(func(b *broker.Broker) { b.Rules.Identity.VO = vo }), rs, newJob(t, "[]")).Jobs[0].Choices {
			got = append(got, c.Resource.ID)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", vo, got, want)
		}
	}
}

// The filter that judges many resources at once says of each what it says of
// it alone, and every rejected resource keeps its one reason.
func TestRequirementsFilterOfOneAndOfMany(t *testing.T) {
	var rs []*glue.Resource
	for i := range 50 {
		rs = append(rs, site(fmt.Sprintf("ce%02d", i), func(r *glue.Resource) {
			if r.MainMemory = glue.Some(int64(i * 100)); i%7 == 0 {
				r.MainMemory.OK = false
			}
		}))
	}
	job := newJob(t, `[Requirements = other.GlueHostMainMemoryRAMSize % 300 == 0 && other.GlueHostMainMemoryRAMSize > 500]`)
	m := plan(t, newBroker(), rs, job).Jobs[0].Match
	passed := map[*glue.Resource]bool{}
	for _, r := range m.Survivors {
		passed[r] = true
	}
	filters := broker.DefaultFilters(newBroker().Rules)
	alone := filters[len(filters)-1]
	for _, r := range rs {
		if why := alone.Reject(job, r); (why == nil) != passed[r] {
			t.Errorf("%s: alone %v, among many %v", r.ID, why, passed[r])
		}
	}
	for _, r := range m.Rejected() {
		first, again := r.Reason(job), r.Reason(job)
		if r.Filter != broker.ByRequirements || first != again || first.Clause == nil {
			t.Errorf("%s: %s %+v", r.Resource.ID, r.Filter, first)
		}
	}
}

// What a clause lacks is told, also where only an attribute of the job's own
// asks for it.
func TestWhatOwnAttributesAskFor(t *testing.T) {
	job := newJob(t, `[enough = other.GlueCEPolicyMaxCPUTime > need; need = 500 / other.GlueHostBenchmarkSI00; Requirements = enough]`)
	rs := []*glue.Resource{site("a", func(r *glue.Resource) { r.MaxCPUTime = glue.Some(time.Hour) })}
	p := plan(t, newBroker(), rs, job)
	e, ok := errors.AsType[*broker.NoMatchError](p.Jobs[0].Err)
	if !ok {
		t.Fatalf("error %v", p.Jobs[0].Err)
	}
	x := e.Explanation()
	if got := x.Rejected[0].Reason.String(); got != "want enough, have GlueCEPolicyMaxCPUTime 60, GlueHostBenchmarkSI00 not published" {
		t.Errorf("reason %q", got)
	}
	if len(x.Unpublished) != 1 || x.Unpublished[0].Name != "GlueHostBenchmarkSI00" {
		t.Errorf("unpublished %+v", x.Unpublished)
	}
}
