package managers

import "slices"

// waiting are the jobs that have no place yet, in the order in which they are looked at.
type waiting struct {
	queue queue
	added []int             // places of jobs that joined since the last look
	ids   map[Key]int       // how many of each are in the queue
	by    map[Neighbour]int // how many came by each link
}

// enqueue takes a job in.
func (w *waiting) enqueue(j *Job) {
	if w.ids == nil {
		w.ids, w.by = map[Key]int{}, map[Neighbour]int{}
	}
	w.ids[j.Key()]++
	w.by[j.from]++
	at := w.queue.add(j)
	for i, a := range w.added {
		if a >= at {
			w.added[i]++
		}
	}
	w.added = append(w.added, at)
}

// left says that a job is not in the queue any more.
func (w *waiting) left(j *Job) {
	key := j.Key()
	if w.ids[key]--; w.ids[key] <= 0 {
		delete(w.ids, key)
	}
	w.by[j.from]--
}

// remove takes jobs out and returns those that were there.
func (w *waiting) remove(jobs []Key) (gone []Key) {
	out := make(map[Key]bool, len(jobs))
	for _, key := range jobs {
		out[key] = true
	}
	w.queue = slices.DeleteFunc(w.queue, func(j *Job) bool {
		key := j.Key()
		if out[key] {
			gone = append(gone, key)
			w.left(j)
		}
		return out[key]
	})
	return gone
}

// unblock lets jobs go back over a link. It says whether there are any that it concerns.
func (w *waiting) unblock(from Neighbour) (any bool) {
	for _, j := range w.queue {
		if j.block && j.from == from {
			j.block, any = false, true
		}
	}
	return any
}

// age drains the own system for the first job that has waited too long. What is
// drained is told to nobody. At a domain such a job is sent to a system that could run it.
func (w *waiting) age(now int64, d *dispatch, wake *alarm) {
	if d.rules.MaxAge <= 0 {
		return
	}
	t := &d.tables
	for _, j := range w.queue {
		old := j.Submitted + d.rules.MaxAge
		if now < old {
			wake.at(old)
			continue
		}
		if !j.Placed {
			j.Placed, t.better = true, true
		}
		if t.own.drain == (Key{}) && t.own.could(&j.Need) {
			t.own.drain, t.better = j.Key(), true
		}
	}
}

// look looks through the queue, by priority: a job starts in the own system,
// goes to the neighbour whose row fits, or stays. Where no room can have come
// since the last look only jobs that are new are tried, and those that a bound
// of hops keeps: one that would go on if it might ends the look.
func (w *waiting) look(d *dispatch) {
	if !d.tables.better && !(d.rules.StayAtBound && d.rules.MaxHops > 0) {
		w.lookAtNew(d)
		return
	}
	var none failed
	kept, again := w.queue[:0], false
	for i, j := range w.queue {
		isNew := slices.Contains(w.added, i)
		if d.rules.Strict && len(kept) > 0 || !d.tables.better && !isNew && !d.stays(j) || none.covers(&j.Need) {
			kept = keep(kept, w.queue, i)
			d.out.arrived(j, isNew)
			continue
		}
		if d.place(j) {
			w.left(j)
			continue
		}
		again = d.stays(j) && d.fits(j)
		if !again && d.triedInVain(j) {
			none.add(&j.Need)
		}
		if again || none.everything() {
			kept = append(kept, w.queue[i:]...)
			w.arrivedBehind(i, &d.out)
			break
		}
		kept = keep(kept, w.queue, i)
		d.out.arrived(j, isNew)
	}
	clear(w.queue[len(kept):])
	w.queue = kept
	d.tables.better, w.added = again, w.added[:0]
}

// lookAtNew looks at the jobs that joined the queue since the last look, in its order.
func (w *waiting) lookAtNew(d *dispatch) {
	var none failed
	var gone []int
	slices.Sort(w.added)
	for _, i := range w.added {
		j := w.queue[i]
		if d.rules.Strict && i > len(gone) || none.covers(&j.Need) {
			d.out.arrived(j, true)
		} else if d.place(j) {
			w.left(j)
			gone = append(gone, i)
		} else {
			if d.triedInVain(j) {
				none.add(&j.Need)
			}
			d.out.arrived(j, true)
		}
	}
	for _, i := range slices.Backward(gone) {
		w.queue = slices.Delete(w.queue, i, i+1)
	}
	w.added = w.added[:0]
}

// arrivedBehind reports the new jobs from place i of the queue on.
func (w *waiting) arrivedBehind(i int, out *Out) {
	for _, at := range w.added {
		if at >= i {
			out.arrived(w.queue[at], true)
		}
	}
}

// keep adds job i of a queue to those of it that were kept, in the same place.
func keep(kept, all queue, i int) queue {
	if len(kept) == i {
		return all[:i+1]
	}
	return append(kept, all[i])
}
