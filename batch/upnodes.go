package batch

import "strings"

// upNodes are the nodes of a state that take jobs, in the order of the plan.
type upNodes struct {
	all    []Node
	up     []int             // places there
	places map[string]int    // place in up by name
	sets   map[string]string // see serving
}

func newUpNodes(all []Node) upNodes {
	n := upNodes{all: all, places: map[string]int{}, sets: map[string]string{}}
	for i := range all {
		if all[i].Up && all[i].CPUs > 0 {
			n.places[all[i].Name] = len(n.up)
			n.up = append(n.up, i)
		}
	}
	return n
}

// at is a node by its place in the plan.
func (n *upNodes) at(place int) *Node { return &n.all[n.up[place]] }

// find is the place in the plan of a node that is up.
func (n *upNodes) find(name string) (int, bool) {
	i, ok := n.places[name]
	return i, ok
}

// procs are the processors of all of them.
func (n *upNodes) procs() (sum int) {
	for i := range n.up {
		sum += n.at(i).CPUs
	}
	return sum
}

// amounts are what each has.
func (n *upNodes) amounts() []amounts {
	list := make([]amounts, len(n.up))
	for i := range n.up {
		a := n.at(i)
		list[i] = amounts{a.Memory, a.Disk, int32(a.CPUs), int32(a.GPUs)}
	}
	return list
}

// plan is one in which nothing runs, from a time on.
func (n *upNodes) plan(from int64) *nodePlan {
	p := newNodePlan(from, n.amounts())
	for i := range n.up {
		if n.at(i).Weight != n.at(0).Weight {
			p.weights = n.weights()
			break
		}
	}
	return p
}

// weights are those of each.
func (n *upNodes) weights() []int64 {
	list := make([]int64, len(n.up))
	for i := range n.up {
		list[i] = int64(n.at(i).Weight)
	}
	return list
}

// placed names the nodes of shares.
func (n *upNodes) placed(shares []share) []Placement {
	if len(shares) == 0 {
		return nil
	}
	list := make([]Placement, len(shares))
	for i, s := range shares {
		list[i] = Placement{n.at(int(s.node)).Name, int(s.procs)}
	}
	return list
}

// serving names the set of nodes that serve a queue: by the nodes that name it,
// "" where all nodes serve it.
func (n *upNodes) serving(queue string) string {
	if key, ok := n.sets[queue]; ok {
		return key
	}
	var names []string
	for i := range n.up {
		if a := n.at(i); a.serves(&Job{Queue: queue}) {
			names = append(names, a.Name)
		}
	}
	key := "nodes " + strings.Join(names, " ")
	if len(names) == len(n.up) {
		key = ""
	}
	n.sets[queue] = key
	return key
}

// around lists the nodes of a job's queue, or those that it names.
func (n *upNodes) around(j *Job, need *Need) (nodes []int32) {
	if len(j.Features)+len(j.Without) == 0 {
		return need.on
	}
	for i := range n.up {
		if n.at(i).serves(&Job{Queue: j.Queue, Also: j.Also, Within: j.Within}) {
			nodes = append(nodes, int32(i))
		}
	}
	return nodes
}
