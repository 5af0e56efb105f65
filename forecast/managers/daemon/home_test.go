package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/managers"
)

// parents are the numbers of the managers above each, -1 for none and for what cannot be
// asked; a manager that does not know the whole way up yet has -2.
func (f *trunk) parents() (list []int) {
	states := map[string]State{}
	for i := range f.configs {
		s, err := f.state(i)
		at := -1
		for k := range f.configs {
			if f.configs[k].Name == s.Parent {
				at = k
			}
		}
		if list = append(list, at); err == nil {
			states[s.Name] = s
		}
	}
	for i, c := range f.configs {
		var way []string
		for up := states[c.Name].Parent; up != ""; up = states[up].Parent {
			way = append(way, up)
		}
		if s := states[c.Name]; s.Parent != "" && !slices.Equal(s.Path, way) {
			list[i] = -2
		}
	}
	return list
}

func (f *trunk) become(want []int, within time.Duration) {
	f.t.Helper()
	var got []int
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got = f.parents(); fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
	}
	f.tellRoots()
	f.t.Fatalf("the managers above are %v, want %v", got, want)
}

// Managers whose parent was lost and is back go home, root and domain, and stay there;
// jobs that come in meanwhile run once each.
func TestGoesHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		home := []int{-1, 0, 0, 2, 2, 1}
		f := newGrove(t, ca, home, []int{0, 0, 0, 4, 4, 4})
		for i := range f.configs {
			f.start(i) // one after the other, so that the first of the root's children is known
			f.become(append(slices.Clone(home[:i+1]), slices.Repeat([]int{-1}, len(home)-i-1)...), 20*time.Second)
		}
		b, ran := f.broker(ca, 3)
		var jobs []managers.Job
		for i := range 120 {
			jobs = append(jobs, managers.Job{ID: managers.ID(fmt.Sprint("j", i)), Need: managers.Resources{CPUs: 1 + i%3}})
		}
		done := make(chan map[managers.ID]error, 1)
		go func() { done <- b.Run(t.Context(), jobs) }()
		f.kill(0)
		f.become([]int{-1, -1, 1, 2, 2, 1}, time.Minute)
		f.start(0)
		f.become(home, 2*time.Minute)
		f.kill(2)
		f.become([]int{-1, 0, -1, 0, 0, 1}, time.Minute)
		f.start(2)
		f.become(home, 4*time.Minute)
		for id, err := range <-done {
			t.Errorf("%s: %v", id, err)
		}
		for _, j := range jobs {
			if n := len(ran.by[j.ID]); n != 1 {
				t.Errorf("%s ran %d times", j.ID, n)
			}
		}
		for range 600 {
			if got := f.parents(); fmt.Sprint(got) != fmt.Sprint(home) {
				t.Fatalf("at home they are under %v", got)
			}
			time.Sleep(time.Second)
		}
		f.settle(20 * time.Second)
	})
}

// Who loses the parent again and again waits ever longer before going home.
func TestLongingGrows(t *testing.T) {
	l := climber{Daemon: &Daemon{config: Config{Beat: time.Second}}}
	for _, want := range []int{15, 30, 60, 120, 240, 300, 300} {
		if got := l.wait(); got != time.Duration(want)*time.Second {
			t.Errorf("waits %v, want %d s", got, want)
		}
		l.stayed(time.Minute)
	}
	l.stayed(2 * time.Hour)
	if got := l.wait(); got != homeBeats*time.Second {
		t.Errorf("after two hours at home it waits %v", got)
	}
}

// A parent that is in another tree than its child takes no child that comes home from
// this one, and a parent that has the manager above itself is left.
func TestHomeIsInTheSameTree(t *testing.T) {
	d := lonely(t)
	c := newConn(t.Context(), "https://child.example:1")
	c.tree = "https://root.example:1"
	if _, err := d.attach(c, managers.Child); err == nil || !strings.Contains(err.Error(), "in the tree of https://m.example:1") {
		t.Errorf("from another tree: %v", err)
	}
	up := newConn(t.Context(), "https://parent.example:1")
	n, err := d.attach(up, managers.Parent)
	if err != nil {
		t.Fatal(err)
	}
	d.up(n)
	tell := func(path ...string) error {
		return d.take(n, up, frame{Message: &managers.Message{Shape: &managers.Shape{Path: path}}})
	}
	if err := tell("https://parent.example:1", "https://root.example:1"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.attach(c, managers.Child); err != nil {
		t.Errorf("from the same tree: %v", err)
	}
	if err := tell("https://parent.example:1", "https://m.example:1"); err == nil || !strings.Contains(err.Error(), "loop") {
		t.Errorf("a loop: %v", err)
	}
	child := newConn(t.Context(), "https://below.example:1")
	below, err := d.attach(child, managers.Child)
	if err != nil {
		t.Fatal(err)
	}
	d.up(below)
	if err := d.take(below, child, frame{Message: &managers.Message{Shape: &managers.Shape{Path: []string{"https://m.example:1"}}}}); err != nil {
		t.Errorf("one below that tells of its way up, which leads here: %v", err)
	}
	other := newConn(t.Context(), "https://home.example:1")
	if n, err = d.attach(other, managers.Parent); err != nil {
		t.Fatal(err)
	}
	d.up(n)
	leave(d, n)
	for len(child.out) > 0 {
		if f := <-child.out; f.Message != nil && f.Message.Shape != nil && len(f.Message.Shape.Path) < 2 {
			t.Errorf("the manager below hears of the way up: %v", f.Message.Shape.Path)
		}
	}
	if s := d.State(); s.Parent != "https://home.example:1" || up.ctx.Err() == nil {
		t.Errorf("with a second parent it is under %s", s.Parent)
	}
}

// Who goes home asks its parent for the tree that it stands in: another one would be left by all that is below. It asks
// not at all where it does not know that tree, and not while it is a root itself.
func TestGoesHomeInItsOwnTree(t *testing.T) {
	for want, path := range map[string][]string{
		"[https://root.example:1]": {"https://parent.example:1", "https://root.example:1"},
		"[]":                       nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			d := lonely(t)
			var asked []string
			d.config.Parent, d.config.Beat = "https://home.example:1", time.Second
			d.config.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				var hello frame
				if err := json.NewDecoder(r.Body).Decode(&hello); err != nil {
					t.Error(err)
				}
				asked = append(asked, hello.Tree)
				return nil, io.ErrUnexpectedEOF
			})}
			if path != nil {
				up := newConn(t.Context(), path[0])
				n, err := d.attach(up, managers.Parent)
				if err == nil {
					d.up(n)
					err = d.take(n, up, frame{Message: &managers.Message{Shape: &managers.Shape{Path: path}}})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), (homeBeats+5)*time.Second)
			defer cancel()
			(&climber{Daemon: d}).goHome(ctx)
			d.work.Wait()
			if got := fmt.Sprint(asked); got != want {
				t.Errorf("asked for the trees %s, want %s", got, want)
			}
		})
	}
}

// Whoever lied gets no link by its certificate, whatever it calls itself; others on
// its host do, as they have certificates of their own.
func TestBanIsOfTheCertificate(t *testing.T) {
	d, liar, other := servingTwo(t)
	greet := func(client *http.Client, name string, meanwhile func()) string {
		in, out := io.Pipe()
		defer in.Close()
		go json.NewEncoder(out).Encode(frame{Hello: name})
		resp, err := client.Post(d.config.Name+"/v1/link", "application/json", in)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var first frame
		readFrames(t.Context(), resp.Body, new(incoming), "", func(f frame) error {
			first = f
			meanwhile()
			return io.EOF
		})
		if first.Welcome {
			return "welcome"
		}
		return first.Refused
	}
	lies := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, c := range d.conns {
			d.guests.distrust(c.who)
		}
	}
	if got := greet(liar, "https://127.0.0.1:1", lies); got != "welcome" {
		t.Fatal(got)
	}
	for _, name := range []string{"https://127.0.0.1:1", "https://127.0.0.1:2"} {
		if got := greet(liar, name, func() {}); !strings.Contains(got, "without end") {
			t.Errorf("the liar as %s: %q", name, got)
		}
	}
	if got := greet(other, "https://127.0.0.1:1", func() {}); got != "welcome" {
		t.Errorf("another on that host: %q", got)
	}
}

// Several that send jobs back by turns are found out, one after the other; the manager
// that they are behind is not taken for one of them, nor is a neighbour that sends few back.
func TestLiarsBehindAnHonestOne(t *testing.T) {
	for _, liars := range []int{1, 2, 3, 7} {
		var above, honest guests
		var left []string
		for k := range liars {
			left = append(left, fmt.Sprint("liar ", k))
		}
		for k := 0; len(left) > 0; k++ {
			j := managers.Job{ID: managers.ID(fmt.Sprint("j", k))}
			for step, going := 0, true; going; step++ {
				above.goes(&j, "honest")
				honest.comes(&j, "above")
				who := left[step%len(left)]
				if step%20 == 7 {
					who = "few"
				}
				honest.goes(&j, who)
				if going = honest.bounces(&j, who) == nil; !going {
					liar := honest.strike(j.Key())
					if liar != "" && !slices.Contains(left, liar) {
						t.Fatalf("%d liars, job %d: found is %s", liars, k, liar)
					}
					left = slices.DeleteFunc(left, func(l string) bool { return l == liar })
					break
				}
				honest.comes(&j, who)
				if err := above.bounces(&j, "honest"); err != nil {
					t.Fatalf("%d liars, job %d: above %v", liars, k, err)
				}
				above.comes(&j, "honest")
			}
			if k > maxStrikes*liars*(liars+3) {
				t.Fatalf("%d liars: %v are not found by %d jobs", liars, left, k)
			}
		}
	}
}

// What others sent back together with a liar that was found out is not held against them.
func TestBlameEndsWithTheLiar(t *testing.T) {
	var g guests
	job := func(n int, share map[string]int) (liar string) {
		j := managers.Job{ID: managers.ID(fmt.Sprint("j", n))}
		for who, times := range share {
			for range times {
				g.goes(&j, who)
				g.comes(&j, who)
			}
		}
		return g.strike(j.Key())
	}
	both := map[string]int{"liar": 60, "other": 40}
	for n := range 4 {
		if who := job(n, both); who != "" {
			t.Fatalf("after %d jobs it is %s", n+1, who)
		}
	}
	if who := job(4, both); who != "liar" {
		t.Errorf("the fifth time: %q", who)
	}
	if who := job(5, map[string]int{"other": 100}); who != "" {
		t.Errorf("what came back with the liar's is held against %s", who)
	}
}

// A liar that comes under a new name each time is one liar, and fills no memory with its names.
func TestNamesOfOneCertificate(t *testing.T) {
	d := lonely(t)
	come := func(k int) (managers.Neighbour, *conn, error) {
		c := newConn(t.Context(), fmt.Sprint("https://liar.example:", k))
		c.who = "liar"
		n, err := d.attach(c, managers.Child)
		if err == nil {
			d.up(n)
		}
		return n, c, err
	}
	j := jobOf("https://ui.example", "")
	struck := 0
	for k := range 1000 {
		n, c, err := come(k)
		if err != nil {
			if struck = k; !strings.Contains(err.Error(), "without end") {
				t.Fatal(err)
			}
			break
		}
		d.guests.goes(&j, c.who)
		if err := d.take(n, c, frame{Message: &managers.Message{Job: &j}}); err == nil {
			d.manager.Withdraw(j.Key())
		}
		d.detach(n, c, nil)
	}
	if struck == 0 || len(d.names) != 1 {
		t.Errorf("found out after %d names; %d are remembered", struck, len(d.names))
	}
	d.guests = guests{}
	var err error
	for k := 0; k < 1000 && err == nil; k++ {
		_, _, err = come(k)
	}
	if err == nil || len(d.names) > maxNamed {
		t.Errorf("%d names at once, %v", len(d.names), err)
	}
}

// A job that a neighbour sends back without end is dropped, as liars may be behind an
// honest one; the third such job within ten minutes ends the link, and others' count for themselves.
func TestStrikes(t *testing.T) {
	d := lonely(t)
	attach := func(name string) (managers.Neighbour, *conn) {
		c := newConn(t.Context(), name)
		n, err := d.attach(c, managers.Child)
		if err != nil {
			t.Fatal(err)
		}
		d.up(n)
		return n, c
	}
	first, relay := attach("https://relay.example:1")
	second, other := attach("https://other.example:1")
	back := func(n managers.Neighbour, c *conn, id managers.ID) error {
		j := jobOf("https://ui.example", "")
		j.ID = id
		for range maxBounces {
			d.guests.goes(&j, c.who)
			d.guests.comes(&j, c.who)
		}
		return d.take(n, c, frame{Message: &managers.Message{Job: &j}})
	}
	for k, id := range []managers.ID{"a", "b"} {
		if err := back(first, relay, id); err != nil {
			t.Errorf("job %d: %v", k, err)
		}
		if err := back(second, other, id); err != nil {
			t.Errorf("job %d of another: %v", k, err)
		}
	}
	if n := len(d.State().Waiting); n > 0 {
		t.Errorf("%d of the dropped jobs wait", n)
	}
	if err := back(first, relay, "c"); err == nil || !strings.Contains(err.Error(), "came back 100 times") {
		t.Errorf("the third: %v", err)
	}
}

// Whatever links are cut and managers are killed for two minutes: all are at home
// in the end, though who lost its parent often is in no hurry.
func TestFlappingLinksEndAtHome(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			ca := newAuthority(t)
			home := []int{-1, 0, 0, 1, 1, 2, 2, 3}
			f := newGrove(t, ca, home, []int{0, 0, 0, 0, 4, 4, 4, 4})
			for i := range f.configs {
				f.start(i)
			}
			rng := rand.New(rand.NewPCG(seed, 41))
			for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
				if i := rng.IntN(len(home)); rng.IntN(3) > 0 {
					f.interrupt(i)
				} else if f.kill(i); rng.IntN(2) > 0 {
					f.start(i)
				}
				time.Sleep(time.Duration(rng.IntN(5000)) * time.Millisecond)
			}
			for i := range f.configs {
				if f.running[i] == nil {
					f.start(i)
				}
			}
			f.become(home, 50*time.Minute)
			f.settle(time.Minute)
		})
	}
}
