package local

import (
	"sync/atomic"
	"time"
)

// memory measures the most memory that a program and what it starts have, in
// kB. What the system tells at the end (getrusage(2)) counts what the process
// had before it became the program, which is what this one has: below that, only
// looking tells.
type memory struct {
	below int64 // what this process had at most
	peak  atomic.Int64
	stop  chan struct{}
}

// Times between two looks: short at first, for programs that end at once.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = 2 * time.Second
)

// watchMemory looks at a program that was just started, until it ends or needs
// no more looking at.
func watchMemory(pid int) *memory {
	m := &memory{below: peakKB("self"), stop: make(chan struct{})}
	m.look(pid)
	go func() {
		for pause := firstLook; m.peak.Load() <= m.below; pause = min(2*pause, lastLook) {
			select {
			case <-m.stop:
				return
			case <-time.After(pause):
				m.look(pid)
			}
		}
	}()
	return m
}

// look takes the largest process of the program's into account.
func (m *memory) look(pid int) {
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		m.peak.Store(max(m.peak.Load(), peakOf(todo[0])))
		todo = append(todo, childrenOf(todo[0])...)
	}
}

// end is the most memory the program had; told is what the system says of it. 0:
// it ended before anybody could look.
func (m *memory) end(told int64) int64 {
	close(m.stop)
	if told > m.below {
		return told
	}
	return min(told, m.peak.Load())
}
