package managers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestMessagesOfGiants: the largest messages that a neighbour may send cost a manager with many neighbours little, or are refused.
func TestMessagesOfGiants(t *testing.T) {
	testbed.Computes(t)
	const links = 20
	amounts := func(n int) (s Set) { // of which none covers another
		for i := range n {
			s = append(s, Resources{CPUs: i + 1, GPUs: n - i, Tags: Tags(fmt.Sprint("t", i), "zz")})
		}
		return s
	}
	shape := Shape{}
	for i := range 1000 {
		shape.Path = append(shape.Path, fmt.Sprint("https://p", i, ".example.org:7700"))
	}
	for i := range 100_000 {
		shape.Children = append(shape.Children, fmt.Sprint("https://c", i, ".example.org:7700"))
	}
	for name, c := range map[string]struct {
		message Message
		refused bool
	}{
		"rooms":            {Message{Rooms: amounts(maxSet)}, false},
		"kinds of systems": {Message{Whole: amounts(maxSet)}, true},
		"as many as told":  {Message{Whole: amounts(maxWhole)}, false},
		"a tree":           {Message{Shape: &shape}, false},
	} {
		m := NewDomain(Serving())
		from := m.AddLink(Parent)
		m.Up(0, from)
		for range links {
			m.Up(0, m.AddLink(Child))
		}
		testbed.Within(t, time.Second, 200<<20, func() {
			for now := range int64(3) {
				if _, err := m.Handle(1000+now, from, c.message); (err != nil) != c.refused {
					t.Errorf("%s: %v", name, err)
				}
				m.Tick(1500 + now)
			}
		})
	}
}

// TestPathOfARogueParent: a parent that tells of a way up as long as it may be has its grandchildren believe their own parent.
func TestPathOfARogueParent(t *testing.T) {
	long := Shape{Path: []string{strings.Repeat("x", maxPathBytes)}}
	many := Shape{Path: make([]string, maxPath)}
	for _, shape := range []*Shape{&long, &many} {
		m := NewDomain(Serving())
		m.SetName("https://m.example.org:7700")
		parent := m.AddLink(Parent)
		m.SetNeighbour(parent, "https://rogue.example.org:7700")
		m.Up(0, parent)
		child := m.AddLink(Child)
		m.SetNeighbour(child, "https://c.example.org:7700")
		m.Up(0, child)
		out, err := m.Handle(1000, parent, Message{Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, s := range out.Sends {
			if s.To == child && s.Message.Shape != nil {
				told++
				if err := s.Message.Check(); err != nil || s.Message.Shape.Path[0] != "https://m.example.org:7700" {
					t.Errorf("the child is told of %d managers: %v", len(s.Message.Shape.Path), err)
				}
			}
		}
		if shape == &many && told != 1 { // of the other path nothing is left that the child does not know
			t.Errorf("the child is told %d times", told)
		}
	}
}
