package htcondor

import (
	"cmp"
	"io"
	"maps"
	"math"
	"strings"
	"sync"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// slot is one slot of the pool: its ad as values, and as a record whose
// expressions can be evaluated.
type slot struct {
	ad
	record *classad.Ad
	asked  func() *classad.Ad // the record, with a request on the other side (see withFallback)
}

// readSlot reads a slot's ad, as condor_status -json writes it.
func readSlot(object []byte) (slot, error) {
	values, err := readAd(object)
	if err != nil {
		return slot{}, err
	}
	maps.DeleteFunc(values, func(name string, _ any) bool { return !ofSlots[name] && !strings.HasPrefix(name, tagPrefix) })
	records, err := classad.ReadJSON("slots", object)
	if err != nil || len(records) != 1 {
		return slot{}, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	my := records[0]
	return slot{values, my, sync.OnceValue(func() *classad.Ad { return withFallback(my, request{wall: 1, owner: "-"}.record()) })}, nil
}

// ofSlots are the attributes of slots that are read here; their expressions may read the others.
var ofSlots = among(`Name State Start PartitionableSlot Cpus Memory Disk GPUs TotalSlotCpus TotalSlotMemory TotalSlotDisk TotalSlotGPUs
	OpSys OpSysName OpSysAndVer OpSysMajorVer Arch CondorVersion SiteName Offline`)

// request is what a job asks of a slot.
type request struct {
	cpus, memory, disk, gpus int64 // memory in MB, disk in kB
	wall                     int64 // seconds; 0: not said
	owner                    string
}

func requestOf(d jdl.Demand, owner string) request {
	return request{cpus: int64(max(1, d.Slots)), memory: memoryOf(d), disk: max(d.Disk<<10, defaultDisk), gpus: int64(d.GPUs),
		wall: int64(math.Ceil(d.WallTime.Seconds())), owner: owner}
}

// record is the job as the pool would see it, as far as it is known here.
func (r request) record() *classad.Ad {
	a := classad.NewAd()
	set := func(name string, n int64) { a.Set(name, classad.NewLiteral(classad.IntValue(n))) }
	set("JobUniverse", 5)
	set("RequestCpus", r.cpus)
	set("RequestMemory", r.memory)
	set("RequestDisk", r.disk)
	set("RequestGPUs", r.gpus)
	if r.wall > 0 {
		set("AllowedJobDuration", r.wall+int64(grace.Seconds()))
	}
	if r.owner != "" {
		a.Set("Owner", classad.NewLiteral(classad.StringValue(r.owner)))
	}
	return a
}

// starts evaluates the slot's START for a job. What this side cannot know of
// the job makes it undefined, which is no verdict.
func (s slot) starts(job *classad.Ad) classad.Value {
	if _, ok := s.record.Expr("Start"); !ok {
		return classad.BoolValue(true)
	}
	return withFallback(s.record, job).EvalAttr("Start", job)
}

// letsIn reports whether START does not refuse the job.
func (s slot) letsIn(job *classad.Ad) bool { return !refuses(s.starts(job)) }

// takes is letsIn for the record of a request. What such a record says is known
// beforehand, so that the slot is made ready for all of them at once.
func (s slot) takes(r *classad.Ad) bool { return !refuses(s.asked().EvalAttr("Start", r)) }

// refuses reports whether a value of START refuses.
func refuses(v classad.Value) bool {
	b, isBool := v.Bool()
	if n, isNumber := v.Number(); isNumber && !isBool {
		return n == 0
	}
	return isBool && !b
}

// withFallback gives a record the attributes that only the other side has, for
// HTCondor looks for a name without MY or TARGET on its own side first and
// then on the other (HTCondor manual, ClassAd Mechanism).
func withFallback(my, other *classad.Ad) *classad.Ad {
	both := my.Clone()
	for _, t := range other.Attrs() {
		if _, own := my.Expr(t.Name); !own {
			both.Set(t.Name, classad.NewSelect(classad.NewAttrRef("TARGET"), t.Name))
		}
	}
	return both
}

// couldHold reports whether the slot is large enough, were it empty.
func (s slot) couldHold(r request) bool {
	return s.integer("TotalSlotCpus") >= r.cpus && s.integer("TotalSlotMemory") >= r.memory &&
		s.integer("TotalSlotDisk") >= r.disk && s.integer("TotalSlotGPUs") >= r.gpus
}

// open reports whether the slot starts jobs at all: not where its owner has it, it drains for its
// administrator or defrag (a partitionable one says so while its cores are still told as left over), or its machine
// is asleep or kept in the collector alone (offline ads).
func (s slot) open() bool {
	switch s.text("State") {
	case "Owner", "Drained", "Preempting":
		return false
	}
	return !s.truth("Offline")
}

// roomFor counts how many such jobs could start in the slot now: a static one
// takes one, of a partitionable one what is left over is parted.
func (s slot) roomFor(r request) int64 {
	if !s.open() || s.text("State") != "Unclaimed" && !s.truth("PartitionableSlot") {
		return 0
	}
	n := int64(math.MaxInt32)
	for name, want := range map[string]int64{"Cpus": r.cpus, "Memory": r.memory, "Disk": r.disk, "GPUs": r.gpus} {
		if want > 0 {
			n = min(n, s.amount(name)/want)
		}
	}
	if !s.truth("PartitionableSlot") {
		n = min(n, 1)
	}
	return n
}

// room counts the jobs of a kind that could start now.
func room(slots []slot, r request) int64 {
	var n int64
	job := r.record()
	for _, s := range slots {
		if k := s.roomFor(r); k > 0 && s.takes(job) {
			n += k
		}
	}
	return n
}
