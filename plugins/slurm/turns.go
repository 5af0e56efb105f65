package slurm

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
)

// turns are what the jobs of a picture have of what is limited.
type turns struct {
	of      map[string]string // QOS by partition
	claims  [][]claim         // by job
	most    map[string]int    // that there is of it
	guessed map[string]bool   // what nothing but a job's reason tells of
}

// takeTurns finds out what jobs wait for until others end that have it: licences, or what a limit of a QOS or an association
// lets run. said is what squeue says, by job. Of a limit that accounting does not tell it is not known what is left: where one waits
// by it, that is taken to be nothing.
func (c *cluster) takeTurns(state *batch.State, said map[string]*entry) {
	t := turns{of: c.partitionQOS(), claims: make([][]claim, len(state.Jobs)), most: c.licensed(), guessed: map[string]bool{}}
	for i := range state.Jobs {
		j := &state.Jobs[i]
		if e := said[j.ID]; e != nil {
			t.claims[i] = c.set.caps.claims(j, t.of[j.Queue])
			t.awaited(i, j, e)
		}
	}
	if len(t.most) == 0 {
		return
	}
	has, all := t.take(state, said)
	later, enough := c.keptLicences(state.Now), map[string]bool{}
	for _, what := range slices.Sorted(maps.Keys(t.most)) {
		n := t.most[what]
		switch licence := strings.HasPrefix(what, "licence "); {
		case licence && !t.guessed[what]:
			n += has[what] // besides what is left
		case t.guessed[what]:
			n = max(n, has[what])
		}
		if enough[what] = all[what] <= n; enough[what] {
			continue
		}
		planned := !strings.HasPrefix(what, "licence ") && !strings.Contains(what, " jobs ")
		limit := batch.Cap{Name: what, Most: n, Planned: planned, Later: later[what]}
		if strings.Contains(what, secondsOf+" ") {
			limit.Every, limit.Since = c.set.caps.every, c.set.caps.since
		}
		state.Caps = append(state.Caps, limit)
	}
	// What is enough for all jobs that there are keeps none of them from starting, and most limits are: they need not be looked at.
	for i := range state.Jobs {
		j := &state.Jobs[i]
		j.Takes = slices.DeleteFunc(j.Takes, func(t batch.Take) bool { return enough[t.Cap] })
	}
}

// awaited notes what may keep a job waiting: the limits that bind it, and one that nothing but the reason tells of.
func (t *turns) awaited(i int, j *batch.Job, e *entry) {
	if !j.Started.IsZero() {
		return
	}
	by := limited(e.reason)
	known := false
	for _, l := range t.claims[i] {
		if l.binds {
			t.most[l.what] = l.most
		}
		known = known || by(l.what) || by(strings.Replace(l.what, "account and user ", "account ", 1))
	}
	if known {
		return
	}
	for what, amount := range wants(j, e.licences, t.of[j.Queue], by) {
		if _, there := t.most[what]; !there || t.guessed[what] {
			t.guessed[what], t.most[what] = true, max(t.most[what], amount)
		}
	}
}

// take notes what each job takes of what may be short, and returns how much those have that run, and how much all would.
func (t *turns) take(state *batch.State, said map[string]*entry) (has, all map[string]int) {
	has, all = map[string]int{}, map[string]int{}
	untold := func(what string) bool {
		_, there := t.most[what]
		return there && (t.guessed[what] || strings.HasPrefix(what, "licence "))
	}
	for i := range state.Jobs {
		j := &state.Jobs[i]
		e := said[j.ID]
		if e == nil {
			continue
		}
		amounts, free, rates := wants(j, e.licences, t.of[j.Queue], untold), map[string]bool{}, map[string]int{}
		for _, l := range t.claims[i] {
			if _, there := t.most[l.what]; there {
				amounts[l.what], free[l.what], rates[l.what] = l.amount, !l.binds, l.rate
			}
		}
		for _, what := range slices.Sorted(maps.Keys(amounts)) {
			j.Takes = append(j.Takes, batch.Take{Cap: what, Amount: amounts[what], Free: free[what], Rate: rates[what]})
			all[what] += amounts[what]
			if !j.Started.IsZero() {
				has[what] += amounts[what]
			}
		}
	}
	return has, all
}

// partitionQOS are the QOS whose limits the jobs of partitions have, too.
func (c *cluster) partitionQOS() map[string]string {
	of := map[string]string{}
	for _, p := range c.parts {
		if name := p["QoS"]; name != "N/A" && name != "(null)" {
			of[p["PartitionName"]] = name
		}
	}
	return of
}

// number is a job's, of an array's task with its own behind the point.
func number(id string) float64 {
	array, task, _ := strings.Cut(id, "_")
	return float64(atoi(array)) + float64(atoi(task))/(1<<22)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// limited chooses what a job waits for, by the reason that Slurm gives (squeue(1), JOB
// REASON CODES).
func limited(reason string) func(what string) bool {
	prefix := ""
	switch {
	case reason == "Licenses":
		prefix = "licence "
	case strings.Contains(reason, "Minutes"), neverStarts(reason):
	case strings.HasPrefix(reason, "QOSGrp"):
		prefix = "qos "
	case strings.HasPrefix(reason, "QOS") && strings.Contains(reason, "PerUser"):
		prefix = "qos and user "
	case strings.HasPrefix(reason, "QOS") && strings.Contains(reason, "PerAccount"):
		prefix = "qos and account "
	case strings.HasPrefix(reason, "AssocGrp"):
		prefix = "account "
	case strings.HasPrefix(reason, "AssocMax"):
		prefix = "account and user "
	}
	switch {
	case prefix == "":
	case strings.Contains(reason, "GRES"):
		prefix += "gpus"
	case strings.Contains(reason, "Mem"):
		prefix += "memory"
	case strings.Contains(reason, "Job"):
		prefix += "jobs"
	case strings.Contains(strings.ToLower(reason), "cpu"):
		prefix += "cpus"
	case strings.Contains(reason, "Node"):
		prefix += "nodes"
	}
	return func(what string) bool { return prefix != "" && strings.HasPrefix(what, prefix) }
}

// amount is how much of one kind of what limits count.
type amount struct {
	kind   string
	amount int
}

// amountsOf is what a job has of what limits count.
func amountsOf(j *batch.Job) [5]amount {
	nodes := max(1, j.Nodes, len(j.Placed))
	return [5]amount{{"jobs", 1}, {"cpus", j.Procs}, {"nodes", nodes}, {"gpus", j.GPUs * nodes}, {"memory", int(j.Memory) * j.Procs}}
}

// wants is how much a job, in a partition of that QOS ("": of none), takes of all that may be short and is chosen.
func wants(j *batch.Job, licences, partition string, chosen func(what string) bool) map[string]int {
	amounts := map[string]int{}
	take := func(what string, amount int) {
		if amount > 0 && chosen(what) {
			amounts[what] += amount
		}
	}
	for l := range strings.FieldsFuncSeq(licences, func(c rune) bool { return c == ',' || c == ';' }) {
		name, count, _ := strings.Cut(l, ":")
		if name != "(null)" {
			take("licence "+name, max(1, atoi(count)))
		}
	}
	qos := cmp.Or(partition, j.QOS) // which of them nothing tells
	for scope, of := range map[string]string{"qos": qos, "qos and user": qos + " " + j.User, "qos and account": qos + " " + j.Account,
		"account": j.Account, "account and user": j.Account + " " + j.User} {
		for _, a := range amountsOf(j) {
			take(scope+" "+a.kind+" "+of, a.amount)
		}
	}
	return amounts
}
