package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// Find implements plugins.Finder. Its answer is final: a submission that still
// hangs is stopped first, and the name of a job that is not found is taken, so
// that it cannot appear afterwards. Where that cannot be made sure, it is an error.
func (b *Backend) Find(ctx context.Context, endpoint glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	s, err := b.site(endpoint.URL)
	if err != nil {
		return nil, err
	}
	return s.find(ctx, ids)
}

// place is where the site's side put a job.
type place struct {
	batch, group, line, slurmID string
}

func (s *site) find(ctx context.Context, ids []string) (map[string]plugins.Handle, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !validID(id) })
	text, err := s.verb(ctx, "find", ids)
	if err != nil {
		return nil, err
	}
	places, asked, busy := parsePlaces(text)
	found := map[string]plugins.Handle{}
	for _, id := range ids {
		if !asked[id] || busy[id] {
			return nil, s.fail("find", errors.New("a submission is still on its way there; ask again"))
		}
		if p, ok := places[id]; ok && p.slurmID != "-" {
			found[id] = s.handle(p.slurmID+p.index(), id)
			delete(places, id)
		}
	}
	return found, s.findByName(ctx, places, found)
}

func parsePlaces(text string) (places map[string]place, asked, busy map[string]bool) {
	places, asked, busy = map[string]place{}, map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		asked[f[1]] = true
		busy[f[1]] = f[0] == "busy"
		if f[0] == "at" && len(f) == 6 {
			places[f[1]] = place{f[2], f[3], f[4], f[5]}
		}
	}
	return places, asked, busy
}

// index is the array index of a job; a batch's single jobs have none.
func (p place) index() string {
	if p.line == "0" {
		return ""
	}
	return "_" + p.line
}

// findByName asks Slurm for jobs whose submission left no id: single jobs have
// our id for a name, arrays BATCH.GROUP.
func (s *site) findByName(ctx context.Context, places map[string]place, found map[string]plugins.Handle) error {
	if len(places) == 0 {
		return nil
	}
	names := map[string]string{} // job name: Slurm id
	text, err := s.command(ctx, "squeue", "--noheader", "--me", "--states=all", "--format="+columns("Fj"))
	if err != nil {
		return err
	}
	for _, f := range rows(text, sep, 2) {
		names[f[1]] = f[0]
	}
	if err := s.acctNames(ctx, places, names); err != nil {
		return err
	}
	var absent []string
	for id, p := range places {
		if slurmID, ok := names[p.jobName(id)]; ok {
			found[id] = s.handle(slurmID+p.index(), id)
		} else {
			absent = append(absent, id)
		}
	}
	_, err = s.verb(ctx, "absent", absent)
	return err
}

func (p place) jobName(id string) string {
	if p.line == "0" {
		return id
	}
	return p.batch + "." + p.group
}

// acctNames looks in accounting for jobs the controller has forgotten.
func (s *site) acctNames(ctx context.Context, places map[string]place, names map[string]string) error {
	var ask []string
	for id, p := range places {
		ask = append(ask, p.jobName(id))
	}
	slices.Sort(ask)
	for part := range slices.Chunk(slices.Compact(ask), maxAsked/4) {
		text, err := s.command(ctx, "sacct", "--noheader", "--parsable2", "--allocations", "--starttime=now-30days",
			"--format=JobID,JobName", "--name="+strings.Join(part, ","))
		if err != nil {
			return s.noAccounting(ctx, err)
		}
		for _, f := range rows(text, "|", 2) {
			id, _, _ := strings.Cut(f[0], "_")
			names[f[1]] = id
		}
	}
	return nil
}
