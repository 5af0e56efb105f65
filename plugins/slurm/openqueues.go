package slurm

import (
	"cmp"
	"slices"

	"gridbroker/batch"
)

// inOpenQueues leaves waiting jobs of several queues, which the partitions are, those that let
// them start, the one of the greatest priority first; where none does the queues stay as they are.
func inOpenQueues(jobs []batch.Job, queues []batch.Queue, parts []map[string]string) {
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
			return q == nil || !named(p["AllowQos"], j.QOS) || listed(p["DenyQos"], j.QOS) || q.Closed || q.MaxWallTime > 0 && j.Requested > q.MaxWallTime || q.MaxNodes > 0 && j.Nodes > q.MaxNodes || q.MaxProcs > 0 && j.Procs > q.MaxProcs
		})
		if len(open) > 0 {
			slices.SortStableFunc(open, func(a, b string) int { return cmp.Compare(of[b].Priority, of[a].Priority) })
			j.Queue, j.Also = open[0], open[1:]
		}
	}
}
