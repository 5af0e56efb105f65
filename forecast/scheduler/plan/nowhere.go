package plan

import "slices"

// nowhere are, by wish, what jobs asked for that found no slots in this cycle, without those that ask for as much as another
// does, and more: room becomes less from job to job, so what asks for as much finds none either, whatever its width.
type nowhere [][]ask

// ask is what a job asks of slots.
type ask struct {
	procs, nodes, perNode, wall, memory int32
	priority                            float32
}

// mostNowhere is how many of a wish are held against a job at most.
const mostNowhere = 64

func (j *Job) ask() ask { return ask{j.Procs, j.Nodes, j.perNode(), j.Wall, j.Memory, j.Priority} }

// has tells whether a job asks for as much as one that found nothing.
func (n nowhere) has(j *Job) bool {
	a := j.ask()
	return slices.ContainsFunc(n[j.Wish], func(o ask) bool { return a.exceeds(&o) })
}

// add takes in a job that found nothing, unless it asks for as much as one before.
func (n nowhere) add(j *Job) {
	if n.has(j) {
		return
	}
	a := j.ask()
	list := slices.DeleteFunc(n[j.Wish], func(o ask) bool { return o.exceeds(&a) })
	if len(list) < mostNowhere {
		list = append(list, a)
	}
	n[j.Wish] = list
}

// exceeds tells whether slots that are not enough for another are not enough for this. Of memory that of a processor counts:
// a slot of few of them must have its share.
func (a *ask) exceeds(o *ask) bool {
	return a.procs >= o.procs && a.wall >= o.wall && a.nodes == o.nodes && a.priority <= o.priority &&
		int64(a.memory)*int64(o.perNode) >= int64(o.memory)*int64(a.perNode)
}
