package broker_test

import (
	"slices"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
)

func TestFilters(t *testing.T) {
	type edit = func(*glue.Resource)
	for _, c := range []struct {
		name   string
		res    edit
		job    func(*jdl.Job)
		rules  func(*broker.Rules)
		want   string // "filter: reason", "" passes
		unkown string // with --unknown=reject
	}{
		{name: "fine"},
		{name: "no GPUs published", job: func(j *jdl.Job) { j.Demand.GPUs = 2 }, want: "slots: want 2 GPUs, have no GPUs published",
			unkown: "slots: want 2 GPUs, have no GPUs published"},
		{name: "GPUs of one that describes itself", res: func(r *glue.Resource) { r.Schema = "self" }, job: func(j *jdl.Job) { j.Demand.GPUs = 2 },
			unkown: "slots: want 2 GPUs, have GPUs not published"},
		{name: "too few GPUs", res: func(r *glue.Resource) { r.GPUs = glue.Some[int64](1) }, job: func(j *jdl.Job) { j.Demand.GPUs = 2 },
			want: "slots: want 2 GPUs, have 1 GPU"},
		{name: "GPUs of two nodes", res: func(r *glue.Resource) { r.GPUs = glue.Some[int64](1) }, job: func(j *jdl.Job) { j.Demand.GPUs, j.Demand.Nodes = 2, 2 }},
		{name: "too few GPUs of two nodes", res: func(r *glue.Resource) { r.GPUs = glue.Some[int64](1) }, job: func(j *jdl.Job) { j.Demand.GPUs, j.Demand.Nodes = 3, 2 },
			want: "slots: want 2 GPUs, have 1 GPU"},
		{name: "too little disk", res: func(r *glue.Resource) { r.MaxDisk = glue.Some[int64](20480) }, job: func(j *jdl.Job) { j.Demand.Disk = 9000 * 1024 },
			want: "disk: want 9216000 MB, have 20480 MB"},
		{name: "disk not published", job: func(j *jdl.Job) { j.Demand.Disk = 10 }, unkown: "disk: want 10 MB, have disk not published"},
		{name: "no limit of disk", res: func(r *glue.Resource) { r.Unlimited = glue.LimitDisk }, job: func(j *jdl.Job) { j.Demand.Disk = 10 }},
		{name: "no limit of time", res: func(r *glue.Resource) {
			r.Unlimited, r.MaxWallTime, r.MaxCPUTime = glue.LimitWallTime|glue.LimitCPUTime, glue.Opt[time.Duration]{}, glue.Opt[time.Duration]{}
		}, job: func(j *jdl.Job) { j.Demand.WallTime, j.Demand.CPUTime = 1000*time.Hour, 1000*time.Hour }},
		{name: "draining", res: func(r *glue.Resource) { r.Serving = glue.Draining },
			want: "state: want production, have draining"},
		{name: "no state", res: func(r *glue.Resource) { r.Serving = glue.Unknown },
			unkown: "state: want serving state production, have serving state not published"},
		{name: "critical endpoint", res: func(r *glue.Resource) { r.Endpoints[0].Health = "critical" },
			want: "state: want a healthy endpoint, have endpoint health critical"},
		{name: "other VO", res: func(r *glue.Resource) { r.Access = []string{"VO:cms", "VOMS:/cms/Role=production"} },
			want: "access: want VO:atlas, have VO:cms, VOMS:/cms/Role=production"},
		{name: "VO without case", res: func(r *glue.Resource) { r.Access = []string{"vo:ATLAS"} }},
		{name: "everybody", res: func(r *glue.Resource) { r.Access = []string{"ALL"} }},
		{name: "no rules", res: func(r *glue.Resource) { r.Access = nil },
			unkown: "access: want VO:atlas, have access rules not published"},
		{name: "no rules of its own", res: func(r *glue.Resource) { r.Access, r.Schema = nil, "self" }},
		{name: "a rule for a role lets no plain member in", res: func(r *glue.Resource) { r.Access = []string{"VOMS:/atlas/Role=production"} },
			rules: func(r *broker.Rules) { r.Identity.FQANs = []string{"/atlas/Role=NULL/Capability=NULL"} },
			want:  "access: want /atlas/Role=NULL/Capability=NULL, have VOMS:/atlas/Role=production"},
		{name: "a role", res: func(r *glue.Resource) { r.Access = []string{"VOMS:/atlas/Role=production"} },
			rules: func(r *broker.Rules) { r.Identity.FQANs = []string{"/atlas/Role=production/Capability=NULL"} }},
		{name: "a group does not cover its subgroups", res: func(r *glue.Resource) { r.Access = []string{"VOMS:/atlas"} },
			rules: func(r *broker.Rules) { r.Identity.FQANs = []string{"/atlas/de"} },
			want:  "access: want /atlas/de, have VOMS:/atlas"},
		{name: "a star does", res: func(r *glue.Resource) { r.Access = []string{"VOMS:/atlas*/Role=*"} },
			rules: func(r *broker.Rules) { r.Identity.FQANs = []string{"/atlas/de/Role=pilot"} }},
		{name: "denied", res: func(r *glue.Resource) { r.Access = []string{"VO:atlas", "DENY:/atlas/de"} },
			rules: func(r *broker.Rules) { r.Identity.FQANs = []string{"/atlas", "/atlas/de"} },
			want:  "access: want /atlas/de, have DENY:/atlas/de"},
		{name: "no VO at all", rules: func(r *broker.Rules) { r.Identity = broker.Identity{} },
			want: "access: want access without a VO, have VO:atlas"},
		{name: "the job's own VO", job: func(j *jdl.Job) { j.VO = "cms" }, want: "access: want VO:cms, have VO:atlas"},
		{name: "a plain member is in the VO's own group", res: func(r *glue.Resource) { r.Access = []string{"VOMS:/atlas"} }},
		{name: "a plain member has no role", res: func(r *glue.Resource) { r.Access = []string{"VOMS:/atlas/Role=production"} },
			want: "access: want VO:atlas, have VOMS:/atlas/Role=production"},
		{name: "the job's VO leaves attributes of others out", res: func(r *glue.Resource) { r.Access = []string{"VO:atlas"} },
			job:   func(j *jdl.Job) { j.VO = "cms" },
			rules: func(r *broker.Rules) { r.Identity.FQANs = []string{"/atlas", "/cms/Role=pilot"} },
			want:  "access: want /cms/Role=pilot, have VO:atlas"},
		{name: "a plain member is denied with the VO", res: func(r *glue.Resource) { r.Access = []string{"ALL", "DENY:/atlas"} },
			want: "access: want /atlas, have DENY:/atlas"},
		{name: "denied VO", res: func(r *glue.Resource) { r.Access = []string{"ALL", "DENY:VO:ATLAS"} },
			want: "access: want VO:ATLAS, have DENY:VO:ATLAS"},
		{name: "denied attribute", res: func(r *glue.Resource) { r.Access = []string{"VO:atlas", "DENY:VOMS:/atlas/Role=pilot"} },
			rules: func(r *broker.Rules) { r.Identity.FQANs = []string{"/atlas", "/atlas/Role=pilot"} },
			want:  "access: want /atlas/Role=pilot, have DENY:VOMS:/atlas/Role=pilot"},
		{name: "denied subject", res: func(r *glue.Resource) { r.Access = []string{"ALL", "DENY:/DC=org/CN=Eve"} },
			rules: func(r *broker.Rules) { r.Identity.Subject = "/DC=org/CN=Eve" },
			want:  "access: want /DC=org/CN=Eve, have DENY:/DC=org/CN=Eve"},
		{name: "denied others", res: func(r *glue.Resource) { r.Access = []string{"VO:atlas", "DENY:/cms", "DENY:VO:ops"} }},
		{name: "protocol", res: func(r *glue.Resource) { r.Endpoints[0].Interface = "org.glite.ce.CREAM" },
			want: "protocol: want org.nordugrid.arcrest, have org.glite.ce.CREAM"},
		{name: "wall time", res: func(r *glue.Resource) { r.MaxWallTime = glue.Some(90 * time.Minute) },
			job: func(j *jdl.Job) { j.Demand.WallTime = 36 * time.Hour }, want: "wall time: want 36h, have 1h30m"},
		{name: "too short", res: func(r *glue.Resource) { r.MinWallTime = glue.Some(time.Hour) },
			job: func(j *jdl.Job) { j.Demand.WallTime = time.Minute }, want: "wall time: want 1m, have at least 1h",
			unkown: "wall time: want 1m, have maximal wall time not published"},
		{name: "no wall time published", job: func(j *jdl.Job) { j.Demand.WallTime = time.Hour },
			unkown: "wall time: want 1h, have maximal wall time not published"},
		{name: "cpu time", res: func(r *glue.Resource) { r.MaxCPUTime = glue.Some(time.Hour) },
			job: func(j *jdl.Job) { j.Demand.CPUTime = 2 * time.Hour }, want: "cpu time: want 2h, have 1h"},
		{name: "memory of the node", res: func(r *glue.Resource) { r.MaxMemory, r.MainMemory = glue.Some[int64](16000), glue.Some[int64](8000) },
			job: func(j *jdl.Job) { j.Demand.Memory = 9000 }, want: "memory: want 9000 MB, have 8000 MB"},
		{name: "slots", job: func(j *jdl.Job) { j.Demand.Slots = 16 }, want: "slots: want 16 slots, have 10 slots"},
		{name: "slots of a node", res: func(r *glue.Resource) { r.SMPSize = glue.Some[int64](4) },
			job: func(j *jdl.Job) { j.Demand.SlotsPerNode = 8 }, want: "slots: want 8 slots on one node, have 4 slots on one node"},
		{name: "full", res: func(r *glue.Resource) { r.Total, r.MaxTotal = glue.Some[int64](20), glue.Some[int64](20) },
			want: "queue limit: want fewer than 20 total jobs, have 20"},
		{name: "software", res: func(r *glue.Resource) { r.RuntimeEnvironments = []string{"APPS/HEP/ATLAS-22.0", "VEE-Linux"} },
			job:  func(j *jdl.Job) { j.Demand.RuntimeEnvironments = []string{"vee-linux", "APPS/HEP/ATLAS-23.0"} },
			want: "runtime environment: want APPS/HEP/ATLAS-23.0, have APPS/HEP/ATLAS-22.0"},
		{name: "logical names", job: func(j *jdl.Job) { j.InputSandbox = []jdl.InputFile{{Name: "f", Source: "LFN:/atlas/f"}} },
			rules: func(r *broker.Rules) { r.Moves = func(_, scheme string, _ bool) bool { return scheme != "lfn" } },
			want:  "files: want input files from lfn:, have no catalogue for logical names: name the URL of a replica"},
		{name: "files that are not sent", job: func(j *jdl.Job) {
			j.InputSandbox = []jdl.InputFile{{Name: "f", Source: "https://se.example.org/f"}}
			j.OutputSandbox = []jdl.OutputFile{{Name: "g", DestURL: "srm://se.example.org/g"}}
		}, rules: func(r *broker.Rules) {
			r.Moves = func(iface, _ string, out bool) bool { return iface == glue.InterfaceARCREST && !out }
		}, want: "files: want output files to srm:, have sends none there"},
		{name: "downtime now", res: func(r *glue.Resource) {
			r.Endpoints[0].Downtimes = []glue.Downtime{{Start: start.Add(-time.Hour), End: start.Add(time.Hour), Info: "new disks"}}
		}, want: "downtime: want no downtime while the job runs, have down from 2026-11-21 05:00Z to 2026-11-21 07:00Z: new disks"},
		{name: "downtime before the job would end", res: func(r *glue.Resource) {
			r.Endpoints[0].Downtimes = []glue.Downtime{{Start: start.Add(2 * time.Hour), End: start.Add(3 * time.Hour)}}
		}, job: func(j *jdl.Job) { j.Demand.WallTime = 4 * time.Hour },
			want:   "downtime: want no downtime while the job runs, have down from 2026-11-21 08:00Z to 2026-11-21 09:00Z",
			unkown: "wall time: want 4h, have maximal wall time not published"},
		{name: "downtime later", res: func(r *glue.Resource) {
			r.Endpoints[0].Downtimes = []glue.Downtime{{Start: start.Add(2 * time.Hour), End: start.Add(3 * time.Hour)}}
		}},
		{name: "old", res: func(r *glue.Resource) { r.Created = start.Add(-20 * time.Hour) },
			want: "age: want a record younger than 12h, have 20h old"},
		{name: "old but still valid", res: func(r *glue.Resource) { r.Created, r.Validity = start.Add(-20*time.Hour), 24*time.Hour }},
		{name: "old in a file", res: func(r *glue.Resource) { r.Created, r.Source = start.Add(-20000*time.Hour), "file:dump.ldif" }},
		{name: "other site", rules: func(r *broker.Rules) { r.Sites = []string{"b*", "c"} }, want: "site: want b* or c, have ce"},
		{name: "a pattern over a slash", res: func(r *glue.Resource) { r.Name = "ce/long" }, rules: func(r *broker.Rules) { r.Sites = []string{"c*long"} }},
		{name: "this site", rules: func(r *broker.Rules) { r.Sites = []string{"SITE-C*"} }},
		{name: "submit to", job: func(j *jdl.Job) { j.SubmitTo = "ce.example.org:8443/cream-pbs-batch" }},
		{name: "submit elsewhere", job: func(j *jdl.Job) { j.SubmitTo = "ce.example.org:8443/cream-pbs-long" },
			want: "site: want SubmitTo ce.example.org:8443/cream-pbs-long, have ce"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.unkown == "" {
				c.unkown = c.want
			}
			for unknown, want := range map[broker.Unknown]string{broker.Keep: c.want, broker.RejectUnknown: c.unkown} {
				res, job := site("ce"), newJob(t, "[]")
				rules := newBroker().Rules
				rules.Now, rules.Unknown = start, unknown
				if c.res != nil {
					c.res(res)
				}
				if c.job != nil {
					c.job(job)
				}
				if c.rules != nil {
					c.rules(&rules)
				}
				if got := first(broker.DefaultFilters(rules), job, res); got != want {
					t.Errorf("unknown=%s: got %q, want %q", unknown, got, want)
				}
			}
		})
	}
}

func first(filters []broker.Filter, job *jdl.Job, res *glue.Resource) string {
	for _, f := range filters {
		if why := f.Reject(job, res); why != nil {
			return string(f.Name) + ": " + why.String()
		}
	}
	return ""
}

// TestGPUsOfNodes: a job of as many GPUs on more nodes is another one to the filter, which needs fewer on each.
func TestGPUsOfNodes(t *testing.T) {
	filters := broker.DefaultFilters(newBroker().Rules)
	f := filters[slices.IndexFunc(filters, func(f broker.Filter) bool { return f.Name == broker.BySlots })]
	job := newJob(t, "[]")
	job.Demand.GPUs = 2
	one, _ := f.Of(job)
	job.Demand.Nodes = 2
	if two, _ := f.Of(job); one == two {
		t.Errorf("both are %q", one)
	}
}

// TestUnknownNodes: where nobody says how large nodes are, slots of one node are for
// the resource to judge; where it is said, it holds.
func TestUnknownNodes(t *testing.T) {
	for size, want := range map[int64]bool{0: true, 2: false, 4: true} {
		for _, src := range []string{`CPUNumber = 4; SMPGranularity = 4;`, `CPUNumber = 4; HostNumber = 1;`} {
			job, err := jdl.ParseJob("t.jdl", []byte(`Executable = "/bin/true"; `+src))
			if err != nil {
				t.Fatal(err)
			}
			res := site("ce")
			if size > 0 {
				res.SMPSize = glue.Some(size)
			}
			if why := first(broker.DefaultFilters(newBroker().Rules), job, res); (why == "") != want {
				t.Errorf("%s on nodes of %d: %q", src, size, why)
			}
		}
	}
}
