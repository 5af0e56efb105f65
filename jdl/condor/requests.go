package condor

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// asks is a demand; "" where it is undefined, by which condor_submit leaves out even what it demands of itself.
func asks(r *reader, names ...string) string {
	if s := r.get(names...); !classad.EqualFold(s, "undefined") {
		return s
	}
	return ""
}

// requests reads what the job asks of a machine. Memory is of all cores.
func (r *reader) requests() {
	cpus := int64(1)
	if s := cmp.Or(asks(r, "request_cpus", "requestcpus"), routed(r, "+xcount")); s != "" {
		cpus = max(1, r.quantity("request_cpus", s, 0))
		if cpus > 1 {
			r.b.Number("CPUNumber", cpus)
		}
	}
	if s := cmp.Or(asks(r, "request_memory", "requestmemory"), routed(r, "+maxmemory")); s != "" {
		r.b.Number("Memory", (r.quantity("request_memory", s, 1)+cpus-1)/cpus)
	}
	if s := asks(r, "request_disk", "requestdisk"); s != "" {
		r.b.Number("Disk", r.quantity("request_disk", s, 1.0/1024))
	}
	if s := asks(r, "request_gpus", "requestgpus"); s != "" {
		r.b.Number("GPUNumber", r.quantity("request_gpus", s, 0))
	}
	if s := r.get("allowed_execute_duration", "allowed_job_duration", "+maxruntime", "+requestruntime"); s != "" {
		r.b.Number("WallTime", r.quantity("duration", s, 0))
	} else if s := r.get("+maxwalltimemins"); s != "" && r.limits("+maxwalltimemins") {
		r.b.Number("WallTime", 60*r.quantity("+MaxWallTimeMins", s, 0))
	} else if s := routed(r, "+maxwalltime"); s != "" {
		r.b.Number("WallTime", 60*r.quantity("+maxWallTime", s, 0))
	} else if r.limits("+jobflavour") {
		r.b.Number("WallTime", int64(flavours[classad.Fold(unquoted(r.get("+jobflavour")))]*3600))
	}
}

// routed is what a job asks of an HTCondor-CE by an attribute that its routes go by (HTCondor-CE manual, job attributes:
// xcount processors, maxMemory in MB, maxWallTime in minutes); "": nothing, or an expression, or HTCondor's own command says it.
func routed(r *reader, name string) string {
	switch {
	case name == "+xcount" && asks(r, "request_cpus", "requestcpus") != "", name == "+maxmemory" && asks(r, "request_memory", "requestmemory") != "",
		name == "+maxwalltime" && r.get("allowed_execute_duration", "allowed_job_duration", "+maxruntime", "+requestruntime", "+maxwalltimemins") != "":
		return ""
	}
	if n, err := strconv.Atoi(r.get(name)); err != nil || n <= 0 {
		return ""
	}
	return r.get(name)
}

// limits reports whether an attribute of CERN's pool, DESY's or CMS's is a limit of the wall time here, too, or one of
// HTCondor-CE's a demand.
func (r *reader) limits(name string) bool {
	switch name {
	case "+xcount", "+maxmemory", "+maxwalltime":
		return routed(r, name) != ""
	}
	_, known := flavours[classad.Fold(unquoted(r.get("+jobflavour")))]
	minutes, err := strconv.Atoi(r.get("+maxwalltimemins")) // CMS's pool has expressions there, too
	return name == "+maxruntime" || name == "+requestruntime" || name == "+jobflavour" && known || name == "+maxwalltimemins" && err == nil && minutes > 0
}

// flavours are the limits of CERN's pool by JobFlavour, in hours.
var flavours = map[string]float64{"espresso": 1.0 / 3, "microcentury": 1, "longlunch": 2, "workday": 8, "tomorrow": 24, "testmatch": 72, "nextweek": 168}

// beforeStart is the value of an expression of a job's own history while it has none yet.
func beforeStart(s string) (float64, bool) {
	e, err := classad.ParseExpr("", []byte(s))
	if err != nil {
		return 0, false
	}
	ad := classad.NewAd()
	for _, name := range []string{"NumJobStarts", "NumShadowStarts", "NumJobCompletions", "NumHolds", "NumJobReconnects", "NumRestarts"} {
		ad.Set(name, classad.NewLiteral(classad.IntValue(0)))
	}
	ad.Set("JobStatus", classad.NewLiteral(classad.IntValue(1)))
	return ad.Eval(e, nil).Number()
}

// quantity is a whole number; with a unit, MB: a number without one counts in
// unit.
func (r *reader) quantity(name, s string, unit float64) int64 {
	mb, sized := jdl.ParseSize(s)
	n, err := strconv.ParseFloat(s, 64)
	bare := err == nil
	if !bare && (unit == 0 || !sized) { // 2G would be a number of its own there
		n, bare = arithmetic(s)
	}
	if first, ok := beforeStart(s); !bare && !sized && ok {
		n, bare = first, true
		r.tell(r.b.Pos, "%s = %s is taken as %v, which it is before the first start", name, s, first)
	}
	if unit == 0 {
		if !bare {
			n = math.NaN()
		}
		return withoutPart(r, name, s, n)
	}
	if bare {
		mb, sized = jdl.ParseSize(strconv.FormatFloat(n*unit, 'f', -1, 64))
	}
	if !sized {
		r.fail(r.b.Pos, "%s = %s is no size: %s", name, s, whyNoNumber(s))
	}
	return mb
}

// withoutPart is a number without a part, n being what s says, if it says a number. A machine that has 1.5 processors
// or more has two.
func withoutPart(r *reader, name, s string, n float64) int64 {
	switch {
	case n < 0:
		r.fail(r.b.Pos, "%s = %s is less than nothing (leave it out, and nothing is asked for)", name, s)
		return 0
	case n <= 1<<20 && n != math.Trunc(n) && (name == "request_cpus" || name == "request_gpus"):
		r.tell(r.b.Pos, "%s = %s is taken as %v: no fewer will do", name, s, math.Ceil(n))
		return int64(math.Ceil(n))
	case !(n <= 1<<40) || n != math.Trunc(n):
		r.fail(r.b.Pos, "%s = %s is no whole number: %s", name, s, whyNoNumber(s))
		return 0
	}
	return int64(n)
}

// whyNoNumber says why a value that asks for something is none, or what may be meant.
func whyNoNumber(s string) string {
	if note := noteBehind(s); note != "" {
		return note
	}
	return "expressions of what the pool knows are not supported"
}

// noteBehind tells that a value goes on after a #, which many mean for a comment: to HTCondor it is a part of the value.
func noteBehind(s string) string {
	if strings.Contains(s, " #") || strings.Contains(s, "\t#") {
		return "a comment has a line of its own"
	}
	return ""
}
