package slurm

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
)

// turns are jobs that wait, by what Slurm says, until others end that have all that they
// may have of something: licences, or what a limit of a QOS or an association lets run.
// Of a limit of an association it is not known what is left, so that a job's turn may come earlier than foretold.
type turns struct {
	now  time.Time
	have map[string][]holder // by what is short
	left map[string]int      // of what it is known
	free map[string][]holder // what came free, in order, by who had it
	sum  map[string]int      // of that, what nobody has
}

// holder has some of what is short until it ends.
type holder struct {
	id     string // "": a reservation
	amount int
	end    time.Time
}

// takeTurns makes jobs wait for those that have what they wait for, and who waits behind
// them for the same. said is what squeue says, by job.
func (c *cluster) takeTurns(now time.Time, jobs []batch.Job, said map[string]*entry) {
	t := turns{now: now, have: map[string][]holder{}, left: map[string]int{}}
	c.licensed(&t)
	order, most := make([]int, len(jobs)), map[string]int{}
	for i := range order {
		order[i] = i
		if e := said[jobs[i].ID]; jobs[i].Started.IsZero() && e != nil {
			for what := range wants(&jobs[i], e.licences, limited(e.reason)) {
				t.have[what] = nil
			}
			if len(c.set.caps[jobs[i].QOS]) > 0 {
				maps.Copy(most, c.set.caps.under(&jobs[i], wants(&jobs[i], "", everything)))
			}
		}
	}
	for what := range most {
		t.have[what] = nil
	}
	if len(t.have) == 0 {
		return
	}
	c.keepLicences(&t)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(jobs[b].Priority, jobs[a].Priority), cmp.Compare(number(jobs[a].ID), number(jobs[b].ID)))
	})
	for _, i := range order {
		if j := &jobs[i]; !j.Started.IsZero() {
			for what, amount := range wants(j, said[j.ID].licences, everything) {
				t.holds(what, holder{j.ID, amount, j.Started.Add(j.Requested)})
			}
		}
	}
	t.limit(most)
	var queue []turn
	for _, i := range order {
		if j := &jobs[i]; j.Started.IsZero() && !j.Held && len(j.After) == 0 && j.Begin.IsZero() {
			all := wants(j, said[j.ID].licences, everything)
			if j.Held = exceeds(all, most); !j.Held {
				queue = append(queue, turn{j, t.short(all)})
				j.Eligible = true // Slurm lets it grow older meanwhile
			}
		}
	}
	t.play(queue)
}

// holds notes who has some of what is short.
func (t *turns) holds(what string, h holder) {
	list, short := t.have[what]
	if !short {
		return
	}
	i, _ := slices.BinarySearchFunc(list, h, func(a, b holder) int { return cmp.Or(a.end.Compare(b.end), -1) })
	t.have[what] = slices.Insert(list, i, h)
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
