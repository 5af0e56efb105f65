package wiki

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"gridbroker/batch/maui"
	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/plugins"
)

// source publishes the queues of one resource manager as resources.
type source struct{ site *site }

var (
	_ infosys.Source = source{}
	_ infosys.Owner  = source{}
)

// Source implements plugins.SourceOpener.
func (b *backend) Source(u *url.URL) (plugins.Source, error) {
	s, err := b.site(u.String())
	if err != nil {
		return nil, err
	}
	return source{s}, nil
}

// Name implements infosys.Source.
func (s source) Name() string { return s.site.url }

// Owns implements infosys.Owner: the resource manager of this very URL.
func (s source) Owns(e glue.Endpoint) bool {
	return e.Interface == glue.InterfaceWIKI && e.URL == s.site.url
}

// Resources implements infosys.Source: one resource for each class of the
// nodes; where they have none, for each partition; else one for all.
func (s source) Resources(ctx context.Context) ([]glue.Resource, error) {
	r, err := s.site.read(ctx)
	if err != nil {
		return nil, err
	}
	list, err := sharesOf(r.nodes)
	if err != nil {
		return nil, &plugins.Error{Kind: plugins.Unavailable, Op: "wiki " + GetNodes, Endpoint: s.site.client.Address, Err: err}
	}
	if err := count(list, r); err != nil {
		return nil, &plugins.Error{Kind: plugins.Unavailable, Op: "wiki " + GetJobs, Endpoint: s.site.client.Address, Err: err}
	}
	out := make([]glue.Resource, len(list))
	for i, sh := range list {
		out[i] = sh.resource(s.site, r.at)
	}
	return out, nil
}

// share is a queue of the cluster, summed up.
type share struct {
	queue                         string          // "": the whole cluster
	nodes, partitions             map[string]bool // its nodes, and the partitions they are of
	slots, free, smp, gpus        int64           // gpus: of the node with the most
	speed                         float64         // SPEED of the slowest node; 0: none says
	memory, disk                  int64           // MB of the largest node
	up                            bool
	tags                          map[string]bool
	os, arch                      string
	running, waiting, used, asked int64   // jobs, jobs, slots, slots
	work                          float64 // slot-seconds until all that runs and waits has reached its limit
	limitless                     bool    // a job has no limit
}

func newShare(queue string) *share {
	return &share{queue: queue, nodes: map[string]bool{}, partitions: map[string]bool{}, tags: map[string]bool{}}
}

// benchmarkPerSpeed is the HEP-SPEC06 of one slot of SPEED 1.0, that of the
// ranking's reference machine.
const benchmarkPerSpeed = 10.0

// maxShares bounds the queues of one resource manager: each job is looked at
// for each.
const maxShares = 256

// queuesOf are the queues that a node serves.
func queuesOf(n *Node) []string {
	if len(n.Classes) == 0 && n.Partition != "" {
		return []string{n.Partition}
	}
	return sortedKeys(n.Classes)
}

// sharesOf groups the nodes by queue, sorted by name. Nodes of no queue serve all.
func sharesOf(nodes []Node) ([]*share, error) {
	by := map[string]*share{}
	for i := range nodes {
		for _, q := range queuesOf(&nodes[i]) {
			if by[q] == nil {
				by[q] = newShare(q)
			}
			if len(by) > maxShares {
				return nil, fmt.Errorf("more than %d queues", maxShares)
			}
		}
	}
	if len(by) == 0 {
		by[""] = newShare("")
	}
	list := slices.SortedFunc(maps.Values(by), func(a, b *share) int { return cmp.Compare(a.queue, b.queue) })
	for i := range nodes {
		n := &nodes[i]
		queues := queuesOf(n)
		for _, q := range queues {
			by[q].add(n)
		}
		if len(queues) > 0 {
			continue
		}
		for _, sh := range list {
			sh.add(n)
		}
	}
	return list, nil
}

// add sums a node up.
func (sh *share) add(n *Node) {
	slots := n.Procs
	if most, ok := n.Classes[sh.queue]; ok {
		slots = min(slots, most)
	}
	sh.nodes[n.Name], sh.partitions[n.Partition] = true, true
	sh.smp, sh.memory, sh.disk = max(sh.smp, slots), max(sh.memory, n.Memory), max(sh.disk, n.Disk)
	if sh.gpus = max(sh.gpus, n.GPUs); n.Speed > 0 && (sh.speed == 0 || n.Speed < sh.speed) {
		sh.speed = n.Speed
	}
	sh.os, sh.arch = cmp.Or(sh.os, n.OS), cmp.Or(sh.arch, n.Arch)
	for _, f := range n.Features {
		sh.tags[f] = true
	}
	if n.State == maui.NodeDown || n.State == maui.NodeDraining {
		return
	}
	sh.up = true
	sh.slots += slots
	switch {
	case n.Free >= 0:
		sh.free += min(n.Free, slots)
	case n.State != maui.NodeBusy:
		sh.free += slots
	}
}

// maxSteps bounds the work of summing up an answer: a second or so. What is asked
// for by 100,000 jobs in 256 queues takes a tenth of it.
const maxSteps = 1 << 28

// count counts the jobs of each share. What waits for several counts in each;
// held, suspended and ended jobs in none.
func count(list []*share, r *reading) error {
	serve := map[string][]int{} // by node, the shares by their place
	for i, sh := range list {
		for name := range sh.nodes {
			serve[name] = append(serve[name], i)
		}
	}
	steps, tasks, procs := 0, map[string]int64{}, make([]int64, len(list))
	for i := range r.jobs {
		j := &r.jobs[i]
		if j.Gone || j.State != maui.JobIdle && j.State != maui.JobRunning {
			continue
		}
		if j.State == maui.JobIdle {
			steps += len(list) * (1 + len(j.Partitions))
		} else {
			steps += j.spread(serve, tasks, procs)
		}
		if steps > maxSteps {
			return fmt.Errorf("%d jobs and their nodes in %d queues are too many to sum up", len(r.jobs), len(list))
		}
		if j.State == maui.JobIdle {
			wait(list, j, r.at)
			continue
		}
		for i, n := range procs {
			if n > 0 {
				list[i].runs(j, n, r.at)
			}
		}
	}
	return nil
}

// spread sums up the processors that a running job has of each share and tells how
// much work that was; tasks is room for that. Each task is looked at once, each
// node once for each share that it is of.
func (j *Job) spread(serve map[string][]int, tasks map[string]int64, procs []int64) (steps int) {
	clear(tasks)
	clear(procs)
	for _, name := range j.TaskList {
		tasks[name]++
	}
	each := max(1, j.TaskProcs)
	for name, n := range tasks {
		for _, sh := range serve[name] {
			procs[sh] += each * n
		}
		steps += len(serve[name])
		if steps > maxSteps {
			break
		}
	}
	return steps
}

// wait counts a waiting job wherever it may run.
func wait(list []*share, j *Job, now time.Time) {
	if j.Begin > now.Unix() {
		return
	}
	procs := j.Tasks * max(1, j.TaskProcs)
	for _, sh := range list {
		if sh.mayRun(j) {
			sh.waiting, sh.asked = sh.waiting+1, sh.asked+procs
			sh.load(procs, j.Limit)
		}
	}
}

// runs counts a running job that has processors on this share's nodes, if it is of
// this share.
func (sh *share) runs(j *Job, procs int64, now time.Time) {
	if j.Class != "" && sh.queue != "" && j.Class != sh.queue {
		return
	}
	sh.running, sh.used = sh.running+1, sh.used+procs
	left := int64(0)
	if j.Limit > 0 {
		left = max(1, j.Limit-max(0, now.Unix()-j.Started))
	}
	sh.load(procs, left)
}

// mayRun tells whether a waiting job can start here by its class or partitions.
func (sh *share) mayRun(j *Job) bool {
	switch {
	case sh.queue == "" || j.Class == sh.queue:
		return true
	case j.Class != "":
		return false
	case len(j.Partitions) == 0 || slices.Contains(j.Partitions, sh.queue):
		return true
	}
	return slices.ContainsFunc(j.Partitions, func(p string) bool { return sh.partitions[p] })
}

// load adds work; seconds 0: without limit.
func (sh *share) load(procs, seconds int64) {
	sh.limitless = sh.limitless || seconds <= 0
	sh.work += float64(procs) * float64(seconds)
}

// resource says what a share is and how it stands, by GLUE's names.
func (sh *share) resource(s *site, now time.Time) glue.Resource {
	address, host := s.client.Address, "localhost"
	if name, _, err := net.SplitHostPort(address); err == nil {
		host = name
	}
	r := glue.Resource{
		ID: s.url, Name: address, Site: host, CE: host, Queue: sh.queue, LRMS: "maui", Implementation: "WIKI", Schema: "self", Source: s.url,
		Created: now, Fetched: now, Serving: glue.Production, OSName: sh.os, Platform: sh.arch,
		Running: glue.Some(sh.running), Waiting: glue.Some(sh.waiting), Total: glue.Some(sh.running + sh.waiting),
		UsedSlots: glue.Some(sh.used), TotalSlots: glue.Some(sh.slots), FreeSlots: glue.Some(sh.free), LogicalCPUs: glue.Some(sh.slots),
		RuntimeEnvironments: slices.Sorted(maps.Keys(sh.tags)),
		Attrs:               map[string][]string{"glue2computingsharerequestedslots": {strconv.FormatInt(sh.asked, 10)}},
	}
	if sh.queue != "" {
		r.ID, r.Name = s.url+"#"+sh.queue, address+"/"+sh.queue
	}
	if !sh.up {
		r.Serving = glue.Queueing
	}
	r.Endpoints = []glue.Endpoint{{ID: r.ID, URL: s.url, Interface: glue.InterfaceWIKI, Health: "ok", Serving: r.Serving}}
	for _, v := range []struct {
		to     *glue.Opt[int64]
		amount int64
	}{{&r.SMPSize, sh.smp}, {&r.MainMemory, sh.memory}, {&r.MaxDisk, sh.disk}, {&r.GPUs, sh.gpus}} {
		if v.amount > 0 {
			*v.to = glue.Some(v.amount)
		}
	}
	if sh.speed > 0 {
		r.Benchmarks = map[string]float64{"hep-spec06": benchmarkPerSpeed * sh.speed}
	}
	if wait, ok := sh.wait(); ok {
		r.EstimatedWait = glue.Some(wait)
	}
	return r
}

// wait is how long the slots are at work on what runs and waits, by the limits, if that ends;
// none where a slot is free and nothing waits.
func (sh *share) wait() (time.Duration, bool) {
	switch {
	case sh.free > 0 && sh.waiting == 0:
		return 0, true
	case sh.limitless || sh.slots == 0:
		return 0, false
	}
	wait := time.Duration(min(sh.work/float64(sh.slots), horizon.Seconds())) * time.Second
	return wait, wait < horizon
}
