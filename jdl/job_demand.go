package jdl

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gridbroker/jdl/classad"
)

// demand reads what the job asks for: its own attributes first, then the
// clauses of Requirements that say more.
func demand(r *jobReader) {
	d := &r.job.Demand
	d.WallTime = duration(r, "WallTime")
	d.CPUTime = duration(r, "CPUTime")
	d.Memory = size(r, "Memory")
	d.VirtualMemory = size(r, "VirtualMemory")
	d.Disk = size(r, "Disk")
	environments(r)
	userImage(r)
	d.Queue = r.str("Queue")
	if d.Queue == "" {
		d.Queue = r.str("QueueName")
	}
	d.GPUs = r.integer("GPUNumber", 0)
	gpuModel(r)
	d.WholeNodes = r.boolean("WholeNodes")
	slots(r)
	diracTags(r)
	if e, ok := r.matchExpr("Requirements"); ok {
		for _, c := range classad.Conjuncts(e) {
			clauseDemand(r, c)
		}
	}
	checkQueue(r)
}

// slots reads the numbers of slots and nodes.
func slots(r *jobReader) {
	d := &r.job.Demand
	d.Slots = 1
	// DIRAC's NumberOfProcessors is the exact number, beside which the bounds do not count.
	for _, name := range []string{"NodeNumber", "MinNumberOfProcessors", "NumberOfProcessors", "CPUNumber"} {
		if r.has(name) {
			d.Slots = r.integer(name, 1)
		}
	}
	if r.has("NodeNumber") && !r.cfg.stored {
		r.warn(r.pos("NodeNumber"), "old-name", "", "NodeNumber is the old name of CPUNumber")
	}
	d.Nodes = r.integer("HostNumber", 0)
	d.SlotsPerNode = r.integer("SMPGranularity", 0)
	if d.Nodes > 0 && d.SlotsPerNode > 0 && !d.WholeNodes {
		r.failAttr("HostNumber", "conflict", "", "HostNumber and SMPGranularity exclude each other unless WholeNodes is true")
	}
	if r.has("CPUNumber") && d.Nodes > d.Slots {
		r.warn(r.pos("HostNumber"), "hosts", "", "HostNumber %d is more than CPUNumber %d", d.Nodes, d.Slots)
	}
	if d.Slots > maxSlots {
		r.failAttr("CPUNumber", "range", "", "%d slots: no machine has more than %d", d.Slots, maxSlots)
	}
}

// versionSpaces is a name with a bound on its version at the beginning of a text. In quotes it is one word.
var versionSpaces = regexp.MustCompile(`^\s*([^\s"'<>!=]+)\s*(>=|<=|!=|==|>|<)\s*([^\s"'<>!=]+)`)

// environments reads tags, or names with a bound on their version (NAME >= VERSION, with or without blanks), each of
// which may be followed by options for it.
func environments(r *jobReader) {
	d := &r.job.Demand
	for _, s := range r.strs("RunTimeEnvironment") {
		words, err := SplitArgs(versionSpaces.ReplaceAllString(s, `"$1$2$3"`))
		if err != nil || len(words) == 0 {
			words = []string{s}
		}
		d.RuntimeEnvironments = append(d.RuntimeEnvironments, words[0])
		if len(words) > 1 {
			if d.RuntimeOptions == nil {
				d.RuntimeOptions = map[string][]string{}
			}
			d.RuntimeOptions[words[0]] = words[1:]
		}
	}
}

// maxSlots is above any machine there is.
const maxSlots = 100_000_000

// checkQueue keeps the queue to one word, for it ends up in batch directives.
func checkQueue(r *jobReader) {
	q := r.job.Demand.Queue
	if strings.ContainsAny(q, " \t\r\n\x00\"'\\") {
		r.fail(r.pos("Queue"), "queue", "", "%q is no name of a queue", q)
	}
}

// duration is a time attribute: a number of seconds, or text with units.
func duration(r *jobReader, name string) time.Duration {
	if !r.has(name) {
		return 0
	}
	v := r.value(name)
	f, ok := v.Number()
	d, inRange := seconds(f)
	if s, isText := v.Str(); isText {
		d, ok = ParseDuration(s, time.Second)
		inRange = true
	} else if rel, isRel := v.RelTime(); isRel {
		d, ok, inRange = rel, true, rel >= 0
	}
	return believed(r, name, tDuration, d, ok, inRange)
}

// believed is the value of an attribute; 0 where it is none of its type, or
// beyond all bounds.
func believed[T ~int64](r *jobReader, name string, want attrType, v T, ok, inRange bool) T {
	switch {
	case !ok:
		r.wrongType(name, want)
	case !inRange:
		r.failAttr(name, "range", "", "%s is out of range", name)
	default:
		return v
	}
	return 0
}

// size is a size attribute in MB: a number, a number with one of the
// suffixes K, M, G, T (bytes then), or text with units.
func size(r *jobReader, name string) int64 {
	if !r.has(name) {
		return 0
	}
	e, _ := r.ad.Expr(name)
	v := r.value(name)
	f, ok := v.Number()
	if l, isLit := e.(*classad.Literal); isLit && l.Unit != 0 {
		f /= 1 << 20
	}
	mb, inRange := sizeMB(f, true)
	if s, isText := v.Str(); isText {
		mb, ok = ParseSize(s)
		inRange = true
	}
	return believed(r, name, tSize, mb, ok, inRange)
}

// diracTags reads DIRAC's Tags: those with a meaning of their own (8Processors,
// WholeNode, 4GB, GPU), the others as tags of the site.
func diracTags(r *jobReader) {
	if r.job.Dialect != DIRAC {
		return
	}
	d := &r.job.Demand
	total := int64(0) // MB of the whole job
	for _, tag := range append(r.strs("Tags"), r.strs("Tag")...) {
		low := classad.Fold(tag)
		n, isCount := strconv.Atoi(strings.TrimSuffix(strings.TrimSuffix(low, "processors"), "gb"))
		switch {
		case strings.HasSuffix(low, "processors") && isCount == nil:
			d.Slots = max(d.Slots, n)
		case strings.HasSuffix(low, "gb") && isCount == nil:
			total = max(total, int64(n)*1024)
		case low == "wholenode":
			d.WholeNodes = true
		case low == "gpu":
			d.GPUs = max(d.GPUs, 1)
		case low == "multiprocessor":
		default:
			r.warn(r.pos("Tags"), "tag", "", "Tag %q is asked for as a runtime environment: only resources that publish it match", tag)
			askEnvironment(r, "Tags", tag)
		}
	}
	slots := int64(max(1, d.Slots))
	d.Memory = max(d.Memory, (total+slots-1)/slots)
}

func addOnce(list []string, s string) []string {
	for _, x := range list {
		if x == s {
			return list
		}
	}
	return append(list, s)
}

// demandUnit is how a resource's attribute counts.
type demandUnit uint8

const (
	unitNone    demandUnit = iota
	unitMinutes            // GLUE 1.3 policy times
	unitSeconds            // GLUE 2.0 times
	unitMB
	unitGB
)

// demandField is what asking for an attribute of a resource means.
type demandField struct {
	names []string
	unit  demandUnit
	set   func(d *Demand, n float64)
}

// demandFields are the attributes whose lower bounds are demands of the job.
var demandFields = []demandField{
	{[]string{"GlueCEPolicyMaxWallClockTime", "GlueCEPolicyMaxObtainableWallClockTime"}, unitMinutes, setWall},
	{[]string{"GlueCEPolicyMaxCPUTime", "GlueCEPolicyMaxObtainableCPUTime"}, unitMinutes, setCPU},
	{[]string{"GLUE2ComputingShareMaxWallTime", "MaxWallTime"}, unitSeconds, setWall},
	{[]string{"GLUE2ComputingShareMaxCPUTime", "MaxCPUTime"}, unitSeconds, setCPU},
	{[]string{"GlueHostMainMemoryRAMSize", "GLUE2ExecutionEnvironmentMainMemorySize"}, unitMB, setNodeMemory},
	{[]string{"GLUE2ComputingShareMaxMainMemory"}, unitMB, func(d *Demand, n float64) { d.Memory = max(d.Memory, int64(n)) }},
	{[]string{"GlueHostMainMemoryVirtualSize", "GLUE2ExecutionEnvironmentVirtualMemorySize"}, unitMB, setNodeVirtual},
	{[]string{"GLUE2ComputingShareMaxVirtualMemory"}, unitMB, func(d *Demand, n float64) { d.VirtualMemory = max(d.VirtualMemory, int64(n)) }},
	{[]string{"GLUE2ComputingShareMaxDiskSpace"}, unitGB, func(d *Demand, n float64) { d.Disk = max(d.Disk, int64(n)*1024) }},
}

func setWall(d *Demand, n float64) { d.WallTime = max(d.WallTime, clampTime(n)) }
func setCPU(d *Demand, n float64)  { d.CPUTime = max(d.CPUTime, clampTime(n)) }

// setNodeMemory asks for a node's memory. For a job of several slots the
// share of one slot is not known, and nothing is asked for.
func setNodeMemory(d *Demand, n float64) {
	if d.Slots == 1 {
		d.Memory = max(d.Memory, int64(n))
	}
}

func setNodeVirtual(d *Demand, n float64) {
	if d.Slots == 1 {
		d.VirtualMemory = max(d.VirtualMemory, int64(n))
	}
}

func clampTime(sec float64) time.Duration {
	d, ok := seconds(sec)
	if !ok {
		return 0
	}
	return d
}

// clauseDemand reads one conjunct of Requirements, if its meaning is sure.
func clauseDemand(r *jobReader, e classad.Expr) {
	switch e := e.(type) {
	case *classad.Binary:
		if e.Op == classad.OpOr {
			alternativeDemand(r, e)
			return
		}
		comparison(r, e)
	case *classad.Call:
		tagDemand(r, e)
	}
}

// alternativeDemand reads "other.X >= n || other.X == 0", where the second
// arm only lets resources without a limit through.
func alternativeDemand(r *jobReader, e *classad.Binary) {
	for _, pair := range [][2]classad.Expr{{e.X, e.Y}, {e.Y, e.X}} {
		bound, isBound := pair[0].(*classad.Binary)
		other, isOther := pair[1].(*classad.Binary)
		if isBound && isOther && isLimitTest(other) && otherName(other.X) != "" && classad.EqualFold(otherName(bound.X), otherName(other.X)) {
			comparison(r, bound)
			return
		}
	}
}

// isLimitTest reports whether a comparison is "is 0" or "is undefined".
func isLimitTest(e *classad.Binary) bool {
	l, ok := e.Y.(*classad.Literal)
	if !ok || e.Op != classad.OpEq && e.Op != classad.OpIs {
		return false
	}
	n, isNumber := l.Value.Number()
	return l.Value.IsUndefined() || isNumber && n == 0
}

// comparison reads "other.X >= n" or "n <= other.X".
func comparison(r *jobReader, e *classad.Binary) {
	name, bound, op := otherName(e.X), e.Y, e.Op
	if name == "" {
		name, bound, op = otherName(e.Y), e.X, e.Op.Mirrored()
	}
	if name == "" {
		return
	}
	v := r.ad.Eval(bound, nil)
	if op == classad.OpEq || op == classad.OpIs {
		equalDemand(r, name, v)
		return
	}
	n, ok := v.Number()
	if op != classad.OpGe && op != classad.OpGt || !ok || n <= 0 || math.IsInf(n, 0) {
		return
	}
	for _, f := range demandFields {
		for _, known := range f.names {
			if classad.EqualFold(known, name) {
				f.set(&r.job.Demand, n*f.unit.scale())
			}
		}
	}
}

func (u demandUnit) scale() float64 {
	if u == unitMinutes {
		return 60
	}
	return 1
}

func equalDemand(r *jobReader, name string, v classad.Value) {
	s, ok := v.Str()
	if ok && (classad.EqualFold(name, "GlueCEName") || classad.EqualFold(name, "GLUE2ComputingShareMappingQueue")) && r.job.Demand.Queue == "" {
		r.job.Demand.Queue = s
	}
}

// otherName is the attribute of the other ad that an expression names.
func otherName(e classad.Expr) string {
	s, ok := e.(*classad.Select)
	if !ok {
		return ""
	}
	a, ok := s.X.(*classad.AttrRef)
	if !ok || a.Absolute || !classad.EqualFold(a.Name, "other") && !classad.EqualFold(a.Name, "target") {
		return ""
	}
	return s.Name
}

// tagDemand reads Member("tag", other.GlueHostApplicationSoftwareRunTimeEnvironment).
func tagDemand(r *jobReader, e *classad.Call) {
	if !isTagCall(e) {
		return
	}
	if tag, ok := r.ad.Eval(e.Args[0], nil).Str(); ok && tag != "" {
		askEnvironment(r, "Requirements", tag)
	}
}

// maxEnvironments is how many runtime environments a job may ask for.
const maxEnvironments = 1000

// askEnvironment asks for a runtime environment that an attribute names.
func askEnvironment(r *jobReader, attr, tag string) {
	d := &r.job.Demand
	if d.RuntimeEnvironments = addOnce(d.RuntimeEnvironments, tag); len(d.RuntimeEnvironments) > maxEnvironments {
		d.RuntimeEnvironments = d.RuntimeEnvironments[:maxEnvironments]
		r.failAttr(attr, "limit", "", "more than %d runtime environments are asked for", maxEnvironments)
	}
}
