package slurm

import (
	"strings"

	"gridbroker/plugins"
)

// entry is a row of squeue: what it says of one job, in its own words.
type entry struct {
	id, partitions, state     string
	cpus, nodes, memory, gres string
	limit, submitted, start   string
	priority                  string
	user, account             string
	features                  string
	nodeList                  string // of one that runs
	reason                    string
	dependency                string
	sharing                   string // "NO": none; "USER": with jobs of its user
	reservation, qos          string
	requested, excluded       string // nodes
	licences                  string
	end                       string // of one that runs, by its limit
}

// queueColumns are squeue's letters (squeue(1), --format), as they stand in entryOf.
const queueColumns = "iPTCDmblVSQuafNrEhvqnxWe"

// entryOf is the entry of a row with queueColumns.
func entryOf(row []string) *entry {
	e := new(entry)
	for i, to := range [len(queueColumns)]*string{
		&e.id, &e.partitions, &e.state, &e.cpus, &e.nodes, &e.memory, &e.gres, &e.limit, &e.submitted, &e.start, &e.priority, &e.user,
		&e.account, &e.features, &e.nodeList, &e.reason, &e.dependency, &e.sharing, &e.reservation, &e.qos, &e.requested, &e.excluded, &e.licences, &e.end,
	} {
		*to = row[i]
	}
	return e
}

// waits tells whether a job waits.
func (e *entry) waits() bool { return e.state == "PENDING" }

// phase is its state, where one whose nodes boot has them already.
func (e *entry) phase() string {
	if e.state == "CONFIGURING" && e.nodeList != "" {
		return "RUNNING"
	}
	return e.state
}

// onHold tells whether a job that waits is kept from starting until a person lets it: its state says so, or it has no
// priority, which Slurm gives to no other.
func (e *entry) onHold() bool {
	return stateOf(e.state, e.reason) == plugins.Held || e.priority == "0"
}

// alone tells whether a job may not run beside another of its name and user (sbatch(1),
// --dependency=singleton).
func (e *entry) alone() bool {
	return e.waits() && strings.Contains(e.dependency, "singleton") && !strings.Contains(e.dependency, "singleton(fulfilled")
}

// entriesByJob are those of squeue by job.
func entriesByJob(list []*entry) map[string]*entry {
	of := make(map[string]*entry, len(list))
	for _, e := range list {
		of[e.id] = e
	}
	return of
}
