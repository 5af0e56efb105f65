package slurm

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"gridbroker/plugins/remote"
)

// ours finds jobs of handles in a table by Slurm's ids, and gives what is ours by our
// ids: Slurm's ids can start anew, and then another job has one's number. A single job
// carries our id as its name. An array carries that of its batch and group, which
// the site's side keeps the members of.
func (s *site) ours(ctx context.Context, table map[string]row, slurmIDs, ids []string) (map[string]row, error) {
	var arrays []string
	for _, slurmID := range slurmIDs {
		if r, ok := table[slurmID]; ok && isTask(slurmID) && strings.HasPrefix(r.name, remote.BatchPrefix) {
			arrays = append(arrays, r.name)
		}
	}
	slices.Sort(arrays)
	members, err := s.members(ctx, slices.Compact(arrays))
	if err != nil {
		return nil, err
	}
	own := make(map[string]row, len(ids))
	for i, slurmID := range slurmIDs {
		r, ok := table[slurmID]
		if ok && isTask(slurmID) {
			ok = memberAt(members[r.name], slurmID) == ids[i]
		} else if ok {
			ok = r.name == ids[i]
		}
		if ok {
			own[ids[i]] = r
		}
	}
	return own, nil
}

func isTask(slurmID string) bool { return strings.Contains(slurmID, "_") }

// memberAt is the job that an array has as its task.
func memberAt(members []string, slurmID string) string {
	_, task, _ := strings.Cut(slurmID, "_")
	if n, err := strconv.Atoi(task); err == nil && 1 <= n && n <= len(members) {
		return members[n-1]
	}
	return ""
}

// members are the jobs of arrays, by the arrays' names. They never change: a process
// asks once for those it meets again.
func (s *site) members(ctx context.Context, names []string) (map[string][]string, error) {
	s.mu.Lock()
	all, unknown := map[string][]string{}, []string(nil)
	for _, name := range names {
		if list, ok := s.arrays[name]; ok {
			all[name] = list
		} else {
			unknown = append(unknown, name)
		}
	}
	s.mu.Unlock()
	if len(unknown) > 0 {
		text, err := s.Verb(ctx, "members", unknown)
		if err != nil {
			return nil, err
		}
		parseMembers(text, among(unknown), all)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(all) > 0 {
		s.arrays = all
	}
	return all, nil
}

// maxMembers is more than a batch has jobs.
const maxMembers = 10_000

// parseMembers reads lines "array NAME", each followed by its jobs, of arrays that were asked about.
func parseMembers(text string, asked map[string]bool, all map[string][]string) {
	name := ""
	for line := range strings.Lines(text) {
		switch f := strings.Fields(line); {
		case len(f) == 2 && f[0] == "array":
			if name = f[1]; !asked[name] {
				name = ""
			} else {
				all[name] = nil
			}
		case len(f) == 1 && name != "" && len(all[name]) < maxMembers:
			all[name] = append(all[name], f[0])
		}
	}
}

// accounts asks accounting for our jobs. What it has of them is given with the error, too.
func (s *site) accounts(ctx context.Context, slurmIDs, ids []string) (map[string]row, error) {
	table, err := s.sacct(ctx, slurmIDs)
	own, ownErr := s.ours(ctx, table, slurmIDs, ids)
	if err == nil {
		err = ownErr
	}
	return own, err
}
