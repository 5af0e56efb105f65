package slurm

import (
	"context"
	"maps"
	"slices"
	"strings"

	"gridbroker/batch"
	"gridbroker/glue"
	"gridbroker/plugins/remote"
)

// Resources implements remote.AnySite: one resource per partition that is not
// hidden; one that does not let the user in is closed.
func (s *site) Resources(ctx context.Context) ([]glue.Resource, error) {
	c, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	rules, err := s.rules(ctx)
	if err != nil {
		return nil, err
	}
	now := s.Options.Now()
	state := c.state(now, s.URL)
	var rs []glue.Resource
	for _, p := range c.parts {
		if p["Hidden"] == "YES" {
			continue
		}
		r := partition(p, state, s)
		describe(&r, c.nodes, p["PartitionName"])
		if remote.Deploys(r.RuntimeEnvironments) {
			r.CEID = remote.ManagerID(r.CE, r.Queue)
		}
		if n := atoi(p["MaxNodes"]); n > 0 && r.SMPSize.OK {
			r.MaxSlotsPerJob = glue.Some(int64(n) * r.SMPSize.V)
		} else if p["MaxNodes"] == unlimited {
			r.Unlimited |= glue.LimitSlotsPerJob
		}
		rules.apply(&r, p)
		r.Endpoints[0].Serving = r.Serving
		rs = append(rs, r)
	}
	return rs, nil
}

// unlimited is what scontrol says of a limit that is none.
const unlimited = "UNLIMITED"

// serving maps a partition's state (sinfo(1)): DOWN takes jobs and starts
// none, DRAIN takes none, INACTIVE neither.
var serving = map[string]glue.ServingState{
	"UP": glue.Production, "DOWN": glue.Queueing, "DRAIN": glue.Draining, "INACTIVE": glue.Closed,
}

// partition says what a partition is and how it stands.
func partition(p map[string]string, state batch.State, s *site) glue.Resource {
	name := p["PartitionName"]
	t, _, _ := parseURL(s.URL)
	host := t.Host
	if host == "" {
		host = "localhost"
	}
	r := glue.Resource{
		ID: s.URL + "#" + name, Name: host + "/" + name, Site: host, CE: host, Queue: name,
		LRMS: "slurm", Implementation: "Slurm", Schema: "self", Source: s.URL,
		Created: state.Now, Fetched: state.Now, Serving: serving[p["State"]],
	}
	r.Endpoints = []glue.Endpoint{{ID: r.ID, URL: s.URL, Interface: glue.InterfaceSlurm, Health: "ok", Serving: r.Serving}}
	limits(&r, p)
	count(&r, state, name)
	return r
}

func limits(r *glue.Resource, p map[string]string) {
	if d, ok := duration(p["MaxTime"]); ok {
		r.MaxWallTime = glue.Some(d)
	} else if p["MaxTime"] == unlimited {
		r.Unlimited |= glue.LimitWallTime | glue.LimitCPUTime
	}
	if d, ok := duration(p["DefaultTime"]); ok {
		r.DefaultWallTime = glue.Some(d)
	}
	if n := atoi(p["PriorityTier"]); n > 0 {
		r.Priority = glue.Some(int64(n))
	}
	if mode := p["PreemptMode"]; mode != "" {
		r.Preemption = glue.Some(mode != "OFF")
	}
	if mb := atoi(p["MaxMemPerNode"]); mb > 0 {
		r.MaxMemory = glue.Some(int64(mb))
	} else if p["MaxMemPerNode"] == unlimited {
		r.Unlimited |= glue.LimitMemory
	}
}

// count reads the partition's load. A job waiting for several partitions
// counts in each.
func count(r *glue.Resource, state batch.State, name string) {
	var running, waiting, used int64
	for _, j := range state.Jobs {
		if j.Queue != name && !slices.Contains(j.Also, name) {
			continue
		}
		if !j.Started.IsZero() {
			running, used = running+1, used+int64(occupied(&j))
		} else if !j.Held && !j.Begin.After(state.Now) && len(j.After) == 0 {
			waiting++
		}
	}
	r.Running, r.Waiting, r.Total = glue.Some(running), glue.Some(waiting), glue.Some(running+waiting)
	r.UsedSlots = glue.Some(used)
}

// describe sums up the partition's nodes: slots, free slots, the largest
// node's memory and CPUs, and every feature and type of GPU as a runtime environment, since a
// job can ask for each.
func describe(r *glue.Resource, nodes []map[string]string, name string) {
	var total, free, smp, memory, gpu, disk int64
	tags := map[string]bool{}
	for _, m := range nodes {
		n := node(m)
		if !slices.Contains(n.Queues, name) {
			continue
		}
		for _, f := range n.Features {
			tags[f] = true
		}
		r.Platform, r.LRMSVersion, r.ImplVersion = m["Arch"], m["Version"], m["Version"]
		r.OSFamily, _, _ = strings.Cut(strings.ToLower(m["OS"]), " ")
		smp, memory, gpu, disk = max(smp, int64(n.CPUs)), max(memory, n.Memory), max(gpu, int64(n.GPUs)), max(disk, n.Disk)
		if n.Up {
			total += int64(n.CPUs)
			if !underMaintenance(m["State"]) {
				free += freeCPUs(n, m)
			}
		}
	}
	r.RuntimeEnvironments = slices.Sorted(maps.Keys(tags))
	r.TotalSlots, r.FreeSlots, r.LogicalCPUs = glue.Some(total), glue.Some(free), glue.Some(total)
	if smp > 0 {
		r.SMPSize, r.MainMemory, r.MaxDisk = glue.Some(smp), glue.Some(memory), glue.Some(disk)
	}
	r.GPUs = glue.Some(gpu)
}

// freeCPUs are a node's idle CPUs; none where its memory is given away.
func freeCPUs(n batch.Node, m map[string]string) int64 {
	if n.Memory > 0 && int64(atoi(m["AllocMem"])) >= n.Memory {
		return 0
	}
	return int64(max(0, n.CPUs-atoi(m["CPUAlloc"])))
}
