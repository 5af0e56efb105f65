package slurm

import (
	"context"
	"strings"
)

// bar finds out which partitions let in none of the account's own jobs: by its groups, or by all of its associations and
// QOS. root is let in everywhere, and so is anybody where nothing tells.
func (q *Queue) bar(ctx context.Context) {
	user, err := q.account(ctx)
	if err != nil || user == "root" {
		return
	}
	groups, err := q.site.Command(ctx, "id", "-Gn")
	if err != nil {
		return
	}
	parts, err := q.site.records(ctx, "scontrol", "--all", "--oneliner", "show", "partition")
	if err != nil {
		return
	}
	barred := barred(parts, strings.Fields(groups), q.site.rules(ctx, user))
	q.barred.Store(&barred)
}

// barred are those of some partitions that let nobody of these groups and rules in.
func barred(parts []map[string]string, groups []string, all rules) map[string]bool {
	of := map[string]bool{}
	for _, p := range parts {
		of[p["PartitionName"]] = !letIn(p["AllowGroups"], groups) || len(all.associations) > 0 && len(all.usable(p)) == 0
	}
	return of
}
