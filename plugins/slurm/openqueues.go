package slurm

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gridbroker/batch"
)

// inOpenQueues leaves waiting jobs of several queues, which the partitions are, those that let
// them start, the one in which they are first of all first; where none does the queues stay as they are. Which accounts
// a partition lets in counts where Slurm keeps jobs to that.
func inOpenQueues(jobs []batch.Job, queues []batch.Queue, parts []map[string]string, accounts bool) {
	of, lets := make(map[string]*batch.Queue, len(queues)), make(map[string]map[string]string, len(parts))
	for _, p := range parts {
		lets[p["PartitionName"]] = p
	}
	for i := range queues {
		of[queues[i].Name] = &queues[i]
	}
	for i := range jobs {
		j := &jobs[i]
		if !j.Started.IsZero() || len(j.Also) == 0 {
			continue
		}
		open := slices.DeleteFunc(append([]string{j.Queue}, j.Also...), func(name string) bool {
			q, p := of[name], lets[name]
			barred := accounts && (!named(p["AllowAccounts"], j.Account) || listed(p["DenyAccounts"], j.Account))
			return q == nil || barred || !named(p["AllowQos"], j.QOS) || listed(p["DenyQos"], j.QOS) || q.Closed || q.MaxWallTime > 0 && j.Requested > q.MaxWallTime || q.MaxNodes > 0 && j.Nodes > q.MaxNodes || q.MaxProcs > 0 && j.Procs > q.MaxProcs
		})
		if len(open) > 0 {
			slices.SortStableFunc(open, func(a, b string) int { return ahead(of[a], of[b]) })
			j.Queue, j.Also = open[0], open[1:]
		}
	}
}

// ahead orders queues by which of their jobs go first, of those that differ in nothing else.
func ahead(a, b *batch.Queue) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.Factor, a.Factor))
}

// inBestQueue gives waiting jobs of several queues the priority that they have in the first. Slurm puts such a
// job in the queue once for each of its partitions, with that one's factor, and tells the priority in the one tried
// last: in the first that it names, where none was tried, else in the one of the least tier and factor.
func (c *cluster) inBestQueue(jobs []batch.Job, queues []batch.Queue, said map[string]*entry) {
	of := make(map[string]*batch.Queue, len(queues))
	for i := range queues {
		of[queues[i].Name] = &queues[i]
	}
	for i := range jobs {
		j, e := &jobs[i], said[jobs[i].ID]
		if e == nil || !e.waits() || len(j.Also) == 0 || j.Priority == 0 || of[j.Queue] == nil {
			continue
		}
		last := j.Also[len(j.Also)-1]
		if e.reason == "None" {
			last, _, _ = strings.Cut(e.partitions, ",")
		}
		if q := of[last]; q != nil {
			j.Priority += math.Floor(c.set.partition * (of[j.Queue].Factor - q.Factor))
		}
	}
}
