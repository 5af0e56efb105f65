package desk

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// tree is what a desk of these tests hands jobs to.
type tree struct {
	*Desk
	dir  string
	run  context.CancelFunc
	over chan error

	mu    sync.Mutex
	in    []managers.Job
	ended []string
}

// open opens the desk, again where it was open; patience is a minute.
func (f *tree) open(t *testing.T) {
	t.Helper()
	if f.run != nil {
		f.stop(t)
	}
	var err error
	f.Desk, err = Open(Config{Manager: "https://m", Dir: f.dir, Patience: time.Minute, Priority: 5,
		HandIn: func(jobs []managers.Job) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.in = append(f.in, jobs...)
			return nil
		},
		Ended: func(manager string, id managers.ID) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.ended = append(f.ended, manager+" "+string(id))
		}})
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, f.run = context.WithCancel(t.Context())
	f.over = make(chan error, 1)
	go func() { f.over <- f.Run(ctx) }()
}

func (f *tree) stop(t *testing.T) {
	t.Helper()
	f.run()
	if err := <-f.over; err != nil {
		t.Error(err)
	}
}

// one is a desk with a job of alice's.
func one(t *testing.T, need managers.Resources) (*tree, managers.ID) {
	t.Helper()
	f := &tree{dir: t.TempDir()}
	f.open(t)
	if told, err := f.submit("alice", []managers.UserJob{{Key: "a", Need: need, Priority: 9}, {Key: "a", Need: need}}); err != nil || told[0].Error != "" {
		t.Fatal(told, err)
	}
	return f, treeID("alice", "a")
}

func (f *tree) state(t *testing.T) managers.UserState {
	t.Helper()
	told := f.states("alice", []string{"a"})
	if len(told) != 1 {
		t.Fatalf("told %v", told)
	}
	return told[0].State
}

func (f *tree) claims(t *testing.T) string {
	t.Helper()
	told, err := f.claim("alice", []string{"a"})
	if err != nil || len(told) != 1 {
		t.Fatal(told, err)
	}
	return strings.TrimSpace(string(told[0].State) + " " + told[0].System)
}

// heard are the jobs that were handed in, and the places given back.
func (f *tree) heard() (in []managers.Job, ended []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.in), slices.Clone(f.ended)
}

// A job is in the tree while its user asks for it; the first offer is granted, and the same again. A place that nobody claims within the
// patience is given back, and the job handed in again, as another attempt and with its age; one whose user is away is offered to nobody.
func TestOffersAtTheDesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, id := one(t, managers.Resources{CPUs: 2})
		synctest.Wait()
		first := daemon.Offer{Job: id, Manager: "https://one", System: "one"}
		if in, _ := f.heard(); len(in) != 1 || in[0].ID != id || in[0].Broker != "https://m" || in[0].Need.CPUs != 2 || in[0].Priority != 5 {
			t.Fatalf("handed in: %+v", in)
		}
		if a, b, c := f.Answer(first), f.Answer(daemon.Offer{Job: id, Manager: "https://two"}), f.Answer(first); !a.Granted || b.Granted || !c.Granted {
			t.Errorf("granted %v, another %v, again %v", a, b, c)
		}
		time.Sleep(30 * time.Second) // nobody claims
		f.Desk.mu.Lock()
		f.Desk.jobs[id].asked = time.Now() // he looks, and claims nothing
		f.Desk.mu.Unlock()
		time.Sleep(40 * time.Second)
		in, ended := f.heard()
		if len(ended) != 1 || ended[0] != "https://one "+string(id) || len(in) != 2 || in[1].Attempt <= in[0].Attempt || in[1].Submitted != in[0].Submitted {
			t.Errorf("given back %v, handed in %+v", ended, in)
		}
		if o := f.Orders(daemon.Report{Manager: "https://one", Waiting: []managers.ID{id, "other"}, Running: []managers.ID{id}}); fmt.Sprint(o.Drop) != "[other]" || len(o.Ended) != 1 {
			t.Errorf("orders %+v", o)
		}
		time.Sleep(time.Minute)
		o := f.Orders(daemon.Report{Manager: "https://one", Waiting: []managers.ID{id}})
		if f.state(t) != managers.UserAway || f.Answer(first).Granted || f.Answer(first).Ended || len(o.Drop) != 1 {
			t.Errorf("of a user who is away: %s, %+v", f.state(t), o)
		}
		before, _ := f.heard()
		time.Sleep(time.Hour)
		if in, _ := f.heard(); len(in) != len(before) {
			t.Errorf("handed in %d times meanwhile", len(in)-len(before))
		}
		f.claims(t)
		synctest.Wait()
		if in, _ := f.heard(); len(in) != len(before)+1 || f.state(t) != managers.UserWaits {
			t.Errorf("when he is back it is %s, handed in %d times", f.state(t), len(in)-len(before))
		}
		f.stop(t)
	})
}

// A claim is kept over a restart, and granted again to its user alone; an offer that was not claimed is not. A claimed place is held for
// as long as the job may take after its user was heard of last, and then free; the job is told as gone.
func TestClaimsAtTheDesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, id := one(t, managers.Resources{CPUs: 1, Wall: 1800})
		offer := daemon.Offer{Job: id, Manager: "https://one", System: "one"}
		synctest.Wait() // it is handed in
		f.Answer(offer)
		f.open(t)
		if o := f.Orders(daemon.Report{Manager: "https://one", Running: []managers.ID{id}}); len(o.Ended) != 1 {
			t.Errorf("of a place that nobody claimed before the restart: %+v", o)
		}
		if got := f.claims(t); got != "waits" {
			t.Errorf("it %s", got)
		}
		time.Sleep(time.Minute) // by then it is handed in again, asked for or not long ago
		f.claims(t)
		synctest.Wait()
		if in, _ := f.heard(); len(in) < 2 || in[len(in)-1].Attempt <= in[0].Attempt {
			t.Errorf("before and after the restart it was handed in as %+v", in)
		}
		f.Answer(offer)
		if a, b := f.claims(t), f.claims(t); a != "claimed one" || b != a {
			t.Errorf("claimed: %s, then %s", a, b)
		}
		f.open(t)
		if got := f.claims(t); got != "claimed one" || !f.Answer(offer).Granted || f.Answer(daemon.Offer{Job: id, Manager: "https://two"}).Granted {
			t.Errorf("after a restart: %s", got)
		}
		if told, _ := f.claim("bob", []string{"a"}); len(told) != 0 || f.end("bob", []string{"a"}) != nil || f.state(t) != managers.UserClaimed {
			t.Errorf("another user: %v, %s", told, f.state(t))
		}
		time.Sleep(25 * time.Minute)
		f.claims(t) // who follows asks on and on
		time.Sleep(25 * time.Minute)
		if _, ended := f.heard(); len(ended) != 0 || f.state(t) != managers.UserClaimed {
			t.Errorf("given back %v", ended)
		}
		time.Sleep(6 * time.Minute)
		if _, ended := f.heard(); len(ended) != 1 || f.state(t) != managers.UserGone || f.claims(t) != "gone" || !f.Answer(offer).Ended {
			t.Errorf("%s, given back %v", f.state(t), ended)
		}
		time.Sleep(2 * time.Hour)
		if told := f.states("alice", []string{"a"}); len(told) != 0 {
			t.Errorf("it is remembered: %v", told)
		}
		f.stop(t)
	})
}

// A user has ten thousand jobs here at most, those that have ended make room first, and another user has as many; names and needs that
// make no sense are refused one by one.
func TestDeskIsBounded(t *testing.T) {
	f := &tree{dir: t.TempDir()}
	f.open(t)
	defer func() { f.stop(t) }()
	hand := func(who string, from, n int) (refused int) {
		t.Helper()
		var list []managers.UserJob
		for i := range n {
			list = append(list, managers.UserJob{Key: fmt.Sprint("k", from+i), Need: managers.Resources{CPUs: 1}})
		}
		told, err := f.submit(who, list)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range told {
			if x.Error != "" {
				refused++
			}
		}
		return refused
	}
	if no := hand("alice", 0, maxOfUser); no > 0 {
		t.Errorf("%d refused of %d", no, maxOfUser)
	}
	if no := hand("alice", maxOfUser, 5); no != 5 {
		t.Errorf("%d of 5 more refused", no)
	}
	if no := hand("bob", 0, 5) + hand("alice", 0, 5); no > 0 {
		t.Errorf("another's, or those there are already: %d refused", no)
	}
	if err := f.end("alice", []string{"k1", "k2", "k3"}); err != nil {
		t.Fatal(err)
	}
	if no := hand("alice", maxOfUser, 5); no != 2 {
		t.Errorf("%d of 5 more refused where 3 have ended", no)
	}
	told, err := f.submit("bob", []managers.UserJob{{Key: "../x", Need: managers.Resources{CPUs: 1}}, {Key: "none"}, {Key: "well", Need: managers.Resources{CPUs: 1}},
		{Key: "tags", Need: managers.Resources{CPUs: 1, Tags: strings.Repeat("x", 5000)}}})
	if err != nil || told[0].Error == "" || told[1].Error == "" || told[2].Error != "" || told[3].Error == "" {
		t.Errorf("%+v %v", told, err)
	}
}

// All users together have two hundred thousand jobs at most, and none that comes is taken beyond that.
func TestDeskIsBoundedInAll(t *testing.T) {
	d := &Desk{config: Config{Log: slog.New(slog.DiscardHandler)}, jobs: map[managers.ID]*job{}}
	for i := range maxInAll - 1 {
		d.jobs[managers.ID(fmt.Sprint(i))] = nil
	}
	one := &job{}
	if err := d.room(one, nil, time.Now()); err != nil {
		t.Errorf("the last: %v", err)
	}
	if err := d.room(one, []*job{one}, time.Now()); err != errFull {
		t.Errorf("one more beside it: %v", err)
	}
	d.bytes = allBytes
	clear(d.jobs)
	if err := d.room(one, nil, time.Now()); err != errFull {
		t.Errorf("where those that there are are too large: %v", err)
	}
}
