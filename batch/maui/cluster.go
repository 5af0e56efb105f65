package maui

import (
	"cmp"
	"slices"
)

// cluster is what the resource manager said, with what is configured of it.
type cluster struct {
	*Scheduler
	now    int64
	nodes  []*node
	byName map[string]*node
	jobs   []*job // in order of priority, the first seen first among equals
	parts  []part
	procs  int64           // of nodes that are up
	have   quantity        // all nodes
	wishes map[wish][]byte // what is known of the nodes, see planner.feasible
}

// part is the nodes of one partition.
type part struct {
	name  string
	nodes []*node
	procs int64
}

// setNodes takes in the nodes.
func (r *cluster) setNodes(nodes []Node) {
	r.byName = make(map[string]*node, len(nodes))
	r.nodes = make([]*node, len(nodes))
	nodes, all := slices.Clone(nodes), make([]node, len(nodes)) // states change as jobs are suspended
	index := map[string]int{}
	for i := range nodes {
		n := &all[i]
		*n = node{Node: &nodes[i], at: i, config: r.Config.Nodes[nodes[i].Name], load: nodes[i].Load}
		n.have = quantity{n.Procs, n.Memory, n.Disk, n.Swap, 0, n.GPUs}
		r.have.add(n.have, 1)
		r.nodes[i], r.byName[n.Name] = n, n
		name := n.partition()
		at, ok := index[name]
		if !ok {
			at = len(r.parts)
			index[name] = at
			r.parts = append(r.parts, part{name: name})
		}
		p := &r.parts[at]
		p.nodes = append(p.nodes, n)
		if p.procs += n.Procs; n.up() {
			r.procs += n.Procs
		}
	}
	slices.SortStableFunc(r.parts, func(a, b part) int {
		return cmp.Compare(b2i(b.name == "DEFAULT"), b2i(a.name == "DEFAULT"))
	})
	r.setStanding()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// setStanding puts the standing reservations on their nodes.
func (r *cluster) setStanding() {
	for i, s := range r.Config.Standing {
		for _, host := range s.Hosts {
			if n := r.byName[host]; n != nil {
				n.standing = append(n.standing, i)
				n.hold(held{from: 0, to: never, amount: n.have, standing: i})
			}
		}
	}
}

// setJobs takes in the jobs.
func (r *cluster) setJobs(jobs []Job) {
	all := make([]job, len(jobs))
	r.jobs = make([]*job, len(jobs))
	copies := slices.Clone(jobs)
	for i := range copies {
		j := &all[i]
		r.jobs[i] = j
		r.setJob(j, &copies[i], i)
	}
}

// setJob makes the record of one job.
func (r *cluster) setJob(j *job, of *Job, place int) {
	m := r.known[of.ID]
	if m == nil {
		r.order++
		m = &memory{order: r.order, since: of.Queued}
		r.known[of.ID] = m
	}
	m.seen = r.now
	r.complete(of)
	*j = job{Job: of, memory: m, place: place, limit: of.Limit}
	each := max(1, of.TaskProcs)
	j.each = quantity{each, of.Memory, of.Disk, of.Swap, b2i64(of.Class != ""), of.GPUs}
	j.procs = max(1, of.Tasks*each)
	for _, h := range of.Hosts {
		if n := r.byName[h]; n != nil {
			j.hosts = append(j.hosts, n)
		}
	}
	allowed := r.setQOS(j)
	flags := func(f string) bool { return slices.Contains(j.qos.Flags, f) }
	j.only = r.Config.Access == "SINGLEJOB" || r.Config.Access == "SINGLETASK" || flags("DEDICATED")
	j.preemptor, j.preemptee = flags("PREEMPTOR"), flags("PREEMPTEE") || m.backfill
	switch {
	case of.State != JobIdle:
	case !allowed:
		r.postpone(j)
	case r.tooLarge(j):
		m.held = "PolicyViolation"
	default:
		m.held = ""
	}
}

func b2i64(b bool) int64 { return int64(b2i(b)) }

// endless is the limit of a job without one: 99 days, 23:59:59.
const endless = 100*86400 - 1

// complete gives a job what its class and credentials say for those that say
// nothing themselves.
func (r *cluster) complete(of *Job) {
	if of.Account == "" {
		of.Account = r.account0(of)
	}
	class, base := r.Config.Classes.find(of.Class), r.Config.Classes.find("DEFAULT")
	if of.Limit <= 0 {
		of.Limit = cmp.Or(max(0, class.Limit), max(0, base.Limit), max(0, r.Config.MaxJobTime), endless)
	}
	if len(of.Features) == 0 && of.Class != "" {
		if of.Features = class.Features; len(of.Features) == 0 {
			of.Features = base.Features
		}
	}
}

// account0 is the account of a job that names none.
func (r *cluster) account0(j *Job) string {
	return cmp.Or(r.Config.Users.find(j.User).Account, r.Config.Groups.find(j.Group).Account,
		r.Config.Users.find("DEFAULT").Account, r.Config.Groups.find("DEFAULT").Account)
}

// tasks counts the nodes of a task list in the order in which they come.
func (r *cluster) tasks(list []string) (tasks []placed) {
	for _, name := range list {
		n := r.byName[name]
		if n == nil {
			continue
		}
		if at := slices.IndexFunc(tasks, func(t placed) bool { return t.node == n }); at >= 0 {
			tasks[at].tasks++
			continue
		}
		tasks = append(tasks, placed{n, 1})
	}
	return tasks
}

// postpone holds a job back for a while.
func (r *cluster) postpone(j *job) {
	if r.Config.Defer > 0 && j.deferred <= r.now {
		j.deferred = r.now + r.Config.Defer
	}
}

// tooLarge tells whether a job breaks a limit on single jobs of its class.
func (r *cluster) tooLarge(j *job) bool {
	if j.Class == "" {
		return false
	}
	class, base := r.Config.Classes.find(j.Class), r.Config.Classes.find("DEFAULT")
	longest, least := cmp.Or(class.MaxLimit, base.MaxLimit), cmp.Or(class.MinLimit, base.MinLimit)
	nodes, procs := cmp.Or(class.MaxNodes, base.MaxNodes), cmp.Or(class.MaxTasks, base.MaxTasks)
	for _, own := range []int64{r.Config.Users.find(j.User).MaxLimit, r.Config.Groups.find(j.Group).MaxLimit} {
		if own > 0 && (longest == 0 || own < longest) {
			longest = own
		}
	}
	return longest > 0 && j.Limit > longest || least > 0 && j.Limit < least || nodes > 0 && j.Nodes > nodes || procs > 0 && j.Tasks > procs ||
		j.Nodes > 0 && j.Nodes < cmp.Or(class.MinNodes, base.MinNodes) || j.Tasks < cmp.Or(class.MinTasks, base.MinTasks)
}

// admits tells whether a standing reservation lets a job in.
func (r *cluster) admits(standing int, j *job) bool {
	s := &r.Config.Standing[standing]
	return slices.Contains(s.Users, j.User) || slices.Contains(s.Groups, j.Group) || j.Account != "" && slices.Contains(s.Accounts, j.Account) ||
		j.Class != "" && slices.Contains(s.Classes, j.Class) || slices.Contains(s.QOSes, j.qosName)
}

// favoured tells whether a node is kept for the likes of a job.
func (r *cluster) favoured(j *job, n *node) bool {
	return slices.ContainsFunc(n.standing, func(s int) bool { return r.admits(s, j) })
}

// credentials lists those of a job that are set.
func (r *cluster) credentials(j *job) []owner {
	list := make([]owner, 0, ownerKinds)
	for kind, name := range [ownerKinds]string{j.User, j.Group, j.Account, j.Class, j.qosName} {
		if name != "" {
			list = append(list, owner{kind, name})
		}
	}
	return list
}

// equivalents are the processor equivalents of a job: the largest share of any
// resource of the cluster, times its processors.
func (r *cluster) equivalents(j *job) float64 {
	have := r.have
	if have.procs == 0 {
		return 0
	}
	share := float64(j.each.procs) / float64(have.procs)
	for _, p := range [...][2]int64{{j.each.mem, have.mem}, {j.each.disk, have.disk}, {j.each.swap, have.swap}} {
		if p[0] > 0 && p[1] > 0 {
			share = max(share, float64(p[0])/float64(p[1]))
		}
	}
	return float64(j.Tasks) * share * float64(have.procs)
}
