package batch

import (
	"cmp"
	"slices"
	"sort"
)

// waiting is an ordered list of waiting jobs that can be asked for the next
// job that fits one of some windows. Like the profile it is kept in blocks,
// each with the least width and length among its jobs.
type waiting struct {
	blocks []*queueBlock
	n      int
}

type queueBlock struct {
	jobs  []entry
	procs int32 // no job of the block is narrower
	limit int64 // no job of the block is shorter
}

// entry is a waiting job: key orders, then seq; smallest first.
type entry struct {
	key   float64
	seq   int64
	limit int64
	procs int32
	job   int32
	kind  int32 // of what it has that jobs share
}

func (e entry) compare(f entry) int {
	return cmp.Or(cmp.Compare(e.key, f.key), cmp.Compare(e.seq, f.seq))
}

// after tells whether e comes after f.
func (e *entry) after(f *entry) bool { return e.key > f.key || e.key == f.key && e.seq > f.seq }

// clone copies the list, into the memory of an older copy.
func (w *waiting) clone(old waiting) waiting {
	c := waiting{blocks: old.blocks[:min(len(old.blocks), len(w.blocks))], n: w.n}
	for i, b := range w.blocks {
		if i == len(c.blocks) {
			c.blocks = append(c.blocks, &queueBlock{})
		}
		into := c.blocks[i]
		into.jobs, into.procs, into.limit = append(into.jobs[:0], b.jobs...), b.procs, b.limit
	}
	return c
}

// find returns the place of e, or where it would stand.
func (w *waiting) find(e entry) (place, bool) {
	b := sort.Search(len(w.blocks), func(i int) bool { return w.blocks[i].jobs[0].after(&e) }) - 1
	if b < 0 {
		return place{}, false
	}
	jobs := w.blocks[b].jobs
	i := sort.Search(len(jobs), func(i int) bool { return !e.after(&jobs[i]) })
	return place{b, i}, i < len(jobs) && !jobs[i].after(&e)
}

func (w *waiting) insert(e entry) {
	w.n++
	if len(w.blocks) == 0 {
		w.blocks = []*queueBlock{{[]entry{e}, e.procs, e.limit}}
		return
	}
	at, _ := w.find(e)
	b := w.blocks[at.b]
	b.jobs = slices.Insert(b.jobs, at.i, e)
	b.procs, b.limit = min(b.procs, e.procs), min(b.limit, e.limit)
	if len(b.jobs) >= 2*blockSize {
		half := &queueBlock{jobs: slices.Clone(b.jobs[blockSize:])}
		b.jobs = b.jobs[:blockSize]
		w.blocks = slices.Insert(w.blocks, at.b+1, half)
		b.bound()
		half.bound()
	}
}

func (w *waiting) remove(e entry) bool {
	at, ok := w.find(e)
	if ok {
		w.removeAt(at)
	}
	return ok
}

// removeAt takes out the entry at a place; the place is then the next one's,
// or past the end of its block.
func (w *waiting) removeAt(at place) {
	b := w.blocks[at.b]
	w.n--
	if b.jobs = slices.Delete(b.jobs, at.i, at.i+1); len(b.jobs) == 0 {
		w.blocks = slices.Delete(w.blocks, at.b, at.b+1)
	}
}

func (b *queueBlock) bound() {
	b.procs, b.limit = b.jobs[0].procs, b.jobs[0].limit
	for _, e := range b.jobs[1:] {
		b.procs, b.limit = min(b.procs, e.procs), min(b.limit, e.limit)
	}
}

// sort orders the list anew, after keys have changed.
func (w *waiting) sort() {
	all := make([]entry, 0, w.n)
	for _, b := range w.blocks {
		all = append(all, b.jobs...)
	}
	slices.SortFunc(all, entry.compare)
	for _, b := range w.blocks {
		all = all[copy(b.jobs, all):]
		b.bound()
	}
}

// head returns the first job.
func (w *waiting) head() (entry, bool) {
	if w.n == 0 {
		return entry{}, false
	}
	return w.blocks[0].jobs[0], true
}

// place is a position in the list.
type place struct{ b, i int }

// at returns the entry at a place and the place itself in normal form.
func (w *waiting) at(p place) (entry, place, bool) {
	for p.b < len(w.blocks) && p.i >= len(w.blocks[p.b].jobs) {
		p = place{p.b + 1, 0}
	}
	if p.b >= len(w.blocks) {
		return entry{}, p, false
	}
	return w.blocks[p.b].jobs[p.i], p, true
}

// open passes over the jobs from a place on whose kind is not open, and tells how many these are.
func (w *waiting) open(p place, kinds []bool) (place, int) {
	passed := 0
	for ; p.b < len(w.blocks); p = (place{p.b + 1, 0}) {
		jobs := w.blocks[p.b].jobs[min(p.i, len(w.blocks[p.b].jobs)):]
		for i := range jobs {
			if kinds[jobs[i].kind] {
				return place{p.b, p.i + i}, passed + i
			}
		}
		passed += len(jobs)
	}
	return p, passed
}

// window says that up to procs processors are free from now for span seconds.
type window struct {
	procs int32
	span  int64
}

// windows are ordered: fewer and fewer processors for longer and longer.
type windows []window

// admit tells whether a job of this width and length fits one of the windows.
func (ws windows) admit(procs int32, limit int64) bool {
	for _, w := range ws {
		if procs <= w.procs && limit <= w.span {
			return true
		}
	}
	return false
}

// next finds the first job from a place on that fits a window.
func (w *waiting) next(p place, ws windows) (place, bool) {
	if len(ws) == 0 || ws[0].procs <= 0 {
		return p, false
	}
	for ; p.b < len(w.blocks); p = (place{p.b + 1, 0}) {
		b := w.blocks[p.b]
		if !ws.admit(b.procs, b.limit) {
			continue
		}
		for whole := p.i == 0; p.i < len(b.jobs); p.i++ {
			e := &b.jobs[p.i]
			if e.procs <= ws[0].procs && ws.admit(e.procs, e.limit) {
				return p, true
			}
			if whole && p.i == len(b.jobs)-1 {
				b.bound() // nothing fits: make the bounds tight again
			}
		}
	}
	return p, false
}
