package jobs

import "gridbroker/plugins"

// crowd counts jobs that are at back-ends, or are about to be, by what they share a limit with others by: their parent, or
// their category in it.
type crowd map[share]int

type share struct{ parent, category string }

// busy reports whether the job takes a place among those that share its limits. One whose PostScript is still to run has
// left its back-end.
func busy(r *Record) bool {
	return !r.Final() && r.State != plugins.Intended && !awaitsPost(r)
}

// add counts a job.
func (c crowd) add(r *Record) {
	if r.MaxRunning > 0 {
		c[share{parent: r.Parent}]++
	}
	if r.MaxInCategory > 0 {
		c[share{r.Parent, r.Category}]++
	}
}

// full reports whether the limits of a job are reached.
func (c crowd) full(r *Record) bool {
	return r.MaxRunning > 0 && c[share{parent: r.Parent}] >= r.MaxRunning ||
		r.MaxInCategory > 0 && c[share{r.Parent, r.Category}] >= r.MaxInCategory
}

// admit counts a job unless its limits are reached.
func (c crowd) admit(r *Record) bool {
	if c.full(r) {
		return false
	}
	c.add(r)
	return true
}
