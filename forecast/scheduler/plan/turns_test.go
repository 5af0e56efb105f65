package plan

import (
	"math/rand/v2"
	"testing"
)

// queueing is two clusters: slots are at the first alone, guests may queue at the second.
func queueing(room int32, turns ...Turn) *Rules {
	return &Rules{
		Clusters: []Cluster{
			{TMin: 60, TMax: 120, Good: 3600},
			{TMin: 60, TMax: 120, Good: 3600, Turns: turns, Room: room, Load: Load{CPUs: 10}, Classes: []uint64{1}},
		},
		Wishes:  []Wish{{Clusters: []uint64{3}, Classes: []uint64{1}}},
		Users:   []User{{Left: 1000}},
		Horizon: 4 * 3600, Free: true,
	}
}

func slotAt(from int32) Slot { return Slot{From: from, To: Never, CPUs: 1, Start: 98, Hold: 90} }

func TestQueueIsTakenWhereNoSlotIsAsGood(t *testing.T) {
	job := Job{Priority: 1, Wall: 3600, Procs: 1}
	for name, c := range map[string]struct {
		slots  []Slot
		room   int32
		turns  []Turn
		job    func(*Job, *Rules)
		booked bool
		queued bool
	}{
		"no slot":                                 {room: 1, turns: []Turn{{1, 7200, 900}}, booked: true, queued: true},
		"a slot now, and the same turn":           {slots: []Slot{slotAt(60)}, room: 1, turns: []Turn{{1, 7200, 60}}, booked: true},
		"a slot that comes later than the turn":   {slots: []Slot{slotAt(3000)}, room: 1, turns: []Turn{{1, 7200, 2900}}, booked: true, queued: true},
		"a slot that comes much before the turn":  {slots: []Slot{slotAt(600)}, room: 1, turns: []Turn{{1, 7200, 9000}}},
		"guests have slots alone":                 {slots: []Slot{slotAt(600)}, turns: []Turn{{1, 7200, 900}}},
		"nothing is told of so long a job":        {room: 1, turns: []Turn{{1, 1800, 900}}},
		"nothing is told of so wide a job":        {room: 1, turns: []Turn{{1, 7200, 900}}, job: func(j *Job, _ *Rules) { j.Procs = 2 }},
		"a wide job":                              {room: 1, turns: []Turn{{1, 7200, 900}, {4, 7200, 1900}}, job: func(j *Job, _ *Rules) { j.Procs = 3 }, booked: true, queued: true},
		"it is not told how its nodes are spread": {room: 1, turns: []Turn{{4, 7200, 900}}, job: func(j *Job, _ *Rules) { j.Procs, j.Nodes = 2, 2 }},
		"it has no rights":                        {room: 1, turns: []Turn{{1, 7200, 900}}, job: func(_ *Job, r *Rules) { r.Wishes[0].Clusters[0] = 1 }},
		"some nodes would not do":                 {room: 1, turns: []Turn{{1, 7200, 900}}, job: func(_ *Job, r *Rules) { r.Clusters[1].Classes[0] = 3 }},
		"guests may not run so long":              {room: 1, turns: []Turn{{1, 7200, 900}}, job: func(_ *Job, r *Rules) { r.Clusters[1].MaxGuest = 1800 }},
		"no node has the memory":                  {room: 1, turns: []Turn{{1, 7200, 900}}, job: func(j *Job, r *Rules) { r.Clusters[1].Memory, j.Memory = 1000, 2000 }},
		"the schedule is old":                     {room: 1, turns: []Turn{{1, 7200, 900}}, job: func(_ *Job, r *Rules) { r.Clusters[1].Good = 100 }},
		"the cluster is drained":                  {room: 1, turns: []Turn{{1, 7200, 900}}, job: func(_ *Job, r *Rules) { r.Clusters[1].Drained = true }},
		"the owner wants no guests now":           {room: 1, turns: []Turn{{1, 7200, 900}}, job: func(_ *Job, r *Rules) { r.Clusters[1].Local = mustFormula(t, "0 * priority") }},
		"the budget does not suffice":             {room: 1, turns: []Turn{{1, 7200, 900}}, job: func(_ *Job, r *Rules) { r.Free, r.Users[0].Left = false, 0.5 }},
	} {
		r, j := queueing(c.room, c.turns...), job
		if c.job != nil {
			c.job(&j, r)
		}
		list := Lookahead{}.Plan([]Job{j}, c.slots, r)
		booked := len(list) == 1 && !list[0].Tentative
		if booked != c.booked || booked && list[0].Queued != c.queued {
			t.Errorf("%s: %+v", name, list)
		}
		if booked && c.queued && (list[0].Cluster != 1 || len(list[0].Parts) > 0) {
			t.Errorf("%s: %+v is not in the queue of the second", name, list[0])
		}
	}
}

func mustFormula(t *testing.T, text string) *Formula {
	t.Helper()
	f, err := CompileFormula(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// No more are put into a queue than there is room for, and each waits for the work of
// those before it.
func TestQueueTakesNoMoreThanItsRoom(t *testing.T) {
	r := queueing(3, Turn{1, 7200, 900})
	var jobs []Job
	for i := range 10 {
		jobs = append(jobs, Job{Seq: int64(i), Priority: 1, Wall: 3600, Procs: 1})
	}
	list := Lookahead{}.Plan(jobs, nil, r)
	if len(list) != 3 {
		t.Fatalf("%d in a queue for 3", len(list))
	}
	for i, b := range list {
		if want := int32(900 + i*360); int(b.Job) != i || b.From != want || b.Done != want+3600 { // an hour on 10 processors
			t.Errorf("%d: %+v, want to begin at %d", i, b, want)
		}
	}
	r.Clusters[1].Behind = 1000
	if list := (Lookahead{}).Plan(jobs[:1], nil, r); list[0].From != 1900 {
		t.Errorf("behind 1000 s of work: %+v", list)
	}
}

func TestQueuedJobMovesOnlyToGain(t *testing.T) {
	for name, c := range map[string]struct {
		due   int32
		slots []Slot
		moves bool
	}{
		"a gap, long before its turn":   {7200, []Slot{slotAt(60)}, true},
		"a gap, but its turn comes":     {300, []Slot{slotAt(60)}, false},
		"only a slot of a later cycle":  {7200, []Slot{slotAt(1000)}, false},
		"its own queue for newcomers":   {7200, nil, false},
		"a gap that is hardly sure":     {900, []Slot{{From: 60, To: Never, CPUs: 1, Start: 30, Hold: 30}}, false},
		"a gap that ends before it can": {7200, []Slot{{From: 60, To: 1800, CPUs: 1, Start: 98, Hold: 90}}, false},
	} {
		r := queueing(5, Turn{1, 7200, 120})
		r.Free = false
		r.Users[0].Left = 0 // it has paid
		list := Lookahead{}.Plan([]Job{{Priority: 1, Wall: 3600, Procs: 1, Queued: true, At: 1, Due: c.due}}, c.slots, r)
		if moves := len(list) == 1 && !list[0].Tentative; moves != c.moves {
			t.Errorf("%s: %+v", name, list)
		}
	}
	r := queueing(5, Turn{1, 7200, 120})
	waits, queued := Job{Seq: 2, Priority: 1, Wall: 3600, Procs: 1}, Job{Seq: 1, Priority: 9, Wall: 3600, Procs: 1, Queued: true, At: 1, Due: 7200}
	r.Clusters[1].Room = 0
	list := Lookahead{}.Plan([]Job{queued, waits}, []Slot{slotAt(60)}, r)
	if len(list) != 1 || list[0].Job != 1 {
		t.Errorf("one that has a place goes before one that has none: %+v", list)
	}
	if passed := Bypasses([]Job{queued, waits}, list); passed[0] != 0 {
		t.Error("one that has a place is not passed by")
	}
}

func TestTurnThatIsOverdue(t *testing.T) {
	c := &Cluster{Turns: []Turn{{1, 7200, 5000}}}
	j := &Job{Wall: 3600, Procs: 1}
	for _, v := range []struct{ from, made, want int32 }{
		{600, -100, 600}, {9000, -100, 5000}, {-60, -1000, 0}, {-599, -600, 0}, {-601, -700, 5000}, {-800, -1700, 0}, {-1000, -1700, 5000},
	} {
		if got := c.Due(j, v.from, v.made); got != v.want {
			t.Errorf("foretold for %d at %d: expected at %d, want %d", v.from, v.made, got, v.want)
		}
	}
	if got := (&Cluster{}).Due(j, -5000, -6000); got != 0 {
		t.Errorf("nothing is told of newcomers: %d", got)
	}
}

// One place in the queue comes free in each cycle, and dearer jobs come faster than
// that. A cheap one has its turn when the bound is reached.
func TestNobodyStarvesBeforeAQueue(t *testing.T) {
	const bound = 20
	r := rand.New(rand.NewPCG(1, 2))
	poor := Job{Priority: 0.1, Wall: 7200, Procs: 2}
	jobs := []Job{poor}
	seq := int64(0)
	for range 200 {
		for range 2 {
			seq++
			jobs = append(jobs, Job{Seq: seq, Priority: 1 + r.Float32(), Wall: 600, Procs: 1})
		}
		rules := queueing(1, Turn{1, 7200, 900}, Turn{4, 7200, 2000})
		rules.MaxBypass = bound
		list := Lookahead{}.Plan(jobs, nil, rules)
		if len(list) != 1 {
			t.Fatalf("%d booked for one place", len(list))
		}
		if list[0].Job == 0 {
			if jobs[0].Bypassed != bound {
				t.Errorf("%d went before it, the bound is %d", jobs[0].Bypassed, bound)
			}
			return
		}
		for i, n := range Bypasses(jobs, list) {
			jobs[i].Bypassed += n
		}
		jobs = append(jobs[:list[0].Job], jobs[list[0].Job+1:]...)
	}
	t.Errorf("it starves: %d went before it", jobs[0].Bypassed)
}

// The published matching knows no queues.
func TestPairwiseKnowsNoQueues(t *testing.T) {
	r := queueing(5, Turn{1, 7200, 60})
	if list := (Pairwise{}).Plan([]Job{{Priority: 1, Wall: 3600, Procs: 1}}, nil, r); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}
