package batch_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/testdata/testbed"
)

// poolJob is a job of slowPool, with what it holds of the plan: from start or its place on.
type poolJob struct {
	batch.Task
	start, place int64 // -1: none
}

// slowPool is Slurm on equal processors, all of whose places are made anew in every pass.
type slowPool struct {
	procs                       int
	now, interval, window, last int64
	since                       int64 // -1: nothing has happened since the last pass
	resolution                  int64
	waiting, running            []*poolJob
	starts                      map[int64]int64
}

// free is how many processors are at a time.
func (p *slowPool) free(at int64) int {
	n := p.procs
	for _, j := range p.running {
		if at < j.start+j.Limit {
			n -= j.Procs
		}
	}
	for _, j := range p.waiting {
		if j.place >= 0 && j.place <= at && at < j.place+p.rounded(j) {
			n -= j.Procs
		}
	}
	return n
}

func (p *slowPool) rounded(j *poolJob) int64 {
	return (j.Limit + p.resolution - 1) / p.resolution * p.resolution
}

// earliest is the first time before another at which a job fits, -1: there is none.
func (p *slowPool) earliest(j *poolJob, before int64) int64 {
	times := []int64{p.now}
	for _, o := range p.running {
		times = append(times, o.start+o.Limit)
	}
	for _, o := range p.waiting {
		if o.place >= 0 {
			times = append(times, o.place, o.place+p.rounded(o))
		}
	}
	slices.Sort(times)
	for _, from := range times {
		if from < p.now || from >= before {
			continue
		}
		fits := p.free(from) >= j.Procs
		for _, at := range times {
			fits = fits && (at <= from || at >= from+p.rounded(j) || p.free(at) >= j.Procs)
		}
		if fits {
			return from
		}
	}
	return -1
}

func (p *slowPool) begin(j *poolJob) {
	j.start, j.place = p.now, -1
	p.waiting = slices.DeleteFunc(p.waiting, func(o *poolJob) bool { return o == j })
	p.running = append(p.running, j)
	p.starts[j.ID] = p.now
}

// heads is the main loop: the first job starts while it fits beside the places of the others.
func (p *slowPool) heads() {
	for len(p.waiting) > 0 {
		j := p.waiting[0]
		was := j.place
		if j.place = -1; p.earliest(j, p.now+1) != p.now {
			j.place = was
			return
		}
		p.begin(j)
	}
}

// pass is one pass of backfill.
func (p *slowPool) pass() {
	p.last, p.since = p.now, -1
	for _, j := range p.waiting {
		j.place = -1
	}
	step := max(p.window/24, p.interval)
	horizon := (p.now+step-1)/step*step + p.window
	for _, j := range slices.Clone(p.waiting) {
		if j.place = p.earliest(j, horizon); j.place == p.now {
			p.begin(j)
		}
	}
}

// next is when a pass is due, -1: never.
func (p *slowPool) next() int64 {
	at := int64(-1)
	sooner := func(t int64) {
		if at < 0 || t < at {
			at = t
		}
	}
	for _, j := range p.waiting {
		if j.place >= 0 {
			sooner(max(j.place, p.last+p.interval))
		}
	}
	if p.since != -1 && len(p.waiting) > 0 {
		sooner(max(p.last+p.interval, p.since+1, p.now))
	}
	return at
}

// event notes that something has happened, and lets the main loop act.
func (p *slowPool) event() {
	if p.since == -1 {
		p.since = p.now
	}
	p.heads()
}

// run goes through a workload.
func (p *slowPool) run(tasks []batch.Task) {
	for {
		at := p.next()
		sooner := func(t int64) {
			if at < 0 || t < at {
				at = t
			}
		}
		if len(tasks) > 0 {
			sooner(tasks[0].Submit)
		}
		for _, j := range p.running {
			sooner(j.start + j.Run)
		}
		if at < 0 {
			return
		}
		p.now = at
		for ; len(tasks) > 0 && tasks[0].Submit == at; tasks = tasks[1:] {
			p.waiting = append(p.waiting, &poolJob{tasks[0], -1, -1})
			slices.SortStableFunc(p.waiting, func(a, b *poolJob) int { return cmp.Compare(b.Priority, a.Priority) })
			p.event()
		}
		for _, j := range slices.Clone(p.running) {
			if j.start+j.Run == at {
				p.running = slices.DeleteFunc(p.running, func(o *poolJob) bool { return o == j })
				p.event()
			}
		}
		if due := p.next(); due >= 0 && due <= at {
			p.heads()
			p.pass()
		}
	}
}

// TestSlurmPool: on equal processors, as a trace without nodes is replayed, every start is that of a
// Slurm that makes all places anew in every pass, where jobs take their limits and where they end before.
func TestSlurmPool(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 97))
		p := batch.Slurm{Interval: time.Duration(1+rng.IntN(90)) * time.Second, Resolution: time.Duration(1+59*rng.IntN(2)) * time.Second, Window: time.Duration(1+rng.IntN(4)) * time.Hour}
		var tasks []batch.Task
		at := int64(0)
		for id := range int64(40) {
			limit := int64(1+rng.IntN(40)) * []int64{17, 60}[seed%2]
			task := batch.Task{ID: id, Submit: at, Limit: limit, Run: limit, Procs: 1 + rng.IntN(6), Priority: float64(rng.IntN(4))}
			if seed%4 > 1 {
				task.Run = 1 + rng.Int64N(limit)
			}
			tasks = append(tasks, task)
			at += rng.Int64N(200) * int64(rng.IntN(2))
		}
		slow := slowPool{procs: 6, interval: int64(p.Interval / time.Second), resolution: int64(p.Resolution / time.Second), window: int64(p.Window / time.Second), last: -1 << 40, since: -1 << 40, starts: map[int64]int64{}}
		slow.run(tasks)
		m, err := batch.NewMachine(6, batch.Policy{Name: "slurm", Slurm: p})
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]int64{}
		for s, err := range m.Replay(func(yield func(batch.Task, error) bool) {
			for _, task := range tasks {
				if !yield(task, nil) {
					return
				}
			}
		}) {
			if err != nil {
				t.Fatal(err)
			}
			got[s.ID] = s.Start
		}
		if fmt.Sprint(got) != fmt.Sprint(slow.starts) {
			t.Fatalf("seed %d, %+v:\n%v\nwant\n%v", seed, p, got, slow.starts)
		}
	}
}
