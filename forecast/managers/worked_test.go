package managers

import (
	"fmt"
	"testing"
)

// Decisions by numbers worked out by hand, where a rule said the other way round
// would not show in runs of whole trees.

// told is what an event leads to, in short: starts, requests with their neighbour, changes with their amounts.
func told(out *Out) (text string) {
	for _, a := range out.Starts {
		text += fmt.Sprintf("%s starts. ", a.Job.ID)
	}
	for _, s := range out.Sends {
		if j := s.Message.Job; j != nil {
			text += fmt.Sprintf("%s to %d. ", j.ID, s.To)
			continue
		}
		text += fmt.Sprintf("told %d:", s.To)
		for _, r := range s.Message.Rooms {
			text += fmt.Sprint(" ", r.CPUs)
		}
		text += ". "
	}
	return text
}

// linked returns a manager with links of these roles, of which the others have told what is free there, and what
// there is when empty.
func linked(t *testing.T, m *Manager, roles []Role, rooms, whole []int) {
	t.Helper()
	for i, role := range roles {
		n := m.AddLink(role)
		m.Up(0, n)
		msg := Message{Whole: Set{{CPUs: whole[i]}}}
		if rooms[i] > 0 {
			msg.Rooms = Set{{CPUs: rooms[i]}}
		}
		if _, err := m.Handle(0, n, msg); err != nil {
			t.Fatal(err)
		}
	}
}

func expect(t *testing.T, what string, out *Out, want string) {
	t.Helper()
	if got := told(out); got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func need(id ID, r Resources) Job { return Job{ID: id, Need: r} }

// What finds no room keeps nobody from being tried that needs less, of whatever kind; what
// needs one processor alone and finds none ends the look.
func TestWhoIsTriedBehind(t *testing.T) {
	m := NewManager(Rules{}, Resources{CPUs: 4})
	expect(t, "all is taken", m.Submit(0, need("a", Resources{CPUs: 4})), "a starts. ")
	for i, r := range []Resources{{CPUs: 4}, {CPUs: 2}, {CPUs: 1, GPUs: 1}, {CPUs: 1}, {CPUs: 1}, {CPUs: 1}} {
		j := need(ID(fmt.Sprint("b", i)), r)
		j.Submitted = int64(i)
		m.Submit(int64(i), j)
	}
	expect(t, "one is free", m.Ended(10, Resources{CPUs: 1}), "b3 starts. ")
	expect(t, "three are free", m.Ended(11, Resources{CPUs: 3}), "b1 starts. b4 starts. ")
}

// A job that waits at its place keeps nobody of its size from going where there is room, nor does one
// that has gone as far as it may.
func TestWhoStaysKeepsNobody(t *testing.T) {
	m := NewManager(Rules{}, Resources{CPUs: 2})
	linked(t, m, []Role{Child}, []int{0}, []int{2})
	m.Submit(0, need("a", Resources{CPUs: 2}))
	placed := need("b", Resources{CPUs: 2})
	placed.Placed = true
	m.Handle(1, 0, Message{Job: &placed})
	m.Submit(2, need("c", Resources{CPUs: 2}))
	out, err := m.Handle(3, 0, Message{Rooms: Set{{CPUs: 2}}, Seen: 9})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "room at the child", out, "c to 0. ")

	m = NewDomain(Rules{MaxHops: 3})
	linked(t, m, []Role{Child, Child}, []int{0, 0}, []int{2, 2})
	far := need("far", Resources{CPUs: 2})
	far.Hops = 3
	m.Submit(0, far)
	if m.Len() != 0 {
		t.Errorf("%d wait: what has gone that far is given a place", m.Len())
	}
}

// A placed job goes down to a system that could run it, before it goes up, and back only where there is no other.
func TestWhereAPlacedJobGoes(t *testing.T) {
	for what, c := range map[string]struct {
		whole []int
		from  int
		want  string
	}{
		"down first":          {[]int{8, 8, 8}, -1, "j to 1. "},
		"up if none below":    {[]int{8, 2, 2}, -1, "j to 0. "},
		"not where it was":    {[]int{8, 8, 8}, 1, "told 1: 1. j to 2. "},
		"up, as it came up":   {[]int{8, 8, 2}, 1, "told 1: 1. j to 0. "},
		"back if nobody else": {[]int{2, 8, 2}, 1, "told 1: 1. j to 1. "},
	} {
		m := NewDomain(Rules{})
		linked(t, m, []Role{Parent, Child, Child}, []int{1, 1, 1}, c.whole)
		j := need("j", Resources{CPUs: 8})
		j.Placed = true
		out := m.Submit(1, j)
		if c.from >= 0 {
			m = NewDomain(Rules{})
			linked(t, m, []Role{Parent, Child, Child}, []int{1, 1, 1}, c.whole)
			var err error
			if out, err = m.Handle(1, Neighbour(c.from), Message{Job: &j}); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, what, out, c.want)
	}
}

// While a system is drained its neighbours are told that nothing is free there, and of it again after that.
func TestDrainedIsToldToNobody(t *testing.T) {
	m := NewManager(Rules{MaxAge: 100}, Resources{CPUs: 4})
	linked(t, m, []Role{Parent}, []int{0}, []int{4})
	expect(t, "first", m.Submit(0, need("a", Resources{CPUs: 2})), "a starts. told 0: 2. ")
	expect(t, "a wide one waits", m.Submit(0, need("wide", Resources{CPUs: 4})), "")
	expect(t, "it is old", m.Tick(100), "told 0:. ")
	expect(t, "it starts", m.Ended(110, Resources{CPUs: 2}), "wide starts. ")
	expect(t, "it ends", m.Ended(120, Resources{CPUs: 4}), "told 0: 4. ")
}

// Who is silent tells nothing where the neighbour's own mark says it already, and tells where it says something else.
func TestSilence(t *testing.T) {
	m := NewManager(Rules{Silent: true}, Resources{CPUs: 4})
	linked(t, m, []Role{Parent}, []int{0}, []int{4})
	ask := func(id ID, cpus int, placed bool) *Out {
		j := need(id, Resources{CPUs: cpus})
		j.Placed = placed
		out, err := m.Handle(1, 0, Message{Job: &j})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	expect(t, "two of four", ask("a", 2, false), "a starts. ")
	expect(t, "no row was marked for a placed job", ask("b", 1, true), "b starts. told 0: 1. ")
	expect(t, "the last", ask("c", 1, false), "c starts. ")
	expect(t, "it is back", m.Ended(2, Resources{CPUs: 2}), "told 0: 2. ")
}

// A request is remembered until a change has seen it where the rules say so, and it looked for
// room: one for a job on its way to wait somewhere takes none.
func TestWhatIsRemembered(t *testing.T) {
	for _, c := range []struct {
		mark   Mark
		placed bool
		want   int
	}{{MarkAck, false, 1}, {MarkAck, true, 0}, {MarkNone, false, 0}, {MarkNone, true, 0}} {
		m := NewManager(Rules{Mark: c.mark}, Resources{CPUs: 1})
		linked(t, m, []Role{Child}, []int{4}, []int{4})
		j := need("a", Resources{CPUs: 2})
		j.Placed = c.placed
		m.dispatch.send(0, &j)
		if l := &m.dispatch.tables.links[0]; len(l.pending) != c.want || l.sent != 1 {
			t.Errorf("%v, placed %v: %d remembered of %d sent, want %d of 1", c.mark, c.placed, len(l.pending), l.sent, c.want)
		}
	}
}

// Above a manager are itself and whom its parent's path names, as long as it has that parent.
func TestWhoIsAbove(t *testing.T) {
	m := NewManager(Rules{}, Resources{CPUs: 1})
	linked(t, m, []Role{Parent}, []int{4}, []int{4})
	m.heal.name, m.heal.shape.Path = "m", []string{"root", "p"}
	tables := &m.dispatch.tables
	for name, want := range map[string]bool{"m": true, "root": true, "p": true, "other": false} {
		if m.heal.above(name, tables) != want {
			t.Errorf("%s is above: %v", name, !want)
		}
	}
	m.Down(0, 0)
	if m.heal.above("root", tables) || !m.heal.above("m", tables) {
		t.Error("whose parent is lost is still below its root, or not itself")
	}
}
