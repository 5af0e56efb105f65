package htcondor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Cancel implements plugins.Submitter. Only jobs that the queue shows as ours,
// and that have not ended, are named to condor_rm.
func (b *Backend) Cancel(ctx context.Context, hs []plugins.Handle) []error {
	return remote.Each(hs, b.Split, func(s *site, jobIDs, ids []string) error {
		return s.remove(ctx, jobIDs, ids, false)
	})
}

// remove takes jobs out of the queue: those that have not ended, or all. It
// looks afterwards, for condor_rm fails where one of many jobs has just gone.
func (s *site) remove(ctx context.Context, jobIDs, ids []string, ended bool) error {
	handles := make([]string, len(ids))
	for i, id := range ids {
		handles[i] = jobIDs[i] + "/" + id
	}
	jobs, err := s.queued(ctx, handles)
	if err != nil {
		return err
	}
	var end, mark []string
	for i, id := range ids {
		h := plugins.Handle{ID: handles[i]}
		job, ok := jobs[h.ID]
		if !ok {
			continue
		}
		st := plugins.Status{Handle: h}
		fill(&st, job)
		over := st.State == plugins.Done || st.State == plugins.Cancelled
		if !over || ended {
			end = append(end, jobIDs[i])
		}
		if !over && !st.State.Final() {
			mark = append(mark, id)
		}
	}
	if len(mark) > 0 {
		if _, err := s.Verb(ctx, "cancelled", mark); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(end, maxAsked) {
		if _, err := s.schedd(ctx, "condor_rm", part...); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// Withdraw implements plugins.Withdrawer: the schedd leaves alone what is not idle or held when it
// takes the command.
func (b *Backend) Withdraw(ctx context.Context, hs []plugins.Handle) []error {
	return remote.Each(hs, b.Split, func(s *site, jobIDs, ids []string) error {
		for from := 0; from < len(ids); from += maxAsked {
			to := min(from+maxAsked, len(ids))
			if _, err := s.schedd(ctx, "condor_rm", "-constraint", waiting(jobIDs[from:to], ids[from:to])); err != nil && !gone(err) {
				return err
			}
		}
		return nil
	})
}

// waiting is true of those of our jobs that have not begun.
func waiting(jobIDs, ids []string) string {
	return "(JobStatus == 1 || JobStatus == 5) && " + ours(jobIDs, ids)
}

// ours is true of these jobs, and of no other that has come by their number.
func ours(jobIDs, ids []string) string {
	ours := make([]string, len(ids))
	for i, id := range ids {
		cluster, proc, _ := strings.Cut(jobIDs[i], ".")
		ours[i] = fmt.Sprintf("(ClusterId == %s && ProcId == %s && GridBrokerId is %q)", cluster, proc, id)
	}
	return "(" + strings.Join(ours, " || ") + ")"
}

// gone reports whether condor_rm complains of jobs that are not there.
func gone(err error) bool {
	x, ok := errors.AsType[*remote.ExitError](err)
	return ok && (strings.Contains(x.Stderr, "not found") || strings.Contains(x.Stderr, "Couldn't find/remove"))
}

// Clean implements plugins.Cleaner: it takes the jobs out of the queue and
// removes their directories.
func (b *Backend) Clean(ctx context.Context, hs []plugins.Handle) []error {
	return remote.Each(hs, b.Split, func(s *site, jobIDs, ids []string) error {
		if err := s.remove(ctx, jobIDs, ids, true); err != nil {
			return err
		}
		_, err := s.Verb(ctx, "clean", ids)
		return err
	})
}

// Ping implements plugins.Pinger: it asks for HTCondor's version, and whether
// the schedd lets the user read and write, and as whom.
func (b *Backend) Ping(ctx context.Context, endpoint string) (plugins.Pong, error) {
	s, err := b.At(endpoint)
	if err != nil {
		return plugins.Pong{}, err
	}
	start := s.Options.Now()
	version, err := s.Command(ctx, "condor_version")
	pong := plugins.Pong{Interface: "htcondor", Latency: s.Options.Now().Sub(start)}
	if err != nil {
		return pong, err
	}
	if f := strings.Fields(version); len(f) > 1 {
		pong.Versions = []string{f[1]}
	}
	at, err := s.scheddArgs(ctx)
	if err != nil {
		return pong, err
	}
	said, err := s.Command(ctx, slices.Concat([]string{"condor_ping", "-type", "SCHEDD"}, at, []string{"-table", "READ", "WRITE"})...)
	if err != nil {
		return pong, err
	}
	return rights(pong, said), nil
}

// rights reads the table of condor_ping: a line for each right, with the
// verdict ALLOW or DENY among its columns and the identity last.
func rights(pong plugins.Pong, said string) plugins.Pong {
	allowed := 0
	for line := range strings.Lines(said) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "READ" && f[0] != "WRITE" {
			continue
		}
		if slices.Contains(f, "ALLOW") {
			allowed++
			pong.Identity = f[len(f)-1]
		} else {
			pong.Said = strings.TrimSpace(line)
		}
	}
	pong.LetIn = allowed == 2
	return pong
}
