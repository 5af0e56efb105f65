package slurm

import "context"

// bar finds out which partitions let in none of the account's own jobs. Where nothing tells, all of them let it in.
func (q *Queue) bar(ctx context.Context) {
	all, err := q.site.rules(ctx)
	if err != nil {
		return
	}
	parts, err := q.site.records(ctx, "scontrol", "--all", "--oneliner", "show", "partition")
	if err != nil {
		return
	}
	barred := all.barred(parts)
	q.barred.Store(&barred)
}

// barred are those of some partitions that do not let the user in.
func (all rules) barred(parts []map[string]string) map[string]bool {
	of := map[string]bool{}
	for _, p := range parts {
		of[p["PartitionName"]] = !all.lets(p)
	}
	return of
}
