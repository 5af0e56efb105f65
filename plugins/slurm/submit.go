package slurm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gridbroker/plugins"
)

// maxArray is the most tasks of one array, and maxBatch the most jobs of one
// batch. Slurm's default MaxArraySize of 1001 allows indices up to 1000.
const (
	maxArray = 1000
	maxBatch = 2000
)

// batchPrefix begins the names of batches, and so of arrays.
const batchPrefix = "b-"

// group is the jobs that go as one call of sbatch: one job, or an array of
// jobs with equal options, whatever their own words.
type group struct {
	name string // g0, g1 ...
	args []string
	jobs []int // indices of requests
}

// Submit implements plugins.Submitter. All jobs of a batch go in one command
// over one connection.
func (b *Backend) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	results := make([]plugins.Result, len(reqs))
	bySite := map[*site][]int{}
	seen := map[string]bool{}
	for i, req := range reqs {
		results[i].ID = req.ID
		s, err := b.check(req)
		if err == nil && seen[req.ID] {
			err = &plugins.Error{Kind: plugins.Invalid, Op: "submit", Endpoint: s.url, Said: "job id " + req.ID + " is used twice"}
		}
		seen[req.ID] = true
		if err != nil {
			results[i].Err = err
			continue
		}
		bySite[s] = append(bySite[s], i)
	}
	for s, all := range bySite {
		for part := range slices.Chunk(all, maxBatch) {
			s.submit(ctx, reqs, part, results)
			if p != nil {
				p.Step("submit to "+s.url, int64(len(part)), int64(len(reqs)))
			}
		}
	}
	return results
}

func (b *Backend) check(req plugins.Request) (*site, error) {
	no := func(kind plugins.Kind, said string) error {
		return &plugins.Error{Kind: kind, Op: "submit", Endpoint: req.Endpoint.URL, Said: said}
	}
	s, err := b.site(req.Endpoint.URL)
	if err != nil {
		return nil, no(plugins.Unavailable, err.Error())
	}
	if !validID(req.ID) {
		return nil, no(plugins.Invalid, fmt.Sprintf("job id %q cannot name a directory", req.ID))
	}
	if why := unsuited(req); why != "" {
		return nil, no(plugins.Invalid, why)
	}
	if tooLong(req) {
		return nil, no(plugins.Refused, fmt.Sprintf("%v asked for, the partition gives %v", req.Job.Demand.WallTime, req.Resource.MaxWallTime.V))
	}
	return s, nil
}

// submit sends one batch. Where names are taken nothing is submitted: a job
// that is there already is found, a name that Find kept for nobody is freed,
// and the rest is sent once more.
func (s *site) submit(ctx context.Context, reqs []plugins.Request, jobs []int, results []plugins.Result) {
	for try := 0; try < 2 && len(jobs) > 0; try++ {
		ba := newBatch(s, reqs, jobs, results)
		taken, gone := ba.send(ctx)
		if len(taken)+len(gone) == 0 {
			return
		}
		if len(gone) > 0 {
			if _, err := s.verb(ctx, "revive", gone); err != nil {
				ba.failAll(err)
				return
			}
		}
		s.findTaken(ctx, taken, reqs, jobs, results)
		jobs = slices.DeleteFunc(jobs, func(i int) bool { return results[i].Err != nil || results[i].Handle.ID != "" })
	}
}

// findTaken gives the jobs that were submitted before their handles.
func (s *site) findTaken(ctx context.Context, taken []string, reqs []plugins.Request, jobs []int, results []plugins.Result) {
	if len(taken) == 0 {
		return
	}
	found, err := s.find(ctx, taken)
	if err == nil {
		err = errors.New("a job of this id is there already, and Slurm does not know it")
	}
	for _, i := range jobs {
		if !slices.Contains(taken, reqs[i].ID) {
			continue
		}
		if h, ok := found[reqs[i].ID]; ok {
			results[i].Handle = h
		} else {
			results[i].Err = s.uncertain(err)
		}
	}
}

func (s *site) uncertain(err error) error {
	return &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Endpoint: s.url, Err: err,
		Hint: "it may have arrived; it is looked up before anything else is done with it"}
}

// batchOf is one bulk submission under way.
type batchOf struct {
	site    *site
	name    string
	reqs    []plugins.Request
	jobs    []int
	results []plugins.Result
	groups  []*group
}

func newBatch(s *site, reqs []plugins.Request, jobs []int, results []plugins.Result) *batchOf {
	ba := &batchOf{site: s, name: batchPrefix + newName(), reqs: reqs, results: results}
	open := map[string]*group{} // by options: the group that has room
	for _, i := range jobs {
		args, err := sbatchArgs(reqs[i], s.extra)
		if err != nil {
			results[i].Err = &plugins.Error{Kind: plugins.Invalid, Op: "submit", Endpoint: s.url, Err: err}
			continue
		}
		key := strings.Join(args, "\n")
		g := open[key]
		if g == nil || len(g.jobs) == maxArray {
			g = &group{name: "g" + strconv.Itoa(len(ba.groups)), args: args}
			open[key], ba.groups = g, append(ba.groups, g)
		}
		g.jobs = append(g.jobs, i)
		ba.jobs = append(ba.jobs, i)
	}
	return ba
}

// options are the lines of GROUP.args.
func (ba *batchOf) options(g *group) []string {
	if len(g.jobs) == 1 {
		return append(slices.Clone(g.args), "--job-name="+ba.reqs[g.jobs[0]].ID)
	}
	return append(slices.Clone(g.args), "--job-name="+ba.name+"."+g.name, "--array=1-"+strconv.Itoa(len(g.jobs)))
}

// send uploads the input files, sends the batch, and reads the outcome of each
// group. It returns ids whose names are taken, or are kept for nobody.
func (ba *batchOf) send(ctx context.Context) (taken, gone []string) {
	plan, err := ba.upload(ctx)
	if err != nil {
		ba.failAll(ba.site.fail("upload", err))
		return nil, nil
	}
	tarball, err := ba.tar(plan)
	if err != nil {
		ba.failAll(ba.site.fail("submit", err))
		return nil, nil
	}
	out := &capped{max: maxAnswer}
	err = ba.site.runner(ctx, bytes.NewReader(tarball), out, "submit", ba.name, scriptName("job", jobText))
	return ba.read(out.String(), err)
}

// read takes the answers line by line: "ok GROUP ID", "no GROUP CODE TEXT",
// "dup ID", "gone ID", "fail TEXT". What has no answer is uncertain when the
// connection was cut, and was not submitted when the command ended.
func (ba *batchOf) read(out string, err error) (taken, gone []string) {
	said := ""
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if !strings.HasSuffix(line, "\n") || len(f) < 2 {
			continue // cut in the middle
		}
		switch f[0] {
		case "ok":
			ba.accept(f[1], f[len(f)-1])
		case "no":
			ba.refuse(f)
		case "dup":
			taken = append(taken, f[1])
		case "gone":
			gone = append(gone, f[1])
		case "fail":
			said = strings.TrimSpace(line[len("fail "):])
		}
	}
	if err == nil && said == "" && len(taken)+len(gone) > 0 {
		return taken, gone
	}
	ba.settle(said, err)
	return nil, nil
}

// settle gives the jobs without an answer theirs.
func (ba *batchOf) settle(said string, err error) {
	_, exited := errors.AsType[*exitError](err)
	_, unsent := errors.AsType[*dialError](err)
	rest := ba.site.fail("submit", cmp.Or(err, errors.New(cmp.Or(said, "the submission was stopped"))))
	if e, ok := errors.AsType[*plugins.Error](rest); ok && said != "" {
		e.Said = said
	}
	if err != nil && !exited && !unsent {
		rest = ba.site.uncertain(err)
	}
	for _, i := range ba.jobs {
		if r := &ba.results[i]; r.Err == nil && r.Handle.ID == "" {
			r.Err = rest
		}
	}
}

func (ba *batchOf) failAll(err error) {
	for _, i := range ba.jobs {
		ba.results[i].Err = err
	}
}

func (ba *batchOf) group(name string) *group {
	for _, g := range ba.groups {
		if g.name == name {
			return g
		}
	}
	return &group{}
}

func (ba *batchOf) accept(name, slurmID string) {
	g := ba.group(name)
	for n, i := range g.jobs {
		id := slurmID
		if len(g.jobs) > 1 {
			id += "_" + strconv.Itoa(n+1)
		}
		ba.results[i].Handle = ba.site.handle(id, ba.reqs[i].ID)
	}
}

// refuse reads what sbatch said. Slurm's controller being away is no refusal.
func (ba *batchOf) refuse(f []string) {
	text := strings.TrimSpace(f[len(f)-1])
	kind := plugins.Refused
	for _, away := range []string{"Unable to contact slurm controller", "Socket timed out", "Zero Bytes were transmitted", "Transport endpoint"} {
		if strings.Contains(text, away) {
			kind = plugins.Uncertain
		}
	}
	err := &plugins.Error{Kind: kind, Op: "sbatch", Endpoint: ba.site.url, Said: strings.ReplaceAll(text, "sbatch: error: ", "")}
	for _, i := range ba.group(f[1]).jobs {
		ba.results[i].Err = err
	}
}

// line is the array index of the group's n-th job; 0 for a single job.
func (g *group) line(n int) int {
	if len(g.jobs) == 1 {
		return 0
	}
	return n + 1
}
