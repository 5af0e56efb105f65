package htcondor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/batch"
	"gridbroker/plugins"
)

// Queue reads the slots and jobs of one pool.
type Queue struct {
	site   *site
	others strangers
	limits limits
}

// QueueReader opens a URL as a reader of the pool's slots and the schedd's jobs.
func (b *Backend) QueueReader(raw string) (plugins.QueueReader, error) {
	s, err := b.At(raw)
	if err != nil {
		return nil, err
	}
	return &Queue{site: s}, nil
}

// queueAttributes are read of every job of the schedd.
var queueAttributes = strings.Join([]string{"ClusterId", "ProcId", "JobStatus", "Owner", "AcctGroup", "RequestCpus", "RequestMemory", "RequestDisk",
	"RequestGPUs", "QDate", "JobCurrentStartDate", "AllowedJobDuration", "RemoteHost", "JobPrio", "HoldReasonCode", "DeferralTime",
	"DeferralPrepTime", "AutoClusterId", "ConcurrencyLimits", "TotalSubmitProcs", "JobMaterializeNextProcId", "JobMaterializeLimit", "JobMaterializePaused", "JobUniverse"}, ",")

// Queue implements plugins.QueueReader: slots as nodes, one queue, and all
// jobs of the schedd, those that are not materialised yet included. Those that wait may have the slots that meet their
// requirements and whose START takes them. What slots have given
// to other schedds' jobs is held by jobs of nobody's.
func (q *Queue) Queue(ctx context.Context) (batch.State, error) {
	slots, jobs, err := q.site.readQueue(ctx, queueAttributes)
	if err != nil {
		return batch.State{}, err
	}
	where, err := q.places(ctx, slots, jobs)
	if err != nil {
		return batch.State{}, err
	}
	st := state(q.site.Options.Now(), q.site.URL, slots, jobs, where)
	if err := q.limits.throttle(ctx, q.site, &st, jobs); err != nil {
		return batch.State{}, err
	}
	q.others.fill(&st, slots)
	return st, nil
}

// readQueue reads the slots of the pool and some attributes of the schedd's jobs.
func (s *site) readQueue(ctx context.Context, attributes string) (slots []slot, jobs []ad, err error) {
	ask, ctx := errgroup.WithContext(ctx)
	ask.Go(func() (err error) {
		slots, err = s.readSlots(ctx)
		return err
	})
	ask.Go(func() error {
		wanted := among(attributes)
		return s.ads(ctx, func(a ad) {
			maps.DeleteFunc(a, func(name string, _ any) bool { return !wanted[name] })
			jobs = append(jobs, a)
		}, "condor_q", "-allusers", "-json", "-attributes", attributes)
	})
	return slots, jobs, ask.Wait()
}

// jobID is a job's CLUSTER.PROC.
func jobID(j ad) string { return fmt.Sprintf("%d.%d", j.integer("ClusterId"), j.integer("ProcId")) }

// Values of HTCondor's JobStatus.
const (
	statusIdle         = 1
	statusRunning      = 2
	statusHeld         = 5
	statusTransferring = 6
	statusSuspended    = 7
)

// queueName is that of the one queue of a schedd.
const queueName = "condor"

func state(now time.Time, cluster string, slots []slot, jobs []ad, where places) batch.State {
	st := batch.State{Now: now, Cluster: cluster, Queues: []batch.Queue{{Name: queueName}}}
	for _, s := range slots {
		st.Nodes = append(st.Nodes, node(s))
	}
	factories := factoriesOf(jobs)
	for _, j := range jobs {
		if b, ok := queuedJob(j); ok {
			factories[j.integer("ClusterId")].bind(&b)
			where.bind(&b, j)
			st.Jobs = append(st.Jobs, b)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(factories)) {
		st.Jobs = append(st.Jobs, factories[id].unmaterialised(maxUnmaterialised-len(st.Jobs), where)...)
	}
	return st
}

// node is a slot as a machine of its own: what HTCondor gives to jobs.
func node(s slot) batch.Node {
	up := s.open()
	if start, ok := s.ad["Start"].(bool); ok && !start {
		up = false
	}
	tags := s.tags()
	n := batch.Node{Name: s.text("Name"), CPUs: int(s.amount("TotalSlotCpus")), Memory: s.amount("TotalSlotMemory"),
		Disk: s.amount("TotalSlotDisk") >> 10, GPUs: int(s.amount("TotalSlotGPUs")), Up: up}
	for tag := range tags {
		n.Features = append(n.Features, tag)
	}
	slices.Sort(n.Features)
	return n
}

// besideSchedd are the universes of jobs that have no slot: scheduler (DAGMan), grid and local.
var besideSchedd = map[int64]bool{7: true, 9: true, 12: true}

func queuedJob(j ad) (batch.Job, bool) {
	if besideSchedd[j.integer("JobUniverse")] {
		return batch.Job{}, false
	}
	b := batch.Job{
		ID: jobID(j), Queue: queueName, User: j.text("Owner"),
		Group: j.text("AcctGroup"), Procs: int(max(1, j.amount("RequestCpus"))), Disk: j.amount("RequestDisk") >> 10,
		GPUs: int(j.amount("RequestGPUs")), Submitted: j.time("QDate"), Requested: j.duration("AllowedJobDuration"),
		Priority: float64(j.integer("JobPrio")), Begin: begin(j), Nodes: 1,
	}
	b.Memory = j.amount("RequestMemory") / int64(b.Procs)
	switch j.integer("JobStatus") {
	case 1:
		return b, true
	case 5:
		b.Held = true
		return b, true
	case 2, 6, 7:
		b.Started = j.time("JobCurrentStartDate")
		b.Placed = []batch.Placement{{Node: parent(j.text("RemoteHost")), Procs: b.Procs}}
		return b, !b.Started.IsZero()
	}
	return b, false
}

// begin is when a job may have a slot: with a time of its own (deferral_time, cron_...) it waits for that in the slot,
// which it has so long before (DeferralPrepTime).
func begin(j ad) time.Time {
	t := j.time("DeferralTime")
	if t.IsZero() {
		return t
	}
	return t.Add(-j.duration("DeferralPrepTime"))
}

// parent is the slot that a dynamic one was cut from: slot9_3@node is of
// slot9@node.
func parent(slot string) string {
	name, host, _ := strings.Cut(slot, "@")
	name, _, _ = strings.Cut(name, "_")
	return name + "@" + host
}
