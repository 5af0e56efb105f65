package slurm

import (
	"maps"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
)

// takeTurns finds out what jobs wait for until others end that have it: licences, or what a limit of a QOS or an association
// lets run. said is what squeue says, by job. Of a limit of an association it is not known what is left: where one waits
// by it, that is taken to be nothing.
func (c *cluster) takeTurns(state *batch.State, said map[string]*entry) {
	most := c.licensed()
	guessed := map[string]bool{}
	for i := range state.Jobs {
		j := &state.Jobs[i]
		e := said[j.ID]
		if !j.Started.IsZero() || e == nil {
			continue
		}
		maps.Copy(most, c.set.caps.under(j, wants(j, "", everything)))
		for what, amount := range wants(j, e.licences, limited(e.reason)) {
			if _, known := most[what]; !known || guessed[what] {
				guessed[what], most[what] = true, max(most[what], amount)
			}
		}
	}
	if len(most) == 0 {
		return
	}
	has, all := setTakes(state, said, most)
	later, enough := c.keptLicences(state.Now), map[string]bool{}
	for _, what := range slices.Sorted(maps.Keys(most)) {
		n := most[what]
		switch licence := strings.HasPrefix(what, "licence "); {
		case licence && !guessed[what]:
			n += has[what] // besides what is left
		case guessed[what]:
			n = max(n, has[what])
		}
		if enough[what] = all[what] <= n; enough[what] {
			continue
		}
		planned := !strings.HasPrefix(what, "licence ") && !strings.Contains(what, " jobs ")
		state.Caps = append(state.Caps, batch.Cap{Name: what, Most: n, Planned: planned, Later: later[what]})
	}
	// What is enough for all jobs that there are keeps none of them from starting, and most limits are: they need not be looked at.
	for i := range state.Jobs {
		j := &state.Jobs[i]
		j.Takes = slices.DeleteFunc(j.Takes, func(t batch.Take) bool { return enough[t.Cap] })
	}
}

// setTakes notes what each job takes of what may be short, and returns how much those have that run, and how much all would.
func setTakes(state *batch.State, said map[string]*entry, most map[string]int) (has, all map[string]int) {
	has, all = map[string]int{}, map[string]int{}
	for i := range state.Jobs {
		j := &state.Jobs[i]
		e := said[j.ID]
		if e == nil {
			continue
		}
		amounts := wants(j, e.licences, func(what string) bool { _, there := most[what]; return there })
		for _, what := range slices.Sorted(maps.Keys(amounts)) {
			j.Takes = append(j.Takes, batch.Take{Cap: what, Amount: amounts[what]})
			all[what] += amounts[what]
			if !j.Started.IsZero() {
				has[what] += amounts[what]
			}
		}
	}
	return has, all
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

// everything chooses all that a job has of what may be short.
func everything(string) bool { return true }

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

// wants is how much a job takes of all that may be short and is chosen.
func wants(j *batch.Job, licences string, chosen func(what string) bool) map[string]int {
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
	for scope, of := range map[string]string{"qos": j.QOS, "qos and user": j.QOS + " " + j.User, "qos and account": j.QOS + " " + j.Account,
		"account": j.Account, "account and user": j.Account + " " + j.User} {
		take(scope+" jobs "+of, 1)
		take(scope+" cpus "+of, j.Procs)
		nodes := max(1, j.Nodes, len(j.Placed))
		take(scope+" nodes "+of, nodes)
		take(scope+" gpus "+of, j.GPUs*nodes)
		take(scope+" memory "+of, int(j.Memory)*j.Procs)
	}
	return amounts
}
