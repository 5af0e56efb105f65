package managers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// drawResources draws an amount of a few of everything, so that equal ones occur.
func drawResources(r *rand.Rand) Resources {
	v := Resources{CPUs: 1 + r.IntN(4), GPUs: r.IntN(2), Memory: int64(r.IntN(3)), Wall: int64(r.IntN(3))}
	var tags []string
	for _, tag := range []string{"a", "ab", "b", "c"} {
		if r.IntN(4) == 0 {
			tags = append(tags, tag)
		}
	}
	v.Tags = Tags(tags...)
	return v
}

// fits is Has, spelt out.
func fits(r, need Resources) bool {
	have := strings.Split(r.Tags, ",")
	for _, tag := range strings.Split(need.Tags, ",") {
		if tag != "" && !slices.Contains(have, tag) {
			return false
		}
	}
	return r.CPUs >= need.CPUs && r.GPUs >= need.GPUs && r.Memory >= need.Memory && (r.Wall == 0 || need.Wall <= r.Wall)
}

// TestHas: what fits, against its definition; a tag that a system does not have
// is wanted in vain, also where it has none at all.
func TestHas(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		r, need := drawResources(rng), drawResources(rng)
		if got := r.Has(&need); got != fits(r, need) {
			t.Fatalf("%v has room for %v: %v", r, need, got)
		}
	}
	for _, c := range []struct {
		have, want string
		ok         bool
	}{{"", "a", false}, {"a", "a,b", false}, {"a,b", "a,b", true}, {"a,b", "b", true}, {"b", "a", false}, {"ab", "a", false}, {"a", "", true}, {"a,c", "a,b,c", false}} {
		if r := (&Resources{CPUs: 1, Tags: c.have}); r.Has(&Resources{CPUs: 1, Tags: c.want}) != c.ok {
			t.Errorf("tags %q for %q: not %v", c.have, c.want, c.ok)
		}
	}
}

// TestCovers: what covers another amount has room for whatever that has room
// for; a need that is known to fail is passed over only where it must fail, too.
func TestCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	covered, failing := 0, 0
	for range 50_000 {
		a, b, c := drawResources(rng), drawResources(rng), drawResources(rng)
		if a.covers(&b) {
			if covered++; fits(b, c) && !fits(a, c) {
				t.Fatalf("%v covers %v and has no room for %v", a, b, c)
			}
		}
		var f failed
		f.add(&a)
		if f.covers(&b) {
			if failing++; fits(c, b) && !fits(c, a) {
				t.Fatalf("%v fits %v, though %v does not and is no more", b, c, a)
			}
		}
	}
	if covered < 500 || failing < 500 {
		t.Errorf("%d and %d cases", covered, failing)
	}
}

// TestSets: descriptions are in order, each amount once, and find what looking
// at every amount finds.
func TestSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 3000 {
		var all []Resources
		for range rng.IntN(8) {
			all = append(all, drawResources(rng))
		}
		s, need := NewSet(all...), drawResources(rng)
		if err := s.Check(); err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		for _, r := range all {
			if !slices.Contains(s, r) {
				t.Fatalf("%v is not in %v", r, s)
			}
		}
		first, last := -1, -1
		for i, r := range s {
			if fits(r, need) {
				if last = i; first < 0 {
					first = i
				}
			}
		}
		if s.smallest(&need) != first || s.largest(&need) != last {
			t.Fatalf("%v for %v: %d and %d, want %d and %d", s, need, s.smallest(&need), s.largest(&need), first, last)
		}
		wide := slices.Clone(s).widest(len(s))
		if (wide.smallest(&need) >= 0) != (first >= 0) || wide.Check() != nil {
			t.Fatalf("%v for %v: what is left of it by covering, %v, says otherwise", s, need, wide)
		}
		if few := slices.Clone(s).widest(2); len(few) > 2 || few.Check() != nil {
			t.Fatalf("two of %v: %v", s, few)
		}
		if first >= 0 {
			rest := slices.Clone(s).without(first, &need)
			want := append(slices.Delete(slices.Clone(s), first, first+1), s[first].Less(need))
			if !rest.Equal(NewSet(want...)) {
				t.Fatalf("%v without %v: %v", s, need, rest)
			}
		}
	}
}

// TestMessagesThatMakeNoSense change nothing, whatever they are about.
func TestMessagesThatMakeNoSense(t *testing.T) {
	one := Resources{CPUs: 1}
	for what, m := range map[string]Message{
		"a job without a name":      {Job: &Job{Need: one}},
		"a name beyond all bounds":  {Job: &Job{ID: ID(strings.Repeat("x", 257)), Need: one}},
		"a job that needs nothing":  {Job: &Job{ID: "j"}},
		"less than nothing":         {Job: &Job{ID: "j", Need: Resources{CPUs: 1, Memory: -1}}},
		"hops below nothing":        {Job: &Job{ID: "j", Need: one, Hops: -1}},
		"an attempt below nothing":  {Job: &Job{ID: "j", Need: one, Attempt: -1}},
		"tags out of order":         {Job: &Job{ID: "j", Need: Resources{CPUs: 1, Tags: "b,a"}}},
		"a tag twice":               {Job: &Job{ID: "j", Need: Resources{CPUs: 1, Tags: "a,a"}}},
		"rooms out of order":        {Rooms: Set{{CPUs: 2}, {CPUs: 1}}},
		"a room twice":              {Rooms: Set{one, one}},
		"rooms beyond all bounds":   {Rooms: Set{{CPUs: 1 << 31}}},
		"too many rooms":            {Rooms: make(Set, maxSet+1)},
		"systems below nothing":     {Whole: Set{{CPUs: -1}}},
		"a tree without a way up":   {Shape: &Shape{}},
		"a tree beyond all heights": {Shape: &Shape{Path: make([]string, 1001)}},
		"a tree beyond all breadth": {Shape: &Shape{Path: []string{"p"}, Children: make([]string, 100_001)}},
	} {
		m0 := NewManager(Rules{}, Resources{CPUs: 4})
		n := m0.AddLink(Parent)
		m0.Up(1, n)
		out, err := m0.Handle(2, n, m)
		if e, ok := errors.AsType[*CheckError](err); !ok || out != nil || e.Unwrap() == nil {
			t.Errorf("%s: %v", what, err)
		}
		if m0.Len() != 0 || m0.Free().CPUs != 4 || len(m0.Row(n)) != 0 || m0.Shape().Path != nil {
			t.Errorf("%s has changed something", what)
		}
	}
	m := NewManager(Rules{}, Resources{CPUs: 4})
	n := m.AddLink(Parent)
	for _, from := range []Neighbour{n, Here, 7} {
		if _, err := m.Handle(1, from, Message{Rooms: Set{one}}); !errors.Is(err, errNoLink) {
			t.Errorf("over link %d, which is not up: %v", from, err)
		}
	}
}

// TestCandidates: whom an orphan asks for a place can never be below it.
func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		self  string
		want  []string
	}{
		{Shape{Path: []string{"p", "g", "root"}, Children: []string{"a", "b"}}, "a", []string{"g", "root"}},
		{Shape{Path: []string{"root"}, Children: []string{"a", "b", "c"}}, "c", []string{"a", "b"}},
		{Shape{Path: []string{"root"}, Children: []string{"a", "b", "c"}}, "a", nil},
		{Shape{Path: []string{"root"}, Children: []string{"b"}}, "a", nil},
		{Shape{}, "a", nil},
	} {
		if got := c.shape.Candidates(c.self); !slices.Equal(got, c.want) {
			t.Errorf("%s of %+v: %q, want %q", c.self, c.shape, got, c.want)
		}
	}
}

// forest is a tree of managers whose links are queues of messages: in order, and
// lost with their link.
type forest struct {
	*testing.T
	rng      *rand.Rand
	managers []*Manager
	parents  []int // by manager; -1: none
	links    map[[2]int]*pipe
	now      int64
	state    map[ID]string // of every job: "on its way", "runs", "lost", "withdrawn"
	running  []running
	total    []Resources
}

// pipe is one direction of a link.
type pipe struct {
	to   int
	at   Neighbour // at the receiver
	text [][]byte  // messages, as they go over a wire
	up   bool
}

type running struct {
	at  int
	job Job
}

func newForest(t *testing.T, seed uint64, rules Rules) *forest {
	f := &forest{T: t, rng: rand.New(rand.NewPCG(seed, 7)), links: map[[2]int]*pipe{}, now: 1000, state: map[ID]string{}}
	for i := range 2 + f.rng.IntN(6) {
		if i > 0 && f.rng.IntN(4) > 0 {
			total := Resources{CPUs: 1 + f.rng.IntN(8), Memory: 4, GPUs: f.rng.IntN(2)}
			f.managers, f.total = append(f.managers, NewManager(rules, total)), append(f.total, total)
		} else {
			f.managers, f.total = append(f.managers, NewDomain(rules)), append(f.total, Resources{})
		}
		f.managers[i].SetName(fmt.Sprint("m", i))
		f.parents = append(f.parents, i-1-f.rng.IntN(max(1, i)))
		if p := f.parents[i]; p >= 0 {
			up, down := f.managers[i].AddLink(Parent), f.managers[p].AddLink(Child)
			f.managers[i].SetNeighbour(up, fmt.Sprint("m", p))
			f.managers[p].SetNeighbour(down, fmt.Sprint("m", i))
			f.links[[2]int{i, p}], f.links[[2]int{p, i}] = &pipe{to: p, at: down}, &pipe{to: i, at: up}
		}
	}
	return f
}

// end is the link of a manager to a neighbour.
func (f *forest) end(from int, n Neighbour) *pipe {
	for ends, p := range f.links {
		if ends[0] == from && f.links[[2]int{ends[1], ends[0]}].at == n {
			return p
		}
	}
	f.Fatalf("m%d has no link %d", from, n)
	return nil
}

// take does what a manager says.
func (f *forest) take(from int, out *Out) {
	for _, s := range out.Sends {
		p := f.end(from, s.To)
		if !p.up {
			f.Fatalf("m%d sends over a link that is down", from)
		}
		if err := s.Message.Check(); err != nil {
			f.Fatalf("m%d sends what makes no sense: %v", from, err)
		}
		text, err := json.Marshal(s.Message)
		if err != nil {
			f.Fatal(err)
		}
		p.text = append(p.text, text)
	}
	for _, a := range out.Starts {
		if f.state[a.Job.ID] != "on its way" {
			f.Fatalf("job %s starts at m%d and is %q", a.Job.ID, from, f.state[a.Job.ID])
		}
		f.state[a.Job.ID] = "runs"
		f.running = append(f.running, running{from, a.Job})
	}
	if free := f.managers[from].Free(); free.CPUs < 0 || free.GPUs < 0 || free.Memory < 0 || free.CPUs > f.total[from].CPUs {
		f.Fatalf("m%d has %v free of %v", from, free, f.total[from])
	}
}

// deliver hands the next message of a link over.
func (f *forest) deliver(p *pipe) {
	var m Message
	if err := json.Unmarshal(p.text[0], &m); err != nil {
		f.Fatal(err)
	}
	p.text = p.text[1:]
	out, err := f.managers[p.to].Handle(f.now, p.at, m)
	if err != nil {
		f.Fatal(err)
	}
	f.take(p.to, out)
}

// settle delivers everything, and lets what waits for a time go.
func (f *forest) settle() {
	for round := 0; ; round++ {
		if round > 20_000 {
			f.Fatal("messages without an end")
		}
		busy := false
		for _, p := range f.ordered() {
			if len(p.text) > 0 {
				f.deliver(p)
				busy = true
			}
		}
		if !busy {
			return
		}
	}
}

func (f *forest) ordered() (list []*pipe) {
	for i, p := range f.parents {
		if p >= 0 {
			list = append(list, f.links[[2]int{i, p}], f.links[[2]int{p, i}])
		}
	}
	return list
}

// connect makes the link of a manager to its parent, or cuts it; requests on
// it are lost.
func (f *forest) connect(i int, up bool) {
	p := f.parents[i]
	if p < 0 || f.links[[2]int{i, p}].up == up {
		return
	}
	for _, ends := range [][2]int{{i, p}, {p, i}} {
		l := f.links[ends]
		for _, text := range l.text {
			var m Message
			if json.Unmarshal(text, &m); m.Job != nil {
				f.state[m.Job.ID] = "lost"
			}
		}
		l.text, l.up = nil, up
	}
	for _, ends := range [][2]int{{i, p}, {p, i}} {
		l := f.links[ends]
		if up {
			f.take(l.to, f.managers[l.to].Up(f.now, l.at))
		} else {
			f.take(l.to, f.managers[l.to].Down(f.now, l.at))
		}
	}
}

// step does one thing that may happen.
func (f *forest) step(n int) {
	f.now += f.rng.Int64N(20)
	i := f.rng.IntN(len(f.managers))
	switch k := f.rng.IntN(12); {
	case k < 4:
		j := Job{ID: ID(fmt.Sprint("j", n)), Need: Resources{CPUs: 1 + f.rng.IntN(6), Memory: f.rng.Int64N(3), GPUs: f.rng.IntN(8) / 7}, Priority: f.rng.IntN(3), Submitted: f.now}
		f.state[j.ID] = "on its way"
		f.take(i, f.managers[i].Submit(f.now, j))
	case k < 6 && len(f.running) > 0:
		at := f.rng.IntN(len(f.running))
		r := f.running[at]
		f.running = slices.Delete(f.running, at, at+1)
		f.take(r.at, f.managers[r.at].Ended(f.now, r.job.Need))
	case k == 6 && f.rng.IntN(4) == 0:
		f.connect(i, false)
	case k == 7:
		f.connect(i, true)
	case k == 8:
		if list := f.managers[i].Waiting(); len(list) > 0 {
			job := list[f.rng.IntN(len(list))]
			if id := job.ID; f.managers[i].Withdraw(job.Key()) != 1 || f.managers[i].Withdraw(job.Key()) != 0 {
				f.Fatalf("job %s cannot be withdrawn, or twice", id)
			} else {
				f.state[id] = "withdrawn"
			}
		}
	default:
		if due := f.managers[i].Wake(); due > 0 && due <= f.now {
			f.take(i, f.managers[i].Tick(f.now))
		}
		for _, p := range f.ordered() {
			if len(p.text) > 0 && f.rng.IntN(2) == 0 {
				f.deliver(p)
			}
		}
	}
}

// places counts where the jobs that are on their way wait.
func (f *forest) places() map[ID]int {
	n := map[ID]int{}
	for _, m := range f.managers {
		for _, j := range m.Waiting() {
			n[j.ID]++
		}
	}
	return n
}

// TestNoJobIsLostInTheTree: whatever the rules, whatever comes and goes, every
// job runs once, or waits at one manager, or was on a link that broke; nothing
// is free that is not, and when all is said, neighbours know what there is.
func TestNoJobIsLostInTheTree(t *testing.T) {
	testbed.Computes(t)
	kinds := []Rules{{}, Serving(), {Mark: MarkAck, StayAtBound: true}, {Strict: true}, {Worst: true, NoReturn: true}, {Mark: MarkNone, MaxHops: 8}, {Mark: MarkTake, RequestsFirst: true},
		{MaxAge: 50, Interval: 10}, {Keep: 2, Refresh: 100}, {Alongside: true, Interval: 5, Paced: true, Calm: true, Coarse: true}, {Pool: true, MaxHops: 10, Alongside: true}, {Pool: true}, {Pool: true, Silent: true, Alongside: true}, {Pool: true, Silent: true, MaxHops: 3, MaxAge: 30}, {ForwardAll: true, MaxHops: 20}}
	ran := 0
	for seed := range uint64(220) {
		rules := kinds[int(seed)%len(kinds)]
		f := newForest(t, seed, rules)
		for i := range f.managers {
			f.connect(i, true)
		}
		for n := range 120 {
			f.step(n)
		}
		for i := range f.managers {
			f.connect(i, true)
		}
		f.settle()
		for id, n := range f.places() {
			if n != 1 || f.state[id] != "on its way" {
				t.Fatalf("seed %d: job %s waits at %d places and is %q", seed, id, n, f.state[id])
			}
		}
		for id, state := range f.state {
			if state == "on its way" && f.places()[id] != 1 {
				t.Fatalf("seed %d, %+v: job %s is nowhere", seed, rules, id)
			}
			if state == "runs" {
				ran++
			}
		}
		f.balanced(seed)
		f.told(seed, rules)
	}
	if ran < 3000 {
		t.Errorf("only %d jobs ran", ran)
	}
}

// balanced compares what managers believe free with what runs there.
func (f *forest) balanced(seed uint64) {
	used := make([]Resources, len(f.managers))
	for _, r := range f.running {
		used[r.at] = used[r.at].Plus(r.job.Need)
	}
	for i, m := range f.managers {
		if got, want := m.Free(), f.total[i].Less(used[i]); got != want {
			f.Fatalf("seed %d: m%d has %v free, want %v", seed, i, got, want)
		}
	}
}

// told compares what neighbours know with what there is, where nothing is held
// back on purpose.
func (f *forest) told(seed uint64, rules Rules) {
	if rules.Interval > 0 || rules.Silent || rules.Pool || rules.Mark == MarkNone || rules.Mark == MarkTake {
		return
	}
	for ends, p := range f.links {
		back := f.links[[2]int{ends[1], ends[0]}]
		if got, want := f.managers[p.to].Row(p.at), f.managers[ends[0]].Describe(back.at); !got.Equal(want) {
			f.Fatalf("seed %d, %+v: m%d knows %v of m%d, which has %v", seed, rules, p.to, got, ends[0], want)
		}
	}
}

// TestDescriptionsAgainstAll: what a neighbour is told is what the own system
// has and what came from all others, each amount once.
func TestDescriptionsAgainstAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for range 2000 {
		own := drawResources(rng)
		m := NewManager(Rules{}, own)
		rows := make([]Set, 1+rng.IntN(4))
		for i := range rows {
			m.AddLink(Child)
			m.Up(1, Neighbour(i))
			for range rng.IntN(5) {
				rows[i] = rows[i].with(new(drawResources(rng)))
			}
			if _, err := m.Handle(2, Neighbour(i), Message{Rooms: rows[i]}); err != nil {
				t.Fatal(err)
			}
		}
		for n := range rows {
			want := NewSet(own)
			for i, row := range rows {
				for k := range row {
					if i != n {
						want = want.with(&row[k])
					}
				}
			}
			if got := m.Describe(Neighbour(n)); !got.Equal(want) {
				t.Fatalf("own %v, rows %v: %d is told %v, want %v", own, rows, n, got, want)
			}
			if got := m.Told(Neighbour(n)); !got.Equal(want) {
				t.Fatalf("own %v, rows %v: %d was told %v, want %v", own, rows, n, got, want)
			}
		}
	}
}

// TestAgedJob: a system is kept for a job that has waited too long, others do
// not pass it, and when it is withdrawn they go on.
func TestAgedJob(t *testing.T) {
	m := NewManager(Rules{MaxAge: 100}, Resources{CPUs: 4})
	start := func(out *Out) (ids []ID) {
		for _, a := range out.Starts {
			ids = append(ids, a.Job.ID)
		}
		return ids
	}
	job := func(id ID, cpus int, at int64) Job { return Job{ID: id, Need: Resources{CPUs: cpus}, Submitted: at} }
	if got := start(m.Submit(0, job("small", 2, 0))); !reflect.DeepEqual(got, []ID{"small"}) {
		t.Fatal(got)
	}
	m.Submit(10, job("wide", 4, 10))
	if m.Wake() != 110 {
		t.Errorf("it wakes at %d", m.Wake())
	}
	if got := start(m.Submit(50, job("passes", 1, 50))); len(got) != 1 {
		t.Errorf("before it is old, others pass: %v", got)
	}
	m.Tick(110)
	if got := start(m.Submit(120, job("held", 1, 120))); len(got) != 0 {
		t.Errorf("past its age %v started", got)
	}
	if n := len(m.Describe(Here)); n != 0 {
		t.Errorf("what is drained is told: %d amounts", n)
	}
	m.Ended(130, Resources{CPUs: 1})
	if got := start(m.Ended(140, Resources{CPUs: 2})); !reflect.DeepEqual(got, []ID{"wide"}) {
		t.Errorf("empty: %v", got)
	}
	if got := start(m.Ended(150, Resources{CPUs: 4})); !reflect.DeepEqual(got, []ID{"held"}) {
		t.Errorf("behind it: %v", got)
	}
	m.Submit(200, job("again", 4, 0)) // old already
	if got := start(m.Submit(201, job("later", 1, 201))); len(got) != 0 {
		t.Errorf("%v passed", got)
	}
	namesake := job("again", 1, 201) // another broker's, for whom the system is not kept
	namesake.Broker = "https://rogue.example"
	if got := start(m.Submit(201, namesake)); len(got) != 0 || m.Withdraw(namesake.Key()) != 1 {
		t.Errorf("%v passed by the name of the job that the system is kept for", got)
	}
	if m.Withdraw(Key{ID: "again"}, Key{ID: "nobody"}) != 1 || m.Len() != 1 {
		t.Error("it cannot be withdrawn")
	}
	if got := start(m.Tick(202)); !reflect.DeepEqual(got, []ID{"later"}) {
		t.Errorf("after that: %v", got)
	}
}

// TestCoarse: of what is free a neighbour is told amounts that are there, so that
// some told one has room where any has, in a class of its own each, and every amount
// up to sixteen processors; systems of 1,024 processors need no more than 64.
func TestCoarse(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	tell := func(amounts []Resources) Set {
		d := NewDomain(Rules{Coarse: true})
		from, to := d.AddLink(Child), d.AddLink(Child)
		d.Up(0, from)
		d.Up(0, to)
		if _, err := d.Handle(0, from, Message{Rooms: NewSet(amounts...)}); err != nil {
			t.Fatal(err)
		}
		return d.Told(to)
	}
	dropped := 0
	for range 500 {
		var amounts []Resources
		for range 1 + rng.IntN(40) {
			r := drawResources(rng)
			r.CPUs = 1 + rng.IntN(200)
			amounts = append(amounts, r)
		}
		told := tell(amounts)
		dropped += len(amounts) - len(told)
		for i := range told {
			if !slices.Contains(amounts, told[i]) {
				t.Fatalf("told %v, which is nowhere free", told[i])
			}
		}
		for i := range amounts {
			a := &amounts[i]
			k := slices.IndexFunc(told, func(r Resources) bool { return r.covers(a) && class(r.CPUs) == class(a.CPUs) })
			if k < 0 || a.CPUs < exact && told[k].CPUs != a.CPUs {
				t.Fatalf("%v is not told, nor anything like it: %v of %v", *a, told, amounts)
			}
		}
	}
	if dropped < 500 {
		t.Errorf("only %d amounts were left out", dropped)
	}
	var all []Resources
	for cpus := 1; cpus <= 1024; cpus++ {
		all = append(all, Resources{CPUs: cpus})
	}
	if told := tell(all); len(told) > 65 || told[len(told)-1].CPUs != 1024 {
		t.Errorf("%d amounts told, the largest %v", len(told), told[len(told)-1])
	}
}

// TestChangeAlongside: a request carries the change that is due on its link, held
// back or not, and the neighbour learns both; a change follows later only if there is more to tell.
func TestChangeAlongside(t *testing.T) {
	rules := Rules{Mark: MarkAck, Alongside: true, Interval: 1000}
	d := NewDomain(rules)
	a, b := d.AddLink(Child), d.AddLink(Child)
	d.Up(0, a)
	d.Up(0, b)
	tell := func(now int64, n Neighbour, cpus int) *Out {
		out, err := d.Handle(now, n, Message{Rooms: NewSet(Resources{CPUs: cpus})})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	tell(1, a, 4)
	if out := tell(2, b, 2); len(out.Sends) != 0 {
		t.Fatalf("told before the interval is over: %+v", out.Sends)
	}
	out := d.Submit(3, Job{ID: "1", Need: Resources{CPUs: 3}})
	if len(out.Sends) != 1 || out.Sends[0].To != a || out.Sends[0].Message.Job == nil {
		t.Fatalf("%+v, want one request to the first child", out.Sends)
	}
	request := out.Sends[0].Message
	if !request.With || !request.Rooms.Equal(NewSet(Resources{CPUs: 2})) {
		t.Errorf("the request says %+v, want that the other child has 2 free", request)
	}
	m := NewManager(rules, Resources{CPUs: 4})
	up := m.AddLink(Parent)
	m.Up(0, up)
	got, err := m.Handle(4, up, request)
	if err != nil || len(got.Starts) != 1 || !m.Row(up).Equal(NewSet(Resources{CPUs: 2})) {
		t.Errorf("%+v, %v, row %v: want the job started and the change learned", got, err, m.Row(up))
	}
	if d.Tick(5); d.Wake() >= 1003 || !d.Told(a).Equal(NewSet(Resources{CPUs: 2})) {
		t.Errorf("told %v, wakes at %d", d.Told(a), d.Wake())
	}
}

// TestCalm: a change that tells of more room goes out an interval after the last one, one that tells of no more room
// after four, if there still is nothing better to tell then; what is owed goes out at once.
func TestCalm(t *testing.T) {
	m := NewManager(Rules{Mark: MarkAck, Calm: true, Interval: 100}, Resources{CPUs: 16})
	up := m.AddLink(Parent)
	m.Up(0, up)
	m.Submit(1000, Job{ID: "a", Need: Resources{CPUs: 6}}) // told at once: 10 free
	m.Submit(1001, Job{ID: "b", Need: Resources{CPUs: 4}})
	if got := m.Wake(); got != 1400 {
		t.Errorf("that there is less room goes out at %d, want 1400", got)
	}
	m.Ended(1002, Resources{CPUs: 1})
	if got := m.Wake(); got != 1400 {
		t.Errorf("that there is a little less room goes out at %d, want 1400", got)
	}
	m.Ended(1003, Resources{CPUs: 6}) // 13
	if got := m.Wake(); got != 1100 {
		t.Errorf("that there is more room goes out at %d, want 1100", got)
	}
	m.Submit(1004, Job{ID: "c", Need: Resources{CPUs: 9}})
	if out := m.Tick(1100); len(out.Sends) != 0 || m.Wake() != 1400 {
		t.Errorf("sent %v, and wakes at %d: there is less room again, want nothing until 1400", out.Sends, m.Wake())
	}
	if out := m.Tick(1400); len(out.Sends) != 1 || !m.Told(up).Equal(NewSet(Resources{CPUs: 4})) {
		t.Errorf("sent %v, told %v", out.Sends, m.Told(up))
	}
	out, err := m.Handle(1401, up, Message{Job: &Job{ID: "d", Need: Resources{CPUs: 2}}})
	if err != nil || len(out.Sends) != 1 {
		t.Errorf("%v, %v: want the answer at once", out.Sends, err)
	}
}

// TestPaced: who is behind with its messages says so with its changes, is told
// changes less often, and as often as before when it has caught up.
func TestPaced(t *testing.T) {
	rules := Rules{Mark: MarkAck, Paced: true, Interval: 100}
	busy, child := NewDomain(rules), NewManager(rules, Resources{CPUs: 16})
	other := busy.AddLink(Child)
	down, up := busy.AddLink(Child), child.AddLink(Parent)
	busy.Up(0, other)
	busy.Up(0, down)
	child.Up(0, up)
	pass := func(now int64, behind, cpus int) {
		for range 300 {
			Behind(busy, behind)
		}
		out, err := busy.Handle(now, other, Message{Rooms: NewSet(Resources{CPUs: cpus})})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range out.Sends {
			if s.To == down {
				if _, err := child.Handle(now, up, s.Message); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	next := func(now int64) int64 { // when the child tells that it has less
		if out := child.Submit(now, Job{ID: ID(fmt.Sprint(now)), Need: Resources{CPUs: 1}}); len(out.Sends) != 0 {
			return now
		}
		return child.Wake()
	}
	for i, c := range []struct{ behind, factor int }{{0, 1}, {1, 2}, {3, 4}, {1000, 8}, {0, 1}} {
		now := int64(10_000 * (i + 1))
		pass(now, c.behind, i+1)
		child.Tick(now)
		at := next(now)
		if at != now {
			t.Fatalf("behind by %d: the first change after a long time comes at %d, want at once, %d", c.behind, at, now)
		}
		if got := next(now+1) - now; got != int64(100*c.factor) {
			t.Errorf("behind by %d: the next change after %d, want %d", c.behind, got, 100*c.factor)
		}
		child.Tick(now + 1000)
	}
	for _, pace := range []int{-1, maxPace + 1} {
		if err := (&Message{Pace: pace}).Check(); err == nil {
			t.Errorf("a pace of %d is taken", pace)
		}
	}
	bad := Set{{CPUs: 2}, {CPUs: 1}}
	if err := (&Message{Job: &Job{ID: "1", Need: Resources{CPUs: 1}}, With: true, Rooms: bad}).Check(); err == nil {
		t.Error("a request is taken whose change makes no sense")
	}
}

// TestOrderOfQueue: by priority, then submission, then name; the shorter first.
func TestOrderOfQueue(t *testing.T) {
	m := NewManager(Rules{}, Resources{CPUs: 1})
	for _, j := range []Job{{ID: "j10", Submitted: 5}, {ID: "j9", Submitted: 5}, {ID: "late", Submitted: 9}, {ID: "urgent", Priority: 2, Submitted: 99}, {ID: "j1", Submitted: 5}} {
		j.Need = Resources{CPUs: 2}
		m.Submit(100, j)
	}
	var got []string
	for _, j := range m.Waiting() {
		got = append(got, string(j.ID))
	}
	if text := strings.Join(got, " "); text != "urgent j1 j9 j10 late" {
		t.Error(text)
	}
	if m.Possible(Resources{CPUs: 2}) || !m.Possible(Resources{CPUs: 1}) {
		t.Error("what is possible")
	}
	if out := m.Resize(101, Resources{CPUs: 2}, Resources{CPUs: 2}); len(out.Starts) != 1 || out.Starts[0].Job.ID != "urgent" {
		t.Errorf("a larger system: %+v", out.Starts)
	}
}
