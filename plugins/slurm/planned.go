package slurm

import (
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
)

// hetPass is between two passes of backfill by default, which alone starts heterogeneous jobs.
const hetPass = 30 * time.Second

// plan is the start that Slurm plans; zero: none.
func (e *entry) plan() time.Time {
	if !e.waits() {
		return time.Time{}
	}
	return unix(e.start)
}

// asPlanned lets jobs start no sooner than Slurm plans them to where what they ask for has
// no model: nodes that it names beside others, that are alike, that others share their processors on, nodes of several kinds in one job,
// nodes that only the user's own jobs may share, several partitions that differ, and the parts of a heterogeneous job, which start together.
// Neighbouring nodes, one type of GPU of nodes that have several, and nodes of partitions that leave a part of each
// to others are free when those end behind whom Slurm plans the job: it starts no sooner than they end.
func (c *cluster) asPlanned(now time.Time, jobs []batch.Job, said map[string]*entry) {
	mixed, parted := c.mixed(), map[string]bool{}
	for _, p := range c.parts {
		parted[p["PartitionName"]] = atoi(p["MaxCPUsPerNode"]) > 0
	}
	var before *behind
	ways, shares, alone := c.ways(), c.shares(jobs, said), c.company(jobs)
	for i := range jobs {
		j, e := &jobs[i], said[jobs[i].ID]
		if e == nil || !e.waits() {
			continue
		}
		beside := len(j.Within) == 0 && len(list(e.requested)) > 0 // it has the nodes that it names, and others
		kept := e.sharing == "TOPO" || e.sharing == "USER" && !alone.of(j)
		odd := beside || strings.Contains(e.features, "*") || j.Nodes != 1 && alike(e) || shares.differ(j, e) || kept || ways.differ(j)
		crowded := parted[j.Queue] || j.Nodes != 1 && c.bound(j) || j.GPUs > 0 && mixed.has(j)
		if at := e.plan(); (odd || crowded) && at.After(now) {
			j.Eligible = j.Begin.IsZero() && len(j.After) == 0
			var after []batch.Dependency
			if !odd {
				if before == nil {
					before = c.behind(now, jobs, said)
				}
				after = before.whom(i, now, at)
			}
			if j.After = append(j.After, after...); len(after) == 0 {
				j.Begin = later(j.Begin, at)
			}
		} else if kept && at.IsZero() {
			j.Exclusive = true // others may have what is free of a node
		}
	}
	together(now, jobs, said)
}

// mixed are the types of GPUs of nodes that have several, by queue: how many of each are left there has no model.
type mixed map[[2]string]bool

func (c *cluster) mixed() mixed {
	all := mixed{}
	for _, n := range c.nodes {
		if types := gpuTypes(n["Gres"]); len(types) > 1 {
			for _, queue := range list(n["Partitions"]) {
				for _, one := range types {
					all[[2]string{queue, one}] = true
				}
			}
		}
	}
	return all
}

// has tells whether a job might have one of these nodes.
func (m mixed) has(j *batch.Job) bool {
	return slices.ContainsFunc(j.Features, func(name string) bool {
		return m[[2]string{j.Queue, name}] || slices.ContainsFunc(j.Also, func(queue string) bool { return m[[2]string{queue, name}] })
	})
}

// alike tells whether the nodes of a job must have one feature of "[a|b]" in common.
func alike(e *entry) bool {
	return strings.Contains(e.features, "[") && strings.Contains(e.features, "|")
}

// bound tells whether the nodes of a job must be neighbours (sbatch(1), --contiguous).
func (c *cluster) bound(j *batch.Job) bool {
	_, d, _ := c.demandOf(j.ID)
	return d.bound
}

// shares are the partitions with nodes on which jobs run that let others have their processors, too
// (slurm.conf(5), OverSubscribe), and those with nodes of others: jobs of the two kinds are on no node together.
type shares struct{ theirs, others map[string]bool }

func (c *cluster) shares(jobs []batch.Job, said map[string]*entry) shares {
	s, of := shares{map[string]bool{}, map[string]bool{}}, map[string][]string{}
	for _, n := range c.nodes {
		of[n["NodeName"]] = list(n["Partitions"])
	}
	for i := range jobs {
		e := said[jobs[i].ID]
		if e == nil {
			continue
		}
		kind := s.others
		if e.sharing == "YES" {
			kind = s.theirs
		}
		for _, p := range jobs[i].Placed {
			for _, name := range of[p.Node] {
				kind[name] = true
			}
		}
	}
	return s
}

// differ tells whether jobs of the other kind may be on nodes that a job might have.
func (s shares) differ(j *batch.Job, e *entry) bool {
	of := s.theirs
	if e.sharing == "YES" {
		of = s.others
	}
	return of[j.Queue] || slices.ContainsFunc(j.Also, func(name string) bool { return of[name] })
}

// together lets the parts of a heterogeneous job ("12+0", "12+1") start when the last of them
// can, by Slurm's plan, and none where one never will.
func together(now time.Time, jobs []batch.Job, said map[string]*entry) {
	type whole struct {
		start time.Time
		held  bool
	}
	all := map[string]whole{}
	for i := range jobs {
		leader, _, ok := strings.Cut(jobs[i].ID, "+")
		e := said[jobs[i].ID]
		if !ok || e == nil || !e.waits() {
			continue
		}
		w := all[leader]
		w.held = w.held || jobs[i].Held
		if w.start = later(w.start, now.Add(hetPass)); !w.held {
			w.start = later(w.start, e.plan())
		}
		all[leader] = w
	}
	for i := range jobs {
		leader, _, _ := strings.Cut(jobs[i].ID, "+")
		if w, ok := all[leader]; ok && strings.Contains(jobs[i].ID, "+") && jobs[i].Started.IsZero() {
			jobs[i].Begin, jobs[i].Held = later(jobs[i].Begin, w.start), w.held
		}
	}
}
