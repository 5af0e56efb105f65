package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/plugins"
)

// maxBatch is the most jobs of one batch.
const maxBatch = 2000

// BatchPrefix begins the names of batches.
const BatchPrefix = "b-"

// Group is the jobs that go as one call of the batch system's command.
type Group struct {
	Name string // g0, g1 ...
	Jobs []int  // indices of requests
	// Shared is what all of its jobs say alike.
	Shared string
	// Files describe the group to send_one: each is GROUP.SUFFIX in the
	// batch's directory.
	Files map[string]string
}

// Line is the place of the group's n-th job, from 1; 0 for a single job.
func (g *Group) Line(n int) int {
	if len(g.Jobs) == 1 {
		return 0
	}
	return n + 1
}

// GroupBy parts jobs into groups of at most so many that say the same; a job of
// which that cannot be told gets the error instead, by its index.
func GroupBy(jobs []int, most int, say func(job int) (string, error)) (groups []*Group, errs map[int]error) {
	errs = map[int]error{}
	open := map[string]*Group{} // that have room
	for _, i := range jobs {
		shared, err := say(i)
		if err != nil {
			errs[i] = err
			continue
		}
		g := open[shared]
		if g == nil || len(g.Jobs) == most {
			g = &Group{Name: "g" + strconv.Itoa(len(groups)), Shared: shared}
			open[shared], groups = g, append(groups, g)
		}
		g.Jobs = append(g.Jobs, i)
	}
	return groups, errs
}

// LRMS is the batch system of one site.
type LRMS interface {
	// Group parts the jobs of a batch into groups; a job that cannot be
	// described gets an error instead, by its index.
	Group(batch string, reqs []plugins.Request, jobs []int) ([]*Group, map[int]error)
	// Handle names the job at a line of a group: lrmsID is what send_one
	// printed, line as Group.Line gives it.
	Handle(lrmsID string, line int, id string) plugins.Handle
	// Refusal tells what the words of a command that failed mean.
	Refusal(said string) plugins.Kind
	// Lookup asks the batch system for groups whose submission left no id.
	// The keys are our ids for single jobs and BATCH.GROUP for others.
	Lookup(ctx context.Context, names []string) (lrmsIDs map[string]string, err error)
}

// Submit sends jobs to their sites, all of one site in one command over one
// connection. Check opens the site of a request, or refuses it.
func Submit[S LRMS](ctx context.Context, reqs []plugins.Request, check func(plugins.Request) (S, *Site, error), p plugins.Progress) []plugins.Result {
	results := make([]plugins.Result, len(reqs))
	at := map[*Site][]int{}
	systems := map[*Site]S{}
	seen := map[string]bool{}
	for i, req := range reqs {
		results[i].ID = req.ID
		lrms, s, err := check(req)
		if err == nil && seen[req.ID] {
			err = &plugins.Error{Kind: plugins.Invalid, Op: "submit", Endpoint: s.URL, Said: "job id " + req.ID + " is used twice"}
		}
		seen[req.ID] = true
		if err != nil {
			results[i].Err = err
			continue
		}
		systems[s], at[s] = lrms, append(at[s], i)
	}
	for s, all := range at {
		for part := range slices.Chunk(all, maxBatch) {
			s.submit(ctx, systems[s], reqs, part, results)
			if p != nil {
				p.Step("submit to "+s.URL, int64(len(part)), int64(len(reqs)))
			}
		}
	}
	return results
}

// CheckID refuses requests whose id or words cannot travel.
func (s *Site) CheckID(req plugins.Request) error {
	said := unsuited(req)
	if !ValidID(req.ID) {
		said = fmt.Sprintf("job id %q cannot name a directory", req.ID)
	}
	if said == "" {
		return nil
	}
	return &plugins.Error{Kind: plugins.Invalid, Op: "submit", Endpoint: s.URL, Said: said}
}

// submit sends one batch. Where names are taken nothing is submitted: a job
// that is there already is found, a name that Find kept for nobody is freed,
// and the rest is sent once more.
func (s *Site) submit(ctx context.Context, lrms LRMS, reqs []plugins.Request, jobs []int, results []plugins.Result) {
	for try := 0; try < 2 && len(jobs) > 0; try++ {
		ba := newBatch(s, lrms, reqs, jobs, results)
		taken, gone := ba.send(ctx)
		if len(taken)+len(gone) == 0 {
			return
		}
		if len(gone) > 0 {
			if _, err := s.Verb(ctx, "revive", gone); err != nil {
				ba.failAll(err)
				return
			}
		}
		s.findTaken(ctx, lrms, taken, reqs, jobs, results)
		jobs = slices.DeleteFunc(jobs, func(i int) bool { return results[i].Err != nil || results[i].Handle.ID != "" })
	}
	for _, i := range jobs {
		results[i].Err = s.Fail("submit", errors.New("somebody else sends or looks up jobs of these names; nothing was submitted"))
	}
}

// findTaken gives the jobs that were submitted before their handles.
func (s *Site) findTaken(ctx context.Context, lrms LRMS, taken []string, reqs []plugins.Request, jobs []int, results []plugins.Result) {
	if len(taken) == 0 {
		return
	}
	found, err := s.Find(ctx, lrms, taken)
	if err == nil {
		err = fmt.Errorf("a job of this id is there already, and %s does not know it", s.System.Name)
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

func (s *Site) uncertain(err error) error {
	return &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Endpoint: s.URL, Err: err,
		Hint: "it may have arrived; it is looked up before anything else is done with it"}
}

// batch is one bulk submission under way.
type batch struct {
	site    *Site
	lrms    LRMS
	name    string
	began   time.Time
	reqs    []plugins.Request
	jobs    []int
	results []plugins.Result
	groups  []*Group
}

func newBatch(s *Site, lrms LRMS, reqs []plugins.Request, jobs []int, results []plugins.Result) *batch {
	ba := &batch{site: s, lrms: lrms, name: BatchPrefix + newName(), began: time.Now(), reqs: reqs, results: results}
	groups, errs := lrms.Group(ba.name, reqs, jobs)
	ba.groups = groups
	for i, err := range errs {
		results[i].Err = &plugins.Error{Kind: plugins.Invalid, Op: "submit", Endpoint: s.URL, Err: err}
	}
	for _, i := range jobs {
		if errs[i] == nil {
			ba.jobs = append(ba.jobs, i)
		}
	}
	return ba
}

// send uploads the input files, sends the batch, and reads the outcome of each
// group. It returns ids whose names are taken, or are kept for nobody.
func (ba *batch) send(ctx context.Context) (taken, gone []string) {
	plan, err := ba.upload(ctx)
	if err != nil {
		ba.failAll(notSubmitted(ba.site, "upload", err))
		return nil, nil
	}
	ba.catchUp(time.Since(ba.began))
	tarball, err := ba.tar(plan)
	if err != nil {
		ba.failAll(ba.site.Fail("submit", err))
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, ba.patience(), ErrSlow)
	defer cancel()
	out := &Answer{Max: maxText}
	err = until(ctx, ba.site, bytes.NewReader(tarball), out, "submit", ba.name)
	return ba.read(out.String(), err)
}

// catchUp takes the time that sending files took off what booked jobs are to wait at the site: a
// slot does not begin later because of that.
func (ba *batch) catchUp(took time.Duration) {
	if took < time.Second || !slices.ContainsFunc(ba.jobs, func(i int) bool { return ba.reqs[i].Booking != nil }) {
		return
	}
	ba.reqs = slices.Clone(ba.reqs)
	for _, i := range ba.jobs {
		if b := ba.reqs[i].Booking; b != nil {
			ba.reqs[i].Booking = b.After(took)
		}
	}
	ba.groups, _ = ba.lrms.Group(ba.name, ba.reqs, ba.jobs) // which it did before, without an error
}

// patience is how long the submission may take: twenty times a short command, and
// as long as three groups take for one.
func (ba *batch) patience() time.Duration {
	return ba.site.Options.Command * time.Duration(60+len(ba.groups)) / 3
}

// read takes the answers line by line: "ok GROUP ID", "lost GROUP" (taken, and
// under no id that was said), "no GROUP CODE TEXT", "dup ID", "gone ID", "fail TEXT". What has no answer is uncertain when the
// connection was cut, and was not submitted when the command ended.
func (ba *batch) read(out string, err error) (taken, gone []string) {
	said := ""
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if !strings.HasSuffix(line, "\n") || len(f) < 2 {
			continue // cut in the middle
		}
		switch f[0] {
		case "ok":
			ba.accept(f[1], strings.Join(f[2:], " "))
		case "lost":
			ba.lose(f[1])
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
func (ba *batch) settle(said string, err error) {
	_, exited := errors.AsType[*ExitError](err)
	_, unsent := errors.AsType[*DialError](err)
	rest := notSubmitted(ba.site, "submit", cmp.Or(err, errors.New(cmp.Or(said, "the submission was stopped"))))
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

func (ba *batch) failAll(err error) {
	for _, i := range ba.jobs {
		ba.results[i].Err = err
	}
}

func (ba *batch) group(name string) *Group {
	for _, g := range ba.groups {
		if g.Name == name {
			return g
		}
	}
	return &Group{}
}

func (ba *batch) accept(name, lrmsID string) {
	if !number(lrmsID) {
		ba.lose(name)
		return
	}
	g := ba.group(name)
	for n, i := range g.Jobs {
		ba.results[i].Handle = ba.lrms.Handle(lrmsID, g.Line(n), ba.reqs[i].ID)
	}
}

// number reports whether a text can be what a batch system calls a group of jobs: it comes from
// the site, becomes a part of handles and of command lines, and is shown.
func number(lrmsID string) bool {
	return lrmsID != "" && len(lrmsID) <= 20 && strings.Trim(lrmsID, "0123456789") == ""
}

// lose notes a group that was taken without an id: it is to be looked up.
func (ba *batch) lose(name string) {
	for _, i := range ba.group(name).Jobs {
		ba.results[i].Err = ba.site.uncertain(fmt.Errorf("%s took it and named no id", ba.site.System.Name))
	}
}

// refuse reads what the batch system's command said.
func (ba *batch) refuse(f []string) {
	text := strings.TrimSpace(f[len(f)-1])
	err := &plugins.Error{Kind: ba.lrms.Refusal(text), Op: "submit", Endpoint: ba.site.URL, Said: text}
	for _, i := range ba.group(f[1]).Jobs {
		ba.results[i].Err = err
	}
}

// place is where the site's side put a job.
type place struct {
	batch, group, lrmsID string
	line                 int
}

// Find looks up jobs by our ids. Its answer is final: a submission that still
// hangs is stopped first, and the name of a job that is not found is taken, so
// that it cannot appear afterwards. Where that cannot be made sure, it is an error.
func (s *Site) Find(ctx context.Context, lrms LRMS, ids []string) (map[string]plugins.Handle, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !ValidID(id) })
	text, err := s.Verb(ctx, "find", ids)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	places, asked, busy := parsePlaces(text, func(id string) bool { return wanted[id] })
	found := map[string]plugins.Handle{}
	for _, id := range ids {
		if !asked[id] || busy[id] {
			return nil, s.Fail("find", errors.New("a submission is still on its way there; ask again"))
		}
		if p, ok := places[id]; ok && number(p.lrmsID) {
			found[id] = lrms.Handle(p.lrmsID, p.line, id)
			delete(places, id)
		}
	}
	return found, s.findByName(ctx, lrms, places, found)
}

// parsePlaces reads where jobs are, those that are known.
func parsePlaces(text string, known func(id string) bool) (places map[string]place, asked, busy map[string]bool) {
	places, asked, busy = map[string]place{}, map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || !known(f[1]) {
			continue
		}
		asked[f[1]] = true
		busy[f[1]] = f[0] == "busy"
		if f[0] == "at" && len(f) == 6 {
			n, err := strconv.Atoi(f[4])
			if err == nil && 0 <= n && n <= maxBatch {
				places[f[1]] = place{batch: f[2], group: f[3], line: n, lrmsID: f[5]}
			}
		}
	}
	return places, asked, busy
}

// findByName asks the batch system for jobs whose submission left no id, and
// takes the names of those that it does not have.
func (s *Site) findByName(ctx context.Context, lrms LRMS, places map[string]place, found map[string]plugins.Handle) error {
	if len(places) == 0 {
		return nil
	}
	var names []string
	for id, p := range places {
		names = append(names, p.name(id))
	}
	slices.Sort(names)
	lrmsIDs, err := lrms.Lookup(ctx, slices.Compact(names))
	if err != nil {
		return err
	}
	var absent []string
	for id, p := range places {
		if lrmsID, ok := lrmsIDs[p.name(id)]; ok && !number(lrmsID) {
			return s.Fail("find", fmt.Errorf("%s calls %s %.40q, which is no number", s.System.Name, p.name(id), lrmsID))
		} else if ok {
			found[id] = lrms.Handle(lrmsID, p.line, id)
		} else {
			absent = append(absent, id)
		}
	}
	_, err = s.Verb(ctx, "absent", absent)
	return err
}

// name is what the batch system calls the job's group.
func (p place) name(id string) string {
	if p.line == 0 {
		return id
	}
	return p.batch + "." + p.group
}
