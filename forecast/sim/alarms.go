package sim

import "container/heap"

// alarms keep the next time of each of many, and find the earliest.
type alarms struct {
	at   []int64 // by number; never: none
	heap ringing
}

// alarm is a time that somebody asked for; a later word of his makes it void.
type alarm struct {
	at  int64
	who int
}

type ringing []alarm

func (r ringing) Len() int { return len(r) }
func (r ringing) Less(i, j int) bool {
	return r[i].at < r[j].at || r[i].at == r[j].at && r[i].who < r[j].who
}
func (r ringing) Swap(i, j int) { r[i], r[j] = r[j], r[i] }

// Push adds an alarm.
func (r *ringing) Push(x any) { *r = append(*r, x.(alarm)) }

// Pop removes the last alarm.
func (r *ringing) Pop() any {
	old := *r
	last := old[len(old)-1]
	*r = old[:len(old)-1]
	return last
}

// add takes one more in and returns its number.
func (a *alarms) add() int {
	a.at = append(a.at, never)
	return len(a.at) - 1
}

// set changes somebody's next time.
func (a *alarms) set(who int, at int64) {
	if a.at[who] == at {
		return
	}
	a.at[who] = at
	if at != never {
		heap.Push(&a.heap, alarm{at, who})
	}
}

// next is the earliest time.
func (a *alarms) next() int64 {
	for len(a.heap) > 0 {
		if first := a.heap[0]; a.at[first.who] == first.at {
			return first.at
		}
		heap.Pop(&a.heap)
	}
	return never
}

// due returns who is first of those whose time has come, and takes it away.
func (a *alarms) due(now int64) (who int, ok bool) {
	if a.next() > now || len(a.heap) == 0 {
		return 0, false
	}
	who = heap.Pop(&a.heap).(alarm).who
	a.at[who] = never
	return who, true
}
