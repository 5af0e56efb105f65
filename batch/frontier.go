package batch

import (
	"math/bits"
	"slices"
)

// frontier remembers, while a plan only gets fuller, how early jobs could
// start: no job that is as wide and as long as one that was placed, and asks
// for as much of nodes, can start before that.
type frontier struct {
	needs []asked // by Need.id; those that the same places meet share their bounds
	plan  *nodePlan
	// heaviest is the most memory for a processor that any job asks for or has, ample
	// whether every node has that for each of its processors: then it has room for a
	// job's memory wherever it has for its processors.
	heaviest int64
	ample    bool
	width    int // classes that jobs are in, at most
	limit    int
	// strange: it was asked about a job unlike those it was made for.
	strange bool
}

// asked is a need that jobs have, and what is known of these.
type asked struct {
	need *Need
	*bounds
}

// bounds are times by classes of width and limit: no job of the least width
// and limit of a class or more can start before the time. They grow with both.
type bounds struct {
	at     []int64   // by width and limit
	weaker []*bounds // of needs that are met wherever this one is, itself among them
	fresh  bool      // nothing was learned
}

// steps is the number of classes to a doubling.
const steps = 4

// mostBounds bounds what is remembered, in numbers.
const mostBounds = 1 << 22

// anew is a frontier that knows nothing yet, in the memory of this one where it
// knows the needs of the jobs, else for the jobs of a queue.
func (f *frontier) anew(queue *waiting, m *Machine) *frontier {
	if f == nil || f.strange {
		return newFrontier(queue, m)
	}
	for _, b := range f.needs {
		if b.bounds != nil && !b.fresh {
			clear(b.at)
			b.fresh = true
		}
	}
	return f
}

// newFrontier is for the jobs of a queue.
func newFrontier(queue *waiting, m *Machine) *frontier {
	if m.plain {
		return nil
	}
	f := &frontier{}
	f.plan, _ = m.plan.(*nodePlan)
	for _, b := range queue.blocks {
		for i := range b.jobs {
			f.expect(&b.jobs[i], m.jobs[b.jobs[i].job].Need)
		}
	}
	kinds := f.kinds()
	size := (f.width + 1) * (f.limit + 1)
	if size*len(kinds) > mostBounds {
		return nil
	}
	for _, n := range kinds {
		b := f.of(n)
		b.at, b.fresh = make([]int64, size), true
		for _, o := range kinds {
			if o == n || o.weaker(n, f.ample) {
				b.weaker = append(b.weaker, f.of(o))
			}
		}
	}
	return f
}

// kinds finds the needs that the same places meet, and returns one of each kind.
func (f *frontier) kinds() (list []*Need) {
	if f.plan != nil {
		f.heaviest = f.plan.heaviest
		for _, a := range f.needs {
			if a.need != nil {
				f.heaviest = max(f.heaviest, a.need.Memory)
			}
		}
		f.ample = f.heaviest <= f.plan.leanest
	}
	for id := range f.needs {
		a := &f.needs[id]
		if a.bounds == nil {
			continue
		}
		n := a.need
		i := slices.IndexFunc(list, func(o *Need) bool { return n.weaker(o, f.ample) && o.weaker(n, f.ample) })
		if i < 0 {
			list = append(list, n)
		} else {
			a.bounds = f.of(list[i])
		}
	}
	return list
}

// weaker tells whether every place for a job that asks for o is one for a job of
// the same size that asks for n; ample: whatever memory they ask for.
func (n *Need) weaker(o *Need, ample bool) bool {
	if n.Nodes != 0 && n.Nodes != o.Nodes || n.Memory > o.Memory && !ample || n.Disk > o.Disk || n.GPUs > o.GPUs || n.Each > 1 && n.Each != o.Each || n.Core > 1 && n.Core != o.Core || n.Whole != o.Whole || n.MaxNodes != 0 && n.MaxNodes != o.MaxNodes ||
		n.access != o.access || n.from != o.from || n.to != o.to {
		return false
	}
	for i, w := range o.serve {
		if i >= len(n.serve) && w != 0 || i < len(n.serve) && w&^n.serve[i] != 0 {
			return false
		}
	}
	return true
}

// sizeClass is the class n is in; n is the least of it where exact is true.
func sizeClass(n int64) (class int, exact bool) {
	top := bits.Len64(uint64(n)) - 1
	if top < 2 {
		return top*steps + int(n<<2>>top)&(steps-1), true
	}
	return top*steps + int(n>>(top-2))&(steps-1), n&(1<<(top-2)-1) == 0
}

// expect makes ready for a job.
func (f *frontier) expect(e *entry, n *Need) {
	w, _ := sizeClass(int64(e.procs))
	l, _ := sizeClass(e.limit)
	f.width, f.limit = max(f.width, w), max(f.limit, l)
	id := n.number()
	for id >= len(f.needs) {
		f.needs = append(f.needs, asked{})
	}
	if a := &f.needs[id]; a.need != n || a.bounds == nil {
		*a = asked{n, &bounds{}}
	}
}

// number is a need's place among those of the cluster, from 1; 0: it is none of these.
func (n *Need) number() int {
	if n == nil {
		return 0
	}
	return n.id
}

// of is what is known of the jobs that have a need; nil: they were not expected.
func (f *frontier) of(n *Need) *bounds {
	if id := n.number(); id < len(f.needs) && f.needs[id].need == n {
		return f.needs[id].bounds
	}
	return nil
}

// least is a time before which a job cannot start.
func (f *frontier) least(j *job) (at int64) {
	if f == nil {
		return 0
	}
	w, _ := sizeClass(int64(j.procs))
	l, _ := sizeClass(j.limit)
	known := f.of(j.Need)
	if w > f.width || l > f.limit || known == nil || f.heavier() {
		f.strange = true
		return 0
	}
	for _, b := range known.weaker {
		at = max(at, b.at[w*(f.limit+1)+l])
	}
	return at
}

// heavier tells whether a job has more memory than was known of.
func (f *frontier) heavier() bool { return f.plan != nil && f.plan.heaviest > f.heaviest }

// learn takes in where a job was placed.
func (f *frontier) learn(j *job) {
	if f == nil {
		return
	}
	b := f.of(j.Need)
	if b == nil || f.heavier() {
		return
	}
	b.fresh = false
	first, exact := sizeClass(int64(j.procs))
	if !exact {
		first++
	}
	from, exact := sizeClass(j.limit)
	if !exact {
		from++
	}
	for w := first; w <= f.width && from <= f.limit; w++ {
		row := b.at[w*(f.limit+1):]
		if row[from] >= j.planned {
			return
		}
		for l := from; l <= f.limit && row[l] < j.planned; l++ {
			row[l] = j.planned
		}
	}
}
