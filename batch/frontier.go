package batch

import "math/bits"

// frontier remembers, while a plan only gets fuller, how early jobs could
// start: no job that is as wide and as long as one that was placed, and asks
// for the same of nodes, can start before that.
type frontier struct {
	needs map[*Need]*bounds
	width int // classes that jobs are in, at most
	limit int
}

// bounds are times by classes of width and limit: no job of the least width
// and limit of a class or more can start before the time. They grow with both.
type bounds [widths][limits]int64

const (
	steps  = 4 // classes to a doubling
	widths = 31 * steps
	limits = 62 * steps
	// mostBounds is how many kinds of need are remembered: 250 kB each.
	mostBounds = 16
)

// sizeClass is the class n is in; n is the least of it where exact is true.
func sizeClass(n int64) (class int, exact bool) {
	top := bits.Len64(uint64(n)) - 1
	if top < 2 {
		return top*steps + int(n<<2>>top)&(steps-1), true
	}
	return top*steps + int(n>>(top-2))&(steps-1), n&(1<<(top-2)-1) == 0
}

// expect makes ready for a job.
func (f *frontier) expect(e *entry) {
	w, _ := sizeClass(int64(e.procs))
	l, _ := sizeClass(e.limit)
	f.width, f.limit = max(f.width, w), max(f.limit, l)
}

// least is a time before which a job cannot start.
func (f *frontier) least(j *job) int64 {
	b := f.needs[j.Need]
	if b == nil {
		return 0
	}
	w, _ := sizeClass(int64(j.procs))
	l, _ := sizeClass(j.limit)
	return b[w][l]
}

// learn takes in where a job was placed.
func (f *frontier) learn(j *job) {
	b := f.needs[j.Need]
	if b == nil {
		if len(f.needs) == mostBounds {
			return
		}
		b = &bounds{}
		f.needs[j.Need] = b
	}
	first, exact := sizeClass(int64(j.procs))
	if !exact {
		first++
	}
	from, exact := sizeClass(j.limit)
	if !exact {
		from++
	}
	for w := first; w <= f.width && from <= f.limit && b[w][from] < j.planned; w++ {
		for l := from; l <= f.limit && b[w][l] < j.planned; l++ {
			b[w][l] = j.planned
		}
	}
}
