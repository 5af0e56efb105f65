package managers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestNeighboursThatTellMuch: what some neighbours tell, each of them as much as it may, makes no message for others that these would
// have to refuse, and hides nobody who tells little.
func TestNeighboursThatTellMuch(t *testing.T) {
	testbed.Computes(t)
	const rogues = 4
	amounts := func(link int) (s Set) { // of which none covers another
		for i := range 10_000 {
			s = append(s, Resources{CPUs: 1<<20 + i, GPUs: 20_000 - i, Tags: fmt.Sprint("rogue", link, strings.Repeat("x", 500))})
		}
		return s
	}
	tags := func(link int) Set {
		var s Set
		for i := range maxWhole {
			s = append(s, Resources{CPUs: 1<<20 + i, Tags: fmt.Sprint("rogue", link, i, strings.Repeat("\"", maxSystemTags-20))})
		}
		return s
	}
	names := Shape{Path: []string{strings.Repeat("x", maxPathBytes)}}
	honest := Resources{CPUs: 8, Tags: "APPS/HEP/ROOT-6.32"}
	m := NewDomain(Serving())
	m.SetName("https://m.example.org:7700")
	parent := m.AddLink(Parent)
	m.SetNeighbour(parent, "https://root.example.org:7700")
	m.Up(0, parent)
	child := m.AddLink(Child)
	m.SetNeighbour(child, "https://child.example.org:7700")
	m.Up(0, child)
	at := int64(0)
	told := map[Neighbour]Message{}
	handle := func(n Neighbour, msg Message) {
		at += 10_000
		out, err := m.Handle(at, n, msg)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range out.Sends {
			line, err := json.Marshal(s.Message)
			if err = errors.Join(err, s.Message.Check()); err != nil || len(line) > 7<<20 {
				t.Errorf("neighbour %d is told %d bytes: %v", s.To, len(line), err)
			}
			told[s.To] = s.Message
		}
	}
	handle(child, Message{Rooms: Set{honest}, Whole: Set{honest}})
	handle(parent, Message{Shape: &names})
	testbed.Within(t, 5*time.Second, 200<<20, func() {
		for i := range rogues {
			rogue := m.AddLink(Child)
			m.SetNeighbour(rogue, fmt.Sprint("https://rogue", i, ".example.org:7700/", strings.Repeat("x", 1000)))
			m.Up(at, rogue)
			handle(rogue, Message{Rooms: amounts(i), Whole: tags(i)})
		}
	})
	if s := told[parent]; !slices.Contains(s.Rooms, honest) || len(s.Rooms) < 1000 {
		t.Errorf("the parent is told of %d systems, of the honest one among them: %v", len(s.Rooms), slices.Contains(s.Rooms, honest))
	}
	for _, bad := range []Message{
		{Rooms: Set{{CPUs: 1, Tags: strings.Repeat("x", maxSystemTags+1)}}}, {Rooms: Set{{CPUs: 1, Tags: "a\x01"}}},
		{Shape: &Shape{Path: []string{"https://a\x01b"}}}, {Shape: &Shape{Path: []string{"https://a"}, Children: []string{"\""}}},
	} {
		if bad.Check() == nil {
			t.Errorf("%.80v is taken", bad)
		}
	}
}

// TestFairShares: who wants little has it, the others as much as is left for each.
func TestFairShares(t *testing.T) {
	for _, c := range []struct {
		wanted []int
		share  int
	}{{nil, 100}, {[]int{100}, 100}, {[]int{10, 100, 100}, 45}, {[]int{10, 20, 500}, 70}, {[]int{60, 60}, 50}} {
		share, sum := fairShare(c.wanted, 100), 0
		for _, w := range c.wanted {
			sum += min(w, share)
		}
		if share != c.share || sum > 100 {
			t.Errorf("of 100 for %v: %d each, want %d", c.wanted, share, c.share)
		}
	}
}

// TestHopsAreCountedToAnEnd: a job that says it has gone as far as can be said is refused, or passed on so that others take it: else
// the link would end over which an honest manager sends it.
func TestHopsAreCountedToAnEnd(t *testing.T) {
	for _, hops := range []int{0, maxHops - 1, maxHops, maxHops + 1, math.MaxInt - 1, math.MaxInt} {
		m := NewManager(Serving(), Resources{CPUs: 1})
		parent, child := m.AddLink(Parent), m.AddLink(Child)
		m.Up(0, parent)
		m.Up(0, child)
		if _, err := m.Handle(1, child, Message{Whole: Set{{CPUs: 64}}}); err != nil {
			t.Fatal(err)
		}
		out, err := m.Handle(2, parent, Message{Job: &Job{ID: "j", Broker: "https://b.example:1", Need: Resources{CPUs: 8}, Hops: hops, Placed: true}})
		if (err != nil) != (hops > maxHops) {
			t.Fatalf("%d hops: %v", hops, err)
		}
		if err != nil {
			continue
		}
		if len(out.Sends) != 1 || out.Sends[0].To != child {
			t.Fatalf("%d hops: %v", hops, out.Sends)
		}
		if err := out.Sends[0].Message.Check(); err != nil {
			t.Errorf("%d hops: the next one refuses it: %v", hops, err)
		}
	}
}
