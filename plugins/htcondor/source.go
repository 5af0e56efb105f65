package htcondor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins/remote"
)

// scheddAd reads the counts and statistics of the schedd.
func (s *site) scheddAd(ctx context.Context) (ad, error) {
	at, err := s.scheddArgs(ctx)
	if err != nil {
		return nil, err
	}
	args := slices.Concat([]string{"condor_status", "-schedd", "-json"}, s.pool)
	if len(at) > 1 {
		args = append(args, "-constraint", fmt.Sprintf("Name == %q", at[1]))
	}
	var first ad
	err = records(ctx, s, func(object []byte) (err error) {
		if first == nil {
			first, err = readAd(object)
		}
		return err
	}, args...)
	if err == nil && first == nil {
		err = s.Fail("condor_status -schedd", errors.New("the pool shows no schedd"))
	}
	return first, err
}

// Resources implements remote.AnySite: one resource per operating system and
// architecture among the slots.
func (s *site) Resources(ctx context.Context) ([]glue.Resource, error) {
	slots, err := s.readSlots(ctx)
	if err != nil {
		return nil, err
	}
	schedd, err := s.scheddAd(ctx)
	if err != nil {
		return nil, err
	}
	kinds := map[string][]slot{}
	for _, sl := range slots {
		kinds[kind(sl)] = append(kinds[kind(sl)], sl)
	}
	if len(slots) == 0 && s.network { // an HTCondor-CE: the slots are those of the cluster behind it
		return []glue.Resource{s.resource("", nil, schedd)}, nil
	}
	var rs []glue.Resource
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		rs = append(rs, s.resource(name, kinds[name], schedd))
	}
	return rs, nil
}

// kind names the resource that a slot belongs to; requirements take it apart.
func kind(s slot) string { return s.text("OpSysAndVer") + "/" + s.text("Arch") }

func (s *site) resource(name string, slots []slot, schedd ad) glue.Resource {
	now := s.Options.Now()
	host, first := s.host(), slot{ad: schedd}
	if len(slots) > 0 {
		first = slots[0]
	}
	r := glue.Resource{
		ID: s.URL + "#" + name, Name: host + "/" + name, Site: host, CE: host, Queue: name, LRMS: "condor",
		Implementation: "HTCondor", ImplVersion: version(first.text("CondorVersion")), LRMSVersion: version(first.text("CondorVersion")),
		Schema: "self", Source: s.URL, Created: now, Fetched: now, Serving: glue.Production,
		Platform: strings.ToLower(first.text("Arch")), OSFamily: strings.ToLower(first.text("OpSys")),
		OSName: first.text("OpSysName"), OSVersion: majorVersion(first), RuntimeEnvironments: tagsOf(slots),
	}
	if site := first.text("SiteName"); site != "" {
		r.Site = site
	}
	if remote.Deploys(r.RuntimeEnvironments) {
		r.CEID = remote.ManagerID(host, name)
	}
	if name == "" {
		r.ID, r.Name = s.URL, host
	}
	r.Endpoints = []glue.Endpoint{{ID: r.ID, URL: s.URL, Interface: s.System.Interface, Health: "ok", Serving: r.Serving}}
	if len(slots) > 0 {
		size(&r, slots)
		r.Unlimited = glue.LimitWallTime | glue.LimitCPUTime // of the pool's; what its startds' policies do they do not tell
	}
	load(&r, schedd)
	return r
}

// host is the machine of the schedd, as far as the URL tells.
func (s *site) host() string {
	a, _ := parseURL(s.URL)
	switch {
	case a.Host != "":
		return a.Host
	case a.pool != "":
		host, _, _ := strings.Cut(a.pool, ":")
		return host
	}
	return "localhost"
}

// version is the number in "$CondorVersion: 23.9.6 2026-07-12 ... $".
func version(s string) string {
	if f := strings.Fields(s); len(f) > 1 {
		return f[1]
	}
	return ""
}

func majorVersion(s slot) string {
	if n := s.integer("OpSysMajorVer"); n > 0 {
		return fmt.Sprint(n)
	}
	return ""
}

// size sums up the slots: cores in all and free for plain jobs of one core,
// and the largest slot's cores, memory, GPUs and disk.
func size(r *glue.Resource, slots []slot) {
	var total, used, smp, memory, gpus, disk int64
	for _, s := range slots {
		cpus := s.amount("TotalSlotCpus")
		total += cpus
		switch {
		case s.truth("PartitionableSlot"):
			used += max(0, cpus-s.amount("Cpus"))
		case s.text("State") == "Claimed":
			used += cpus
		}
		smp, memory = max(smp, cpus), max(memory, s.amount("TotalSlotMemory"))
		gpus, disk = max(gpus, s.amount("TotalSlotGPUs")), max(disk, s.amount("TotalSlotDisk")>>10)
	}
	plain := requestOf(jdl.Demand{}, "")
	r.TotalSlots, r.UsedSlots, r.LogicalCPUs = glue.Some(total), glue.Some(used), glue.Some(total)
	r.FreeSlots = glue.Some(room(slots, plain))
	r.SMPSize, r.MaxSlotsPerJob, r.MainMemory, r.MaxMemory = glue.Some(smp), glue.Some(smp), glue.Some(memory), glue.Some(memory)
	r.GPUs, r.MaxDisk = glue.Some(gpus), glue.Some(disk)
}

// load reads the schedd's counts, which are of the whole schedd: jobs that are
// not materialised yet wait, too. The wait is that of the jobs that started of
// late.
func load(r *glue.Resource, schedd ad) {
	waiting := schedd.amount("TotalIdleJobs") + schedd.amount("JobsUnmaterialized")
	running := schedd.amount("TotalRunningJobs")
	r.Waiting, r.Running, r.Total = glue.Some(waiting), glue.Some(running), glue.Some(waiting+running)
	if n := schedd.integer("MaxJobsRunning"); n > 0 {
		r.MaxRunning = glue.Some(n)
	}
	if wait, ok := meanWait(schedd); ok {
		r.EstimatedWait = glue.Some(wait)
	}
}

// meanWait is how long jobs waited that started of late, else since the schedd
// started (HTCondor manual, Scheduler ClassAd Attributes).
func meanWait(schedd ad) (time.Duration, bool) {
	for _, prefix := range []string{"Recent", ""} {
		started, ok := schedd.number(prefix + "JobsStarted")
		sum, ok2 := schedd.number(prefix + "JobsAccumTimeToStart")
		if ok && ok2 && started >= 1 && sum >= 0 {
			return seconds(sum / started).Round(time.Second), true
		}
	}
	return 0, false
}

// A slot offers an environment by an attribute whose name begins with Has: a
// list of names ("VEE-Debian13,ROOT-6.32"), or true, then the attribute's own
// name is that of the environment.
const tagPrefix = "Has"

// hasContainer is the attribute of slots whose startd found a container runtime: they take jobs of the container
// universe, and with them images of users.
const hasContainer = "HasContainer"

// maxTags is how many environments a pool may have.
const maxTags = 10_000

// tags lists what a slot offers, with the requirement that asks for it.
func (s slot) tags() map[string]string {
	tags := map[string]string{}
	for name, v := range s.ad {
		if !strings.HasPrefix(name, tagPrefix) || !remote.Plain(name) {
			continue
		}
		switch v := v.(type) {
		case bool:
			if v {
				tags[name] = "TARGET." + name
			}
			if v && name == hasContainer { // wins over our launcher, which a list may tell of
				tags[jdl.UserImageTag] = "TARGET." + name
			}
		case string:
			for tag := range strings.FieldsFuncSeq(v, func(c rune) bool { return c == ',' || c == ' ' }) {
				if len(tags) < maxTags && remote.Plain(tag) && tags[tag] != "TARGET."+hasContainer {
					tags[tag] = fmt.Sprintf("stringListIMember(%q, TARGET.%s)", tag, name)
				}
			}
		}
	}
	return tags
}

func tagsOf(slots []slot) []string {
	all := map[string]bool{}
	for _, s := range slots {
		for tag := range s.tags() {
			if all[tag] || len(all) < maxTags {
				all[tag] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
