package cli

import (
	"fmt"
	"strings"
	"time"

	"gridbroker/jobs"
)

// foldedFrom is how many jobs of a collection, sweep or DAG are one line of a list.
const foldedFrom = 4

// A jobLine is what stands in one line of a list: a job, or those of one group.
type jobLine []*jobs.Outcome

// of says which jobs are shown: those of a group that is named stay apart.
func (v *jobView) of(sel *selection) {
	v.verb, v.mayFold = sel.verb, len(sel.ids) == 0 && sel.group == ""
}

// lines are the lines of a list: of each group that is folded one, where the first
// of its jobs would be.
func (v *jobView) lines(d *deps, rs []*jobs.Outcome) []jobLine {
	size := map[string]int{}
	if v.folds(d) {
		for _, r := range rs {
			size[r.Parent]++
		}
		delete(size, "")
	}
	out, at := make([]jobLine, 0, len(rs)), map[string]int{}
	for i, r := range rs {
		if size[r.Parent] < foldedFrom {
			out = append(out, rs[i:i+1:i+1])
			continue
		}
		k, ok := at[r.Parent]
		if !ok {
			k, at[r.Parent] = len(out), len(out)
			out = append(out, nil)
		}
		out[k] = append(out[k], r)
	}
	return out
}

// folds tells whether groups are one line: for a person at a terminal who has not said
// what is to be seen. What reads a pipe gets every job.
func (v *jobView) folds(d *deps) bool {
	return v.mayFold && d.env.Terminal && !v.expand && v.output == "" && len(v.columns) == 0 && v.sort == "" && v.limit == 0
}

// text is what a column says of a line: of a group, how many of its jobs are in which
// phase, what is the same of all, and nothing where they differ.
func (l jobLine) text(d *deps, c jobColumn) string {
	if len(l) == 1 {
		return c.text(d, l[0])
	}
	switch c.name {
	case "id":
		return l[0].Parent
	case "name":
		return l.name()
	case "state":
		return l.phases(d)
	case "submitted":
		return since(d, l.submitted())
	}
	first := c.text(d, l[0])
	for _, r := range l[1:] {
		if c.text(d, r) != first {
			return ""
		}
	}
	return first
}

// name is the group's, or else a pattern that its jobs fit.
func (l jobLine) name() string {
	if l[0].ParentName != "" {
		return cut(l[0].ParentName, 30)
	}
	prefix := l[0].Name
	for _, r := range l[1:] {
		for !strings.HasPrefix(r.Name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	if prefix == l[0].Name {
		return cut(prefix, 30)
	}
	return cut(strings.ToValidUTF8(prefix, "")+"*", 30)
}

func (l jobLine) phases(d *deps) string {
	var count [phases]int
	for _, r := range l {
		count[phaseOf(r)]++
	}
	var parts []string
	for p, n := range count {
		if n > 0 {
			parts = append(parts, styled(d, phaseLook[p].style, fmt.Sprintf("%d %s", n, phaseLook[p].word)))
		}
	}
	return strings.Join(parts, ", ")
}

// submitted is when the first of the jobs was.
func (l jobLine) submitted() (first time.Time) {
	for _, r := range l {
		if first.IsZero() || !r.Submitted.IsZero() && r.Submitted.Before(first) {
			first = r.Submitted
		}
	}
	return first
}
