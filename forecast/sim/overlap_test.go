package sim

import (
	"math"
	"strings"
	"testing"
)

// parsed is a scenario of a text that must hold.
func parsed(t *testing.T, text string) *Scenario {
	t.Helper()
	s, err := Parse("s.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFailuresThatOverlap: where two failures of a kind overlap at a site, it is
// over with the last of them; those of other kinds and sites are not touched.
func TestFailuresThatOverlap(t *testing.T) {
	s := parsed(t, small+`[[site]]
name = "b"
procs = 4
[[failure]]
kind = "site"
site = "a"
from = "10m"
for = "2h"
[[failure]]
kind = "site"
from = "30m"
for = "20m"
[[failure]]
kind = "credential"
from = "40m"
for = "10m"
[[failure]]
kind = "credential"
site = "b"
from = "45m"
for = "1h"
`)
	want := map[int64][2]string{ // what ails a and b, from a minute on
		10:  {"down", ""},
		30:  {"down", "down"},
		40:  {"down closed", "down closed"},
		45:  {"down closed", "down closed"},
		50:  {"down", "closed"},
		105: {"down", ""},
		130: {"", ""},
	}
	sites := make([]*site, 2)
	for i := range sites {
		c, err := newSite(&s.Sites[i], i, none{})
		if err != nil {
			t.Fatal(err)
		}
		sites[i] = c
	}
	g := &grid{scenario: s, sites: sites, troubles: s.troubles()}
	for len(g.troubles) > 0 {
		at := g.troubles[0].at
		if err := g.strike(at); err != nil {
			t.Fatal(err)
		}
		for i, c := range sites {
			if got := ails(c); got != want[at/60][i] {
				t.Errorf("after %d minutes at %s: %q, want %q", at/60, c.Name, got, want[at/60][i])
			}
			if c.takes() != (want[at/60][i] == "") {
				t.Errorf("after %d minutes %s takes jobs: %v", at/60, c.Name, c.takes())
			}
		}
	}
}

// ails tells what is wrong with a site.
func ails(c *site) string {
	var list []string
	for _, is := range []struct {
		so   bool
		word string
	}{{c.down, "down"}, {c.mute, "mute"}, {c.hole, "hole"}, {c.closed, "closed"}} {
		if is.so {
			list = append(list, is.word)
		}
	}
	return strings.Join(list, " ")
}

// TestTroublesInOrder: what ends and what begins at one moment: the end is first,
// so that a failure that follows another at once is not ended by it.
func TestTroublesInOrder(t *testing.T) {
	s := parsed(t, small+"[[failure]]\nkind = \"service\"\nfrom = \"2h\"\nfor = \"1h\"\n"+
		"[[failure]]\nkind = \"service\"\nfrom = \"1h\"\nfor = \"1h\"\n[[failure]]\nkind = \"blackhole\"\nfrom = \"0s\"\nfor = \"3h\"\n")
	got := ""
	for _, x := range s.troubles() {
		got += map[bool]string{true: "+", false: "-"}[x.on] + x.kind[:1]
	}
	if got != "+b+s-s+s-s-b" {
		t.Errorf("%s", got)
	}
}

// TestFiguresOfSeedsWithoutThem: a policy that leaves the wide jobs out has no
// waits of wide jobs, rather than waits of nothing; and only the seeds of both
// policies that have such jobs are compared.
func TestFiguresOfSeedsWithoutThem(t *testing.T) {
	const wide = "wider, to 1 h"
	s := &Scenario{Policies: []string{"first", "narrow", "some"}, Seeds: 3}
	run := func(waits ...float64) (r *Run) {
		r = &Run{Jobs: 10, MeanWait: 7}
		for _, w := range waits {
			r.Classes = append(r.Classes, Class{Name: wide, Jobs: 2, MeanWait: w, Slowdown: 1})
		}
		return r
	}
	r := s.summarise([]*Run{run(100), run(200), run(300), run(), run(), run(), run(), run(260), run(380)})
	first, some := r.figure("first", "wait_mean "+wide), r.figure("some", "wait_mean "+wide)
	if first.Mean != 200 || first.Diff != 0 {
		t.Errorf("the first policy: %+v", first)
	}
	if _, ok := r.Policies[1].Figures["wait_mean "+wide]; ok {
		t.Errorf("waits of jobs that did not run: %+v", r.Policies[1].Figures["wait_mean "+wide])
	}
	if some.Mean != 320 || some.Diff != 70 {
		t.Errorf("waits of 260 and 380 s in two of three seeds: %+v, want 320 and 70 more than the first", some)
	}
	if all := r.figure("some", "wait_mean"); all.Mean != 7 || all.Half != 0 || all.Significant() {
		t.Errorf("what all seeds have: %+v", all)
	}
}

// TestIntervals holds Student's intervals by numbers of tables: 12.706, 2.776 and
// 2.262 are t of 97.5 % with 1, 4 and 9 degrees of freedom.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		xs         []float64
		mean, half float64
	}{
		{[]float64{5}, 5, 0},
		{[]float64{4, 4, 4}, 4, 0},
		{[]float64{1, 3}, 2, 12.706 * math.Sqrt2 / math.Sqrt2},
		{[]float64{1, 2, 3, 4, 5}, 3, 2.776 * math.Sqrt(2.5) / math.Sqrt(5)},
		{[]float64{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, 0.5, 2.262 * math.Sqrt(2.5/9) / math.Sqrt(10)},
	} {
		if mean, half := interval(c.xs); math.Abs(mean-c.mean) > 1e-12 || math.Abs(half-c.half) > 1e-3*c.half {
			t.Errorf("%v: %g ± %g, want %g ± %g", c.xs, mean, half, c.mean, c.half)
		}
	}
	for _, c := range []struct {
		f    Figure
		want bool
	}{
		{Figure{Diff: 5, DiffHalf: 4}, true}, {Figure{Diff: -5, DiffHalf: 4}, true}, {Figure{Diff: 4, DiffHalf: 5}, false},
		{Figure{Diff: 5}, false}, // one seed tells nothing
	} {
		if c.f.Significant() != c.want {
			t.Errorf("%+v: %v", c.f, c.f.Significant())
		}
	}
}

// TestFairness is Jain's index by its definition: one for equals, 1/n where one of
// n has all, whatever the scale.
func TestFairness(t *testing.T) {
	for _, c := range []struct {
		slowdowns []float64
		want      float64
	}{
		{nil, 1}, {[]float64{3}, 1}, {[]float64{2, 2, 2}, 1}, {[]float64{1, 3}, 0.8}, {[]float64{10, 30}, 0.8}, {[]float64{1, 1e9}, 0.5},
	} {
		x := tally{users: map[int]*waits{}}
		for i, s := range c.slowdowns {
			x.users[i] = &waits{2, 2 * s}
		}
		if got := x.fairness(); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%v: %g, want %g", c.slowdowns, got, c.want)
		}
	}
}
