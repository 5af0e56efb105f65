package htcondor

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Submit implements plugins.Submitter. All jobs of a batch go in one command
// over one connection, those with equal requirements by one condor_submit.
func (b *Backend) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	return remote.Submit(ctx, reqs, func(req plugins.Request) (*site, *remote.Site, error) { return b.check(ctx, req) }, p)
}

func (b *Backend) check(ctx context.Context, req plugins.Request) (*site, *remote.Site, error) {
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
	if req.Job.Demand.Nodes > 1 {
		return nil, nil, no(plugins.Refused, "a job of several nodes: HTCondor's vanilla universe gives one")
	}
	if len(s.pool) > 0 {
		if _, err := s.scheddArgs(ctx); err != nil {
			return nil, nil, err
		}
	}
	slots, err := s.poolSlots(ctx)
	if err != nil {
		return nil, nil, err
	}
	if why := never(slots, req); why != "" {
		return nil, nil, no(plugins.Refused, why)
	}
	return s, s.Site, nil
}

// never says why no slot of the kind that a job was planned for could ever
// start it.
func never(slots []slot, req plugins.Request) string {
	if req.Resource != nil && req.Resource.Queue != "" {
		slots = slices.DeleteFunc(slices.Clone(slots), func(sl slot) bool { return kind(sl) != req.Resource.Queue })
	}
	return whyNever(slots, requestOf(req.Job.Demand, ""))
}

// Group implements remote.LRMS: jobs with equal requirements.
func (s *site) Group(batch string, reqs []plugins.Request, jobs []int) ([]*remote.Group, map[int]error) {
	groups, errs := remote.GroupBy(jobs, len(jobs), func(i int) (string, error) { return s.head(reqs[i]) })
	for _, g := range groups {
		name := batch + "." + g.Name
		if len(g.Jobs) == 1 {
			name = reqs[g.Jobs[0]].ID
		}
		var rows strings.Builder
		for _, i := range g.Jobs {
			rows.WriteString(row(reqs[i]))
		}
		g.Files = map[string]string{
			"sub":  g.Shared + "JobBatchName = " + name + "\nqueue " + columns + " from (\n" + rows.String() + ")\n",
			"args": remote.Lines(s.submitArgs()),
		}
	}
	return groups, errs
}

// submitArgs name the schedd. With -remote the input is spooled there.
func (s *site) submitArgs() []string {
	if len(s.name) == 0 {
		return nil
	}
	if s.network {
		return slices.Concat([]string{"-remote", s.name[1]}, s.pool)
	}
	return slices.Concat(s.name, s.pool)
}

// columns of the table of a submit file. The cells are ids and numbers, every
// row has all of them: HTCondor gives a short row the values of the one before.
const columns = "gid,cpus,mem,disk,gpus,wall,net,mins"

// What a job gets that does not say what it needs.
const (
	defaultMemory = 512       // MB
	defaultDisk   = 100 << 10 // kB
)

// Over the wall time, at which job.sh ends the program and sends what there
// is, HTCondor waits this long before it holds the job, which brings nothing.
const grace = 10 * time.Minute

func row(req plugins.Request) string {
	d := req.Job.Demand
	wall := int64(math.Ceil(d.WallTime.Seconds()))
	cells := []int64{int64(max(1, d.Slots)), cmp.Or(d.Memory, defaultMemory), max(d.Disk<<10, defaultDisk),
		int64(d.GPUs), wall, wall + int64(grace.Seconds()), int64(math.Ceil(d.WallTime.Minutes()))}
	text := req.ID
	for _, c := range cells {
		text += " " + strconv.FormatInt(max(0, c), 10)
	}
	return text + "\n"
}

// head is the submit file but for the table. HTCondor never starts a job a
// second time by itself: that is for the broker to decide.
func (s *site) head(req plugins.Request) (string, error) {
	needs, err := s.requirements(req)
	if err != nil {
		return "", err
	}
	brought := "words.sh"
	if remote.Sends(req.Job) {
		brought += ",work"
	}
	lines := slices.Concat(universe(&s.seen, req.Job), []string{
		"executable = $(jobfile)", "arguments = $(wall)", "initialdir = ../../jobs/$(gid)",
		"should_transfer_files = YES", "when_to_transfer_output = ON_EXIT",
		"transfer_input_files = " + brought, "transfer_output_files = out",
		"output = stdout", "error = stderr", "log = events", `My.GridBrokerId = "$(gid)"`,
		"job_ad_information_attrs = GridBrokerId,ExitCode",
		"request_cpus = $(cpus)", "request_memory = $(mem)MB", "request_disk = $(disk)KB", "request_gpus = $(gpus)",
		"requirements = " + strings.Join(append([]string{"((NumJobStarts =?= 0) || isUndefined(NumJobStarts))"}, needs...), " && "),
		"leave_in_queue = JobStatus == 4 && time() - CompletionDate < 864000",
	})
	if req.Job.Demand.WallTime > 0 {
		lines = append(lines, "allowed_job_duration = $(net)")
	}
	if s.network { // what the routes of an HTCondor-CE look at
		lines = append(lines, "My.xcount = $(cpus)", "My.maxMemory = $(mem)")
		if req.Job.Demand.WallTime > 0 {
			lines = append(lines, "My.maxWallTime = $(mins)")
		}
	}
	if s.account != "" {
		lines = append(lines, "accounting_group = "+s.account)
	}
	return remote.Lines(lines), nil
}

// universe is that of containers for a job that brings its image, where slots of the pool take them. The steps then run
// inside the container, and enter no environment of ours; of a container, condor_submit takes a program with a whole path
// for one of the image, and leaves it behind.
func universe(pool *seen, job *jdl.Job) []string {
	image := job.UserImage()
	if image == "" || jdl.CheckImage(image) != "" {
		return []string{"universe = vanilla"}
	}
	if need, ok := pool.need(jdl.UserImageTag); !ok || need != "TARGET."+hasContainer {
		return []string{"universe = vanilla"}
	}
	lines := []string{"universe = container", "container_image = " + image, `environment = "GRID_CONTAINER=yes"`, "transfer_executable = true"}
	if jdl.ImageFolder(image) { // which every node has
		lines = append(lines, "transfer_container = false")
	}
	return lines
}

// requirements pin a job to the kind of slot it was planned for, and to those
// with the environments it asks for. Values that are not plain are not used.
func (s *site) requirements(req plugins.Request) ([]string, error) {
	var needs []string
	if req.Resource != nil {
		if system, arch, ok := strings.Cut(req.Resource.Queue, "/"); ok && remote.Plain(system) && remote.Plain(arch) {
			needs = append(needs, fmt.Sprintf("TARGET.OpSysAndVer == %q && TARGET.Arch == %q", system, arch))
		}
	}
	if s.network && !s.seen.any() { // the CE's routes know them, and who published the CE said that it has them
		return needs, nil
	}
	for _, want := range req.Job.Demand.RuntimeEnvironments {
		need, ok := s.seen.need(want)
		if !ok {
			return nil, fmt.Errorf("no slot of the pool has the environment %q", want)
		}
		needs = append(needs, need)
	}
	return needs, nil
}

// refusals are words of condor_submit and what they mean; the first that fits.
var refusals = []struct {
	words string
	kind  plugins.Kind
}{
	{"DENIED", plugins.Credential}, {"AUTHENTICATE", plugins.Credential}, {"Can't find address", plugins.Unavailable},
	{"Failed to connect", plugins.Unavailable}, {"Failed to commit", plugins.Uncertain}, {"failed to send", plugins.Uncertain},
	{"Failed to end transaction", plugins.Uncertain}, {"disconnected", plugins.Uncertain}, {"timed out", plugins.Uncertain},
}

// Refusal implements remote.LRMS.
func (s *site) Refusal(said string) plugins.Kind {
	for _, r := range refusals {
		if strings.Contains(said, r.words) {
			return r.kind
		}
	}
	return plugins.Refused
}

// Find implements plugins.Finder, see remote.Sites.Find.
func (b *Backend) Find(ctx context.Context, endpoint glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	s, err := b.At(endpoint.URL)
	if err != nil {
		return nil, err
	}
	if s.network { // what lies here says nothing of a schedd that cannot be asked
		if _, err := s.queued(ctx, nil); err != nil {
			return nil, err
		}
	}
	return b.Sites.Find(ctx, endpoint, ids)
}

// Lookup implements remote.LRMS. The queue is asked before the history, for
// jobs go from the one to the other. What a neighbour has under one of the names is
// not ours; where it is all that is there, it is not known whether ours arrived.
func (s *site) Lookup(ctx context.Context, names []string) (map[string]string, error) {
	b := batches{me: identityAt(ctx, s), names: names, found: map[string]string{}, others: map[string]string{}}
	const attributes = "ClusterId,JobBatchName,Owner"
	if err := s.ads(ctx, b.take, "condor_q", "-json", "-attributes", attributes, "-constraint", "GridBrokerId isnt undefined"); err != nil {
		return nil, err
	}
	if len(b.found) == len(names) {
		return b.found, nil
	}
	for part := range slices.Chunk(names, maxAsked) {
		err := s.ads(ctx, b.take, "condor_history", "-json", "-attributes", attributes, "-scanlimit", scanLimit,
			"-constraint", fmt.Sprintf("stringListMember(JobBatchName, %q)", strings.Join(part, ",")))
		if err != nil {
			return nil, err
		}
	}
	for name, owner := range b.others {
		if b.found[name] == "" {
			return nil, s.Fail("condor_q", fmt.Errorf("%s is there as a job of %s, and we are %s: it is not known whether ours is", name, owner, b.me))
		}
	}
	return b.found, nil
}

// batches are those looked for, by name.
type batches struct {
	me            string
	names         []string
	found, others map[string]string // clusters; owners who are not me
}

// take reads a job's ad. In a table a neighbour's name could be several lines, one of them as if it were about a job of ours.
func (b batches) take(job ad) {
	name, owner := job.text("JobBatchName"), job.text("Owner")
	switch {
	case !slices.Contains(b.names, name):
	case isOurs(b.me, owner):
		b.found[name] = strconv.FormatInt(job.integer("ClusterId"), 10)
	default:
		b.others[name] = owner
	}
}

const (
	maxAsked  = 500      // ids in one constraint
	scanLimit = "500000" // ended jobs looked at in the history, newest first
)

// memoryOf is the memory of a request in MB, with the default.
func memoryOf(d jdl.Demand) int64 { return cmp.Or(d.Memory, defaultMemory) }
