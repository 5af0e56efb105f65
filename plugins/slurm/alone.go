package slurm

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"gridbroker/batch"
)

// jobNames are what jobs are called, by their ids. A name that holds a line break costs
// its job nothing else.
func jobNames(ctx context.Context, s *site) (map[string]string, error) {
	names := map[string]string{}
	err := s.Lines(ctx, func(line string) error {
		if id, name, ok := strings.Cut(line, sep); ok && len(names) < maxOn {
			names[strings.TrimSpace(id)] = name
		}
		return nil
	}, "squeue", "--all", "--noheader", "--array", "--format="+columns("ij"))
	return names, err
}

// onlyOne makes jobs wait for those of the same name and user that run, and for those that
// came before them and wait, held ones and all.
func (c *cluster) onlyOne(jobs []batch.Job, said map[string]*entry) {
	if len(c.names) == 0 {
		return
	}
	same := map[string][]int{}
	for i := range jobs {
		if name, ok := c.names[jobs[i].ID]; ok {
			key := jobs[i].User + sep + name
			same[key] = append(same[key], i)
		}
	}
	for _, list := range same {
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(number(jobs[a].ID), number(jobs[b].ID)) })
		var run, ahead []batch.Dependency
		for _, i := range list {
			if !jobs[i].Started.IsZero() {
				run = append(run, batch.Dependency{ID: jobs[i].ID, On: batch.OnEnd})
			}
		}
		room := maxOn / max(1, len(c.jobs))
		for _, i := range list {
			j := &jobs[i]
			if !j.Started.IsZero() {
				continue
			}
			if e := said[j.ID]; e != nil && e.alone() {
				if len(j.After) == 0 && e.reason == "Dependency" {
					j.Held = false
				}
				j.After = append(j.After, run[:min(len(run), max(room, 64))]...)
				j.After = append(j.After, ahead...)
				ahead = nil // this one waits for them
			}
			ahead = append(ahead, batch.Dependency{ID: j.ID, On: batch.OnEnd})
		}
	}
}
