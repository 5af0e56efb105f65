package slurm

import (
	"cmp"
	"slices"
	"time"

	"gridbroker/batch"
)

// owned is a node that jobs of one user alone may share for now.
type owned struct {
	node, user string
	until      time.Time
	rest       int // processors that nobody has
}

// longOwned is for how long a node is taken to be its user's where the job has no limit.
const longOwned = 365 * 24 * time.Hour

// owners keeps nodes for the users of running jobs that share theirs with no other user
// (sbatch(1), --exclusive=user; slurm.conf(5), ExclusiveUser), until the last of these jobs
// ends. Where a user has no jobs that wait, what is left of the nodes is kept for nobody, as
// long as each is the user's; else the nodes are the user's as long as the last of them is.
func (c *cluster) owners(s *batch.State, said map[string]*entry) {
	nodes := c.ownedNodes(s, said)
	if len(nodes) == 0 {
		return
	}
	waits := map[string]bool{}
	for i := range s.Jobs {
		if s.Jobs[i].Started.IsZero() {
			waits[s.Jobs[i].User] = true
		}
	}
	kept := map[owned]*batch.Reservation{}
	for _, n := range nodes {
		key := owned{until: n.until, rest: n.rest}
		if waits[n.user] {
			key = owned{user: n.user}
		} else if n.rest <= 0 {
			continue
		}
		r := kept[key]
		if r == nil {
			r = &batch.Reservation{Name: "node " + n.node, Start: s.Now, End: n.until, ByName: key.user == "", Each: key.rest}
			if key.user != "" {
				r.Users = []string{n.user}
			}
			kept[key] = r
		}
		r.Nodes, r.End = append(r.Nodes, n.node), later(r.End, n.until)
	}
	first := len(s.Reservations)
	for _, r := range kept {
		s.Reservations = append(s.Reservations, *r)
	}
	slices.SortFunc(s.Reservations[first:], func(a, b batch.Reservation) int { return cmp.Compare(a.Name, b.Name) })
}

// ownedNodes lists the nodes that are a user's, in order.
func (c *cluster) ownedNodes(s *batch.State, said map[string]*entry) []owned {
	rest, of := map[string]int{}, map[string]owned{}
	for i := range s.Nodes {
		rest[s.Nodes[i].Name] = s.Nodes[i].CPUs
	}
	for _, j := range s.Jobs {
		for _, p := range j.Placed {
			if !j.Suspended {
				rest[p.Node] -= p.Procs
			}
		}
		if e := said[j.ID]; j.Started.IsZero() || e == nil || e.sharing != "USER" {
			continue
		}
		until := later(j.Started.Add(j.Requested), s.Now.Add(time.Minute)) // one that outlasts its limit does not for long
		if j.Requested <= 0 {
			until = s.Now.Add(longOwned)
		}
		for _, p := range j.Placed {
			of[p.Node] = owned{p.Node, j.User, later(of[p.Node].until, until), 0}
		}
	}
	list := make([]owned, 0, len(of))
	for name, n := range of {
		n.rest = rest[name]
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b owned) int { return cmp.Compare(a.node, b.node) })
	return list
}
