package tree

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gridbroker/testdata/testbed"
)

// The rules once more, from the text of the experiment and not from our code, as
// plainly as they can be said and without regard to time: schedules must be equal.

// ticket is something that happens; of one tick ends are first, in the order of starts,
// and submissions last, in the order of the list.
type ticket struct {
	at    int64
	rank  int // 0 end, 1 message, 2 submission
	order int
	what  func(at int64)
}

type diary struct {
	list  []ticket
	count int
}

func (d *diary) add(at int64, rank int, what func(at int64)) {
	d.count++
	d.list = append(d.list, ticket{at, rank, d.count, what})
}

func (d *diary) play(until int64) {
	for len(d.list) > 0 {
		first := 0
		for i, e := range d.list {
			if f := d.list[first]; cmp.Or(cmp.Compare(e.at, f.at), cmp.Compare(e.rank, f.rank), cmp.Compare(e.order, f.order)) < 0 {
				first = i
			}
		}
		e := d.list[first]
		d.list = slices.Delete(d.list, first, first+1)
		if e.at > until {
			return
		}
		e.what(e.at)
	}
}

// sorted is a queue in the order in which it is looked through.
func sorted(jobs []Job, queue []int) []int {
	slices.SortFunc(queue, func(a, b int) int {
		return cmp.Or(cmp.Compare(jobs[b].Priority, jobs[a].Priority), cmp.Compare(jobs[a].Submit, jobs[b].Submit), cmp.Compare(jobs[a].ID, jobs[b].ID))
	})
	return queue
}

// told plays jobs without messages: each in its own system's queue, or all in one by
// somebody who knows everything.
func told(full, strict bool, nodes []int, jobs []Job, until int64) []Start {
	var d diary
	free, starts := slices.Clone(nodes), slices.Repeat([]Start{{System: -1}}, len(jobs))
	queues := make([][]int, len(nodes))
	place := func(j Job) int {
		best := -1
		for s := range free {
			if full && free[s] >= j.Width && (best < 0 || free[s] < free[best]) {
				best = s
			}
		}
		if free[j.Home] >= j.Width {
			return j.Home
		}
		return best
	}
	var pass func(q int, at int64)
	pass = func(q int, at int64) {
		var left []int
		for _, i := range sorted(jobs, queues[q]) {
			s := place(jobs[i])
			if s < 0 || strict && len(left) > 0 {
				left = append(left, i)
				continue
			}
			free[s] -= jobs[i].Width
			starts[i] = Start{s, at}
			d.add(at+jobs[i].Run, 0, func(at int64) { free[s] += jobs[i].Width; pass(q, at) })
		}
		queues[q] = left
	}
	for i, j := range jobs {
		q := j.Home
		if full {
			q = 0
		}
		d.add(j.Submit, 2, func(at int64) { queues[q] = append(queues[q], i); pass(q, at) })
	}
	d.play(until)
	return starts
}

// speaker is a manager of the tree.
type speaker struct {
	nodes, free int
	peers       []int // the other managers, and what is known of each:
	up          []bool
	rows, said  [][]int // amounts that are free there, and what it was told last; ascending
	asked       []int   // requests sent there
	heard       []int   // requests that came from there
	open        [][][2]int
	owes        []bool
	queue       []int
	inbox       []func(at int64)
	busy        bool
}

type meeting struct {
	diary
	c      Config
	jobs   []Job
	starts []Start
	all    []*speaker
	quiet  bool
}

// without takes the least amount that has room for a width out and puts what it leaves in.
func without(row []int, width int) []int {
	for i, n := range row {
		if n >= width {
			return ascending(append(slices.Delete(slices.Clone(row), i, i+1), n-width))
		}
	}
	return row
}

// ascending are numbers above zero, each once, in order.
func ascending(list []int) []int {
	list = slices.DeleteFunc(slices.Clone(list), func(n int) bool { return n <= 0 })
	slices.Sort(list)
	return slices.Compact(list)
}

// spoken plays jobs by the published protocol.
func spoken(c Config, nodes []int, jobs []Job, until int64) []Start {
	m := &meeting{c: c, jobs: jobs, starts: slices.Repeat([]Start{{System: -1}}, len(jobs)), quiet: true}
	level := []int{}
	for _, n := range nodes {
		level = append(level, len(m.all))
		m.all = append(m.all, &speaker{nodes: n, free: n})
	}
	for len(level) > 1 {
		var above []int
		for k, child := range level {
			if k%c.Fanout == 0 {
				above = append(above, len(m.all))
				m.all = append(m.all, &speaker{})
			}
			m.link(child, above[len(above)-1], true)
			m.link(above[len(above)-1], child, false)
		}
		level = above
	}
	for k := range m.all {
		m.tell(k, 0, nil)
	}
	m.play(0) // all is known everywhere before the first job
	m.quiet = false
	for i, j := range jobs {
		m.add(j.Submit, 2, func(at int64) {
			m.receive(j.Home, at, func(at int64) { m.all[j.Home].queue = append(m.all[j.Home].queue, i); m.look(j.Home, at) })
		})
	}
	m.play(until)
	return m.starts
}

func (m *meeting) link(at, to int, up bool) {
	s := m.all[at]
	s.peers, s.up = append(s.peers, to), append(s.up, up)
	s.rows, s.said, s.open = append(s.rows, nil), append(s.said, nil), append(s.open, nil)
	s.asked, s.heard, s.owes = append(s.asked, 0), append(s.heard, 0), append(s.owes, false)
}

// receive lets a manager take something in: at once, or when it is done with what came before.
func (m *meeting) receive(who int, at int64, what func(at int64)) {
	s := m.all[who]
	if m.c.Service == 0 || m.quiet {
		what(at)
		return
	}
	s.inbox = append(s.inbox, what)
	if s.busy {
		return
	}
	var next func(at int64)
	next = func(at int64) {
		if s.busy = len(s.inbox) > 0; s.busy {
			first := s.inbox[0]
			s.inbox = s.inbox[1:]
			m.add(at+m.c.Service, 1, next)
			first(at)
		}
	}
	next(at)
}

// post brings something to a neighbour.
func (m *meeting) post(from, k int, at int64, what func(back int, at int64)) {
	to := m.all[from].peers[k]
	back := slices.Index(m.all[to].peers, from)
	late := m.c.Latency
	if m.quiet {
		late = 0
	}
	m.add(at+late, 1, func(at int64) { m.receive(to, at, func(at int64) { what(back, at); m.look(to, at) }) })
}

// look goes through the queue of a manager, and tells its neighbours what is new.
func (m *meeting) look(who int, at int64) {
	s := m.all[who]
	var left []int
	var requests []func()
	for _, i := range sorted(m.jobs, s.queue) {
		w := m.jobs[i].Width
		k := -1
		for n, row := range s.rows {
			if a := least(row, w); a > 0 && (k < 0 || a < least(s.rows[k], w) || a == least(s.rows[k], w) && s.up[k] && !s.up[n]) {
				k = n
			}
		}
		switch {
		case m.c.Discipline == "fcfs" && len(left) > 0:
			left = append(left, i)
		case s.free >= w:
			m.begin(who, i, at)
		case k >= 0:
			s.rows[k] = without(s.rows[k], w)
			s.asked[k]++
			s.open[k] = append(s.open[k], [2]int{s.asked[k], w})
			to := s.peers[k]
			requests = append(requests, func() {
				m.post(who, k, at, func(back int, _ int64) {
					t := m.all[to]
					t.heard[back]++
					t.owes[back] = true
					t.queue = append(t.queue, i)
				})
			})
		default:
			left = append(left, i)
		}
	}
	s.queue = left
	m.tell(who, at, requests)
}

func least(row []int, width int) int {
	for _, n := range row {
		if n >= width {
			return n
		}
	}
	return 0
}

func (m *meeting) begin(who, i int, at int64) {
	j, s := m.jobs[i], m.all[who]
	s.free -= j.Width
	if j.Home != who {
		at += 2 * m.c.Latency
	}
	m.starts[i] = Start{who, at}
	m.add(at+j.Run, 0, func(at int64) {
		m.receive(who, at, func(at int64) { s.free += j.Width; m.look(who, at) })
	})
}

// tell sends what is new, and answers, before requests.
func (m *meeting) tell(who int, at int64, requests []func()) {
	s := m.all[who]
	for k, to := range s.peers {
		all := []int{s.free}
		for n, row := range s.rows {
			if n != k {
				all = append(all, row...)
			}
		}
		if all = ascending(all); slices.Equal(all, s.said[k]) && !s.owes[k] {
			continue
		}
		s.said[k], s.owes[k] = all, false
		seen := s.heard[k]
		m.post(who, k, at, func(back int, _ int64) {
			t := m.all[to]
			t.rows[back] = all
			t.open[back] = slices.DeleteFunc(t.open[back], func(o [2]int) bool { return o[0] <= seen })
			for _, o := range t.open[back] {
				t.rows[back] = without(t.rows[back], o[1])
			}
		})
	}
	for _, request := range requests {
		request()
	}
}

// TestRulesOnceMore: every start is that of the rules, at settings of no given table.
func TestRulesOnceMore(t *testing.T) {
	testbed.Computes(t)
	rng := rand.New(rand.NewPCG(17, 5))
	starts, trees := 0, 0
	for n := range 60 {
		w := Work{Jobs: 60 + rng.IntN(200), Horizon: 100 + float64(rng.IntN(300)), Systems: 1 + rng.IntN([]int{1, 9, 9, 16}[n%4]), Load: 0.4 + 2*rng.Float64(), Prios: 1 + rng.IntN(3),
			Run: []string{"exp", "const", "hyper"}[rng.IntN(3)], Shares: []string{"", "sorted, greatest first"}[rng.IntN(2)]}
		for range 1 + rng.IntN(3) {
			w.Nodes, w.Share = append(w.Nodes, 1+rng.IntN([]int{1, 15, 15}[n%3])), append(w.Share, 0.05+rng.Float64())
		}
		w.Width = []string{"one", "uniform:4", "inverse:6", "powers:8", fmt.Sprint("uniform:", slices.Max(w.Nodes))}[rng.IntN(5)]
		jobs, err := w.Draw(uint64(n + 1))
		if err != nil {
			t.Fatal(err)
		}
		rng.Shuffle(len(jobs), func(a, b int) { jobs[a].ID, jobs[b].ID = jobs[b].ID, jobs[a].ID })
		for i := range jobs {
			jobs[i].Submit -= jobs[i].Submit % []int64{1, 50_000}[n%2] // many at one tick
		}
		c := Config{Handshake: true, Mark: "ack", Latency: []int64{0, 1, 10, 100, 777, 5000}[rng.IntN(6)], Fanout: 2 + rng.IntN(4), Service: []int64{0, 0, 3, 40}[rng.IntN(4)]}
		until := int64(w.Horizon * TicksPerUnit)
		service := c.Service
		for _, c.Mode = range []string{"independent", "full", "tree"} {
			for _, c.Discipline = range []string{"firstfit", "fcfs"} {
				if c.Service = service; c.Mode != "tree" {
					c.Service = 0 // there are no messages
				}
				want := told(c.Mode == "full", c.Discipline == "fcfs", w.NodesOf(), jobs, until)
				if c.Mode == "tree" {
					want = spoken(c, w.NodesOf(), jobs, until)
					trees++
				}
				got, err := Run(t.Context(), c, w.NodesOf(), jobs, w.Horizon, 1)
				if err != nil {
					t.Fatal(err)
				}
				for i := range want {
					if want[i].System >= 0 {
						starts++
					}
					if got.Starts[i].System != want[i].System || want[i].System >= 0 && got.Starts[i] != want[i] {
						t.Fatalf("setting %d, %+v, %+v: job %d starts %+v, by the rules %+v", n, w, c, jobs[i].ID, got.Starts[i], want[i])
					}
				}
			}
		}
	}
	if starts < 20_000 || trees < 100 {
		t.Errorf("only %d starts, %d trees", starts, trees)
	}
	t.Logf("%d starts, %d runs of trees", starts, trees)
}
