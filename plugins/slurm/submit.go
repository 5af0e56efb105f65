package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// maxArray is the most tasks of one array. Slurm's default MaxArraySize of
// 1001 allows indices up to 1000.
const maxArray = 1000

// Submit implements plugins.Submitter. All jobs of a batch go in one command
// over one connection.
func (b *Backend) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	return remote.Submit(ctx, reqs, b.check, p)
}

func (b *Backend) check(req plugins.Request) (*site, *remote.Site, error) {
	no := func(kind plugins.Kind, said string) error {
		return &plugins.Error{Kind: kind, Op: "submit", Endpoint: req.Endpoint.URL, Said: said}
	}
	s, err := b.At(req.Endpoint.URL)
	if err != nil {
		return nil, nil, no(plugins.Unavailable, err.Error())
	}
	if err := s.CheckID(req); err != nil {
		return nil, nil, err
	}
	if tooLong(req) {
		return nil, nil, no(plugins.Refused, fmt.Sprintf("%v asked for, the partition gives %v", req.Job.Demand.WallTime, req.Resource.MaxWallTime.V))
	}
	return s, s.Site, nil
}

// Group implements remote.LRMS: one job, or an array of jobs with equal
// options, whatever their own words.
func (s *site) Group(batch string, reqs []plugins.Request, jobs []int) ([]*remote.Group, map[int]error) {
	groups, errs := remote.GroupBy(jobs, maxArray, func(i int) (string, error) {
		options, err := sbatchArgs(reqs[i], s.extra)
		return remote.Lines(options), err
	})
	for _, g := range groups {
		var options []string
		if len(g.Jobs) == 1 {
			options = append(options, "--job-name="+reqs[g.Jobs[0]].ID)
		} else {
			options = append(options, "--job-name="+batch+"."+g.Name, "--array=1-"+strconv.Itoa(len(g.Jobs)))
		}
		g.Files = map[string]string{"args": g.Shared + remote.Lines(options)}
	}
	return groups, errs
}

// Handle implements remote.LRMS.
func (s *site) Handle(slurmID string, line int, id string) plugins.Handle {
	if line > 0 {
		slurmID += "_" + strconv.Itoa(line)
	}
	return s.handle(slurmID, id)
}

// notConnected is what sbatch says (SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR) where it could not connect to any controller.
const notConnected = "Unable to contact slurm controller (connect failure)"

// Refusal implements remote.LRMS. Slurm's controller being away is no refusal; where no connection to it was made, it has
// been sent nothing.
func (s *site) Refusal(said string) plugins.Kind {
	without := strings.ReplaceAll(said, notConnected, "")
	for _, away := range []string{"Unable to contact slurm controller", "Socket timed out", "Zero Bytes were transmitted", "Transport endpoint"} {
		if strings.Contains(without, away) {
			return plugins.Uncertain
		}
	}
	if without != said {
		return plugins.Unavailable
	}
	return plugins.Refused
}

// Lookup implements remote.LRMS: single jobs have our id for a name, arrays
// BATCH.GROUP. What the controller has forgotten is looked for in accounting.
func (s *site) Lookup(ctx context.Context, wanted []string) (map[string]string, error) {
	names := map[string]string{} // job name: Slurm id
	asked := among(wanted)
	take := func(f []string) error {
		if asked[f[1]] {
			names[f[1]], _, _ = strings.Cut(f[0], "_")
		}
		return nil
	}
	if err := s.rows(ctx, sep, 2, take, "squeue", "--all", "--noheader", "--me", "--states=all", "--format="+columns("Fj")); err != nil {
		return nil, err
	}
	me, err := s.account(ctx) // to root and operators accounting shows what others have under a name, too
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(wanted, maxAsked/4) {
		err := s.rows(ctx, "|", 2, take, "sacct", "--noheader", "--parsable2", "--allocations", "--starttime=now-30days",
			"--format=JobID,JobName", "--user="+me, "--name="+strings.Join(part, ","))
		if err != nil {
			return names, s.noAccounting(ctx, err)
		}
	}
	return names, nil
}
