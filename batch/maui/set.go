package maui

import (
	"cmp"
	"slices"
)

// setNodes takes in the nodes.
func (r *run) setNodes(nodes []Node) {
	r.byName = make(map[string]*node, len(nodes))
	r.nodes = make([]*node, len(nodes))
	all := make([]node, len(nodes))
	index := map[string]int{}
	for i := range nodes {
		n := &all[i]
		*n = node{Node: &nodes[i], at: i, config: r.Config.Nodes[nodes[i].Name], load: nodes[i].Load}
		n.have = quantity{n.Procs, n.Memory, n.Disk, n.Swap, 0}
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
func (r *run) setStanding() {
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
func (r *run) setJobs(jobs []Job) {
	all := make([]job, len(jobs))
	r.jobs = make([]*job, len(jobs))
	copies := slices.Clone(jobs)
	for i := range copies {
		j := &all[i]
		r.jobs[i] = j
		r.setJob(j, &copies[i], i)
	}
	for _, j := range r.jobs {
		if j.State == JobRunning {
			r.place(j, r.tasks(j.TaskList))
		}
	}
}

// setJob makes the record of one job.
func (r *run) setJob(j *job, of *Job, place int) {
	m := r.known[of.ID]
	if m == nil {
		r.order++
		m = &memory{order: r.order, since: of.Queued}
		r.known[of.ID] = m
	}
	m.seen = r.now
	*j = job{Job: of, memory: m, place: place, limit: of.Limit}
	each := max(1, of.TaskProcs)
	j.each = quantity{each, of.Memory, of.Disk, of.Swap, b2i64(of.Class != "")}
	j.procs = max(1, of.Tasks*each)
	if of.Account == "" {
		of.Account = r.account0(of)
	}
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
		r.deferJob(j)
	case r.tooLarge(j):
		m.held = "PolicyViolation"
	default:
		m.held = ""
	}
}

func b2i64(b bool) int64 { return int64(b2i(b)) }

// account0 is the account of a job that names none.
func (r *run) account0(j *Job) string {
	return cmp.Or(r.Config.Users.find(j.User).Account, r.Config.Groups.find(j.Group).Account,
		r.Config.Users.find("DEFAULT").Account, r.Config.Groups.find("DEFAULT").Account)
}

// tasks counts the nodes of a task list in the order in which they come.
func (r *run) tasks(list []string) (tasks []placed) {
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

// deferJob holds a job back for a while.
func (r *run) deferJob(j *job) {
	if r.Config.Defer > 0 && j.deferred <= r.now {
		j.deferred = r.now + r.Config.Defer
	}
	r.release(j)
}

// setQOS finds the QOS of a job and whether it may use the one it asks for.
func (r *run) setQOS(j *job) bool {
	c := r.Config
	creds := []*Credential{
		c.Users.or(j.User), c.Groups.or(j.Group), c.Accounts.or(j.Account), c.Classes.or(j.Class),
	}
	allowed := []string{"DEFAULT"}
	for _, cred := range creds {
		allowed = append(allowed, cred.QOSList...)
	}
	j.qosName = "DEFAULT"
	for _, cred := range creds {
		if cred.QOSDefault != "" && slices.Contains(allowed, cred.QOSDefault) {
			j.qosName = cred.QOSDefault
			break
		}
	}
	ok := true
	if j.QOS != "" {
		if ok = slices.Contains(allowed, j.QOS); ok {
			j.qosName = j.QOS
		}
	}
	j.qos = c.QOS.find(j.qosName)
	return ok
}

// or is what is configured of a name, or of DEFAULT where that says nothing of QOS.
func (c Credentials) or(name string) *Credential {
	own, base := c.find(name), c.find("DEFAULT")
	if name == "" {
		return base
	}
	merged := *own
	if len(merged.QOSList) == 0 {
		merged.QOSList = base.QOSList
	}
	if merged.QOSDefault == "" {
		merged.QOSDefault = base.QOSDefault
	}
	return &merged
}

// tooLarge tells whether a job breaks a limit on single jobs of its class.
func (r *run) tooLarge(j *job) bool {
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
	return longest > 0 && j.Limit > longest || least > 0 && j.Limit < least || nodes > 0 && j.Nodes > nodes || procs > 0 && j.Tasks > procs
}
