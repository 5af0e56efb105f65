package batch

import "slices"

// timetable is the planned starts of waiting jobs, the next first; of equal
// ones the one that was planned first. It is a binary heap that knows where
// each job stands, so that a job can be moved or taken out.
type timetable struct {
	heap  agenda
	where []int32 // place in the heap by job; valid for jobs that are in it
	count int64
}

func (t *timetable) clone() timetable {
	return timetable{slices.Clone(t.heap), slices.Clone(t.where), t.count}
}

// next is the first planned start, or never.
func (t *timetable) next() int64 {
	if len(t.heap) == 0 {
		return never
	}
	return t.heap[0].at
}

// has tells whether a job is in the table.
func (t *timetable) has(id int32) bool {
	return int(id) < len(t.where) && int(t.where[id]) < len(t.heap) && t.heap[t.where[id]].job == id
}

// set plans a job for the time at, which is not later than its plan so far.
func (t *timetable) set(id int32, at int64) {
	t.count++
	d := due{at, t.count, id}
	if t.has(id) {
		t.up(int(t.where[id]), d)
		return
	}
	for int(id) >= len(t.where) {
		t.where = append(t.where, 0)
	}
	t.heap = append(t.heap, d)
	t.up(len(t.heap)-1, d)
}

// pop takes out the next job.
func (t *timetable) pop() int32 {
	id := t.heap[0].job
	t.drop(id)
	return id
}

// drop takes a job out.
func (t *timetable) drop(id int32) {
	n := len(t.heap) - 1
	last, i := t.heap[n], int(t.where[id])
	if t.heap = t.heap[:n]; i == n {
		return
	}
	if i > 0 && last.before(t.heap[(i-1)/2]) {
		t.up(i, last)
		return
	}
	t.down(i, last)
}

// up puts d, which belongs at place i or above, into its place.
func (t *timetable) up(i int, d due) {
	for i > 0 {
		parent := (i - 1) / 2
		if !d.before(t.heap[parent]) {
			break
		}
		t.put(i, t.heap[parent])
		i = parent
	}
	t.put(i, d)
}

// down puts d, which belongs at place i or below, into its place.
func (t *timetable) down(i int, d due) {
	for child := 2*i + 1; child < len(t.heap); child = 2*i + 1 {
		if child+1 < len(t.heap) && t.heap[child+1].before(t.heap[child]) {
			child++
		}
		if !t.heap[child].before(d) {
			break
		}
		t.put(i, t.heap[child])
		i = child
	}
	t.put(i, d)
}

func (t *timetable) put(i int, d due) { t.heap[i], t.where[d.job] = d, int32(i) }
