// Package simtest runs the whole of deciding, keeping and following in virtual
// time: several processes over one store, a network that delays, loses,
// doubles and reorders messages, back-ends that answer late, die and come back
// with old state, clocks that jump, and processes that are killed between any
// two of their effects. A seed replays a run.
package simtest

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// world is virtual time with what happens in it. One thing happens at a time:
// a process runs until it waits for something, then the next event is due.
type world struct {
	now    time.Time
	rng    *rand.Rand
	events events
	count  int
	faults []string // what broke an invariant
	trace  func(format string, args ...any)
}

var begin = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

func newWorld(seed uint64) *world {
	return &world{now: begin, rng: rand.New(rand.NewPCG(seed, 17)), trace: func(string, ...any) {}}
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// between is a random length of time.
func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rng.Int64N(int64(high-low)+1))
}

// at lets f happen at a time.
func (w *world) at(t time.Time, f func()) {
	w.count++
	heap.Push(&w.events, event{t, w.count, f})
}

// run lets everything happen.
func (w *world) run() {
	for len(w.events) > 0 && len(w.faults) == 0 {
		e := heap.Pop(&w.events).(event)
		if e.at.After(w.now) {
			w.now = e.at
		}
		if e.do(); w.now.Sub(begin) > tooLong {
			w.faults = append(w.faults, "jobs do not come to an end")
		}
	}
}

// tooLong is when every story should long be over.
const tooLong = 200 * time.Hour

type event struct {
	at    time.Time
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// process is one run of the command. It may be killed at any of its effects;
// from then on nothing it does has any.
type process struct {
	*world
	name     string
	dead     bool
	effects  int
	killAt   int // the effect at which it is killed; 0: never
	shift    *time.Duration
	go_, out chan struct{}
}

// start lets a process begin at a time. Its clock is that of its machine.
func (w *world) start(t time.Time, name string, killAt int, shift *time.Duration, main func(*process)) {
	p := &process{world: w, name: name, killAt: killAt, shift: shift, go_: make(chan struct{}), out: make(chan struct{})}
	w.at(t, func() {
		go func() {
			<-p.go_
			defer func() {
				p.dead = true
				p.out <- struct{}{}
			}()
			main(p)
		}()
		p.resume()
	})
}

// resume lets the process run until it waits.
func (p *process) resume() {
	p.go_ <- struct{}{}
	<-p.out
}

// sleep waits for a length of virtual time.
func (p *process) sleep(d time.Duration) {
	if p.dead {
		return
	}
	p.at(p.now.Add(d), p.resume)
	p.out <- struct{}{}
	<-p.go_
}

// effect is a point at which the process may be killed; it reports whether the
// process lives.
func (p *process) effect() bool {
	p.effects++
	if p.effects == p.killAt && !p.dead {
		p.trace("%s is killed at its effect %d", p.name, p.effects)
		p.dead = true
	}
	return !p.dead
}
