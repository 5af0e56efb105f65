// Package clock is the time that deciding and following go by: the machine's,
// or a virtual one.
package clock

import (
	"container/heap"
	"sync"
	"time"
)

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// After sends the time when d has passed.
	After(d time.Duration) <-chan time.Time
}

// Reading is one of a clock that nobody sets. It can be compared with others
// of the same start.
type Reading struct {
	Start string        `json:"start"` // of the clock: which boot of which machine
	Up    time.Duration `json:"up"`    // since then
}

// Since is how long ago an earlier reading was; false where that one was taken
// from another start, so that it cannot be told.
func (r Reading) Since(earlier Reading) (time.Duration, bool) {
	return r.Up - earlier.Up, r.Start == earlier.Start
}

// Steady is a clock that has one within that nobody sets.
type Steady interface {
	Steady() Reading
}

// Read takes a reading: of a clock without a steady one within, its time.
func Read(c Clock) Reading {
	if s, ok := c.(Steady); ok {
		return s.Steady()
	}
	return Reading{Start: "time", Up: c.Now().Sub(time.Unix(0, 0))}
}

// Passed is how long ago a time was that time.Now told, or one like it: as the
// clock says, which goes on while the machine sleeps, or, where the clock was set
// back since, as long as the program has run.
func Passed(then, now time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// Wall is the machine's time.
type Wall struct {
	// Time tells it; nil: time.Now.
	Time func() time.Time
}

// Now implements Clock.
func (w Wall) Now() time.Time {
	if w.Time != nil {
		return w.Time()
	}
	return time.Now()
}

// After implements Clock.
func (w Wall) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Steady implements the interface of that name: for how long the machine has been
// awake since it was started. While it sleeps nobody looks, and what it has yet to
// send waits in its kernel. Where the machine does not tell, it is the time.
func (w Wall) Steady() Reading {
	if start, up, ok := awake(); ok {
		return Reading{Start: start, Up: up}
	}
	return Reading{Start: "time", Up: w.Now().Sub(time.Unix(0, 0))}
}

// Set is a clock that is told the time: waiting takes the machine's time, and
// the steady reading follows what is told.
type Set func() time.Time

// Now implements Clock.
func (s Set) Now() time.Time { return s() }

// After implements Clock.
func (s Set) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Virtual is a clock that goes on when it is told to.
type Virtual struct {
	mu      sync.Mutex
	now     time.Time
	waiting waiters
}

// NewVirtual returns a clock that stands at a time.
func NewVirtual(now time.Time) *Virtual { return &Virtual{now: now} }

// Now implements Clock.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// After implements Clock.
func (v *Virtual) After(d time.Duration) <-chan time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := waiter{at: v.now.Add(d), order: v.waiting.count, c: make(chan time.Time, 1)}
	v.waiting.count++
	if d <= 0 {
		w.c <- v.now
	} else {
		heap.Push(&v.waiting, w)
	}
	return w.c
}

// Advance goes on to a time and wakes those who waited for it or for earlier,
// in the order of their times.
func (v *Virtual) Advance(to time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.waiting.list) > 0 && !v.waiting.list[0].at.After(to) {
		w := heap.Pop(&v.waiting).(waiter)
		v.now = w.at
		w.c <- w.at
	}
	if to.After(v.now) {
		v.now = to
	}
}

// Next is when the first of those who wait is to be woken; false where nobody
// waits.
func (v *Virtual) Next() (time.Time, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.waiting.list) == 0 {
		return time.Time{}, false
	}
	return v.waiting.list[0].at, true
}

type waiter struct {
	at    time.Time
	order int
	c     chan time.Time
}

// waiters is a heap by time, and by order within equal times.
type waiters struct {
	list  []waiter
	count int
}

func (w *waiters) Len() int { return len(w.list) }
func (w *waiters) Less(i, j int) bool {
	if w.list[i].at.Equal(w.list[j].at) {
		return w.list[i].order < w.list[j].order
	}
	return w.list[i].at.Before(w.list[j].at)
}
func (w *waiters) Swap(i, j int) { w.list[i], w.list[j] = w.list[j], w.list[i] }
func (w *waiters) Push(x any)    { w.list = append(w.list, x.(waiter)) }
func (w *waiters) Pop() any {
	last := w.list[len(w.list)-1]
	w.list = w.list[:len(w.list)-1]
	return last
}
