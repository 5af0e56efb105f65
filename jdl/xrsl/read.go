package xrsl

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/jdl"
	"gridbroker/jdl/arex"
	"gridbroker/jdl/classad"
)

// Read reads requests as records. Attributes that no job of ours
// can say are warnings, relations that cannot be kept are errors.
func Read(file string, src []byte, warn func(*classad.Diagnostic)) ([]*classad.Ad, error) {
	text := string(src)
	warn = classad.Warnings(text, warn)
	requests, err := parseXRSL(file, text, warn)
	if err != nil {
		return nil, err
	}
	var ads []*classad.Ad
	for _, rels := range requests {
		r := &xrslReader{file: file, src: text, warn: warn, seen: map[string]bool{}}
		r.b.Ad = classad.Placed(classad.NewAd(), rels[0].pos)
		ad, err := r.read(rels)
		if err != nil {
			return nil, err
		}
		ads = append(ads, ad)
	}
	return ads, nil
}

type xrslReader struct {
	file, src string
	warn      func(*classad.Diagnostic)
	b         jdl.Builder
	seen      map[string]bool
	err       error

	program, stdin string
	args           []string
	env            []jdl.EnvVar
	stdout, stderr string
	join           bool
	count          int64
	several        bool // count is given
	cpu            time.Duration
	executables    []xrslValue
}

func (r *xrslReader) read(rels []xrslRelation) (*classad.Ad, error) {
	r.several = slices.ContainsFunc(rels, func(rel xrslRelation) bool { return rel.name == "count" })
	for _, rel := range rels {
		r.b.Pos = rel.pos
		r.relation(rel)
	}
	r.b.Pos = rels[0].pos
	r.args, r.env = arex.Restore(r.args, r.env)
	for _, v := range r.env {
		r.b.Add("Environment", v.Name+"="+v.Value)
	}
	file := ""
	if r.program != "" {
		file = arex.Program(&r.b, r.program, r.args)
	}
	if r.refused(rels); r.join {
		r.stderr = r.stdout
	}
	r.b.Str("StdOutput", r.stdout)
	r.b.Str("StdError", r.stderr)
	if r.cpu > 0 {
		r.b.Number("CPUTime", jdl.Seconds(r.cpu/time.Duration(max(1, r.count))))
	}
	if r.stdin != "" && !strings.HasPrefix(r.stdin, "/") && !r.b.HasInput(r.stdin) {
		r.b.Input("", r.stdin, false)
	}
	for _, v := range r.executables {
		if v.isList {
			r.fail(v.pos, "executables wants texts, not lists")
		}
		if !r.b.HasInput(v.text) {
			r.fail(v.pos, "%s is in executables and not in inputFiles", v.text)
		}
		r.b.Programs = append(r.b.Programs, v.text)
	}
	r.b.Finish(file)
	return r.b.Ad, r.err
}

func (r *xrslReader) fail(pos classad.Pos, format string, args ...any) {
	if r.err == nil {
		d := &classad.Diagnostic{Severity: classad.Fatal, File: r.file, Pos: pos, Code: "xrsl", Msg: fmt.Sprintf(format, args...)}
		d.ShowLine(r.src)
		r.err = d
	}
}

// xrslRepeatable are attributes that may be given several times.
var xrslRepeatable = map[string]bool{
	"runtimeenvironment": true, "notify": true, "cluster": true, "middleware": true, "opsys": true, orRelation: true,
	"inputfiles": true, "outputfiles": true, "executables": true, "environment": true, "nodeaccess": true,
}

// xrslBounds are the operators besides = that say what is done, by attribute.
// ARC's reader takes any operator for =, but of a queue, for which it knows =
// and != alone: memory>=2000 is memory=2000, and memory<2000 too.
var xrslBounds = map[string][]string{
	"memory": {">=", ">"}, "disk": {">=", ">"}, "count": {">=", ">"}, "cputime": {"<=", "<"}, "walltime": {"<=", "<"}, "gridtime": {"<=", "<"},
	"queue": {"!="}, "cluster": {"!=", "<", "<=", ">", ">="}, "runtimeenvironment": {"!=", "<", "<=", ">", ">="},
	"opsys": {"!=", "<", "<=", ">", ">="}, "middleware": {"!=", "<", "<=", ">", ">="},
}

// xrslSilent are attributes that only concern the client or its log.
var xrslSilent = map[string]bool{
	"stdlog": true, "clientxrsl": true, "clientsoftware": true, "hostname": true, "action": true,
	"savestate": true, "jobid": true, "ftpthreads": true, "delegationid": true,
}

func (r *xrslReader) relation(rel xrslRelation) {
	if r.seen[rel.name] && !xrslRepeatable[rel.name] && (rel.name != "queue" || rel.op == "=") {
		r.fail(rel.pos, "%s is given twice", rel.name)
	}
	r.seen[rel.name] = true
	if rel.op != "=" && !slices.Contains(xrslBounds[rel.name], rel.op) {
		if rel.name == "queue" {
			r.fail(rel.pos, "queue %s: only = and != can be asked of a queue", rel.op)
			return
		}
		r.notUsed(rel.pos, rel.name+" "+rel.op+" is read as "+rel.name+" =, as ARC reads it", "")
	}
	switch {
	case len(rel.values) == 0 && len(rel.or) == 0:
		r.notUsed(rel.pos, rel.name+" has no value", "")
	case r.text(rel) || r.quantity(rel) || r.files(rel) || r.wish(rel) || xrslSilent[rel.name]:
	case rel.name == "gmlog":
		r.notUsed(rel.pos, "gmlog is not used", "grid log ID tells what the computing element did")
	default:
		r.notUsed(rel.pos, rel.name+" is not used", classad.DidYouMean(rel.name, xrslNames))
	}
}

func (r *xrslReader) notUsed(pos classad.Pos, msg, hint string) {
	r.warn(&classad.Diagnostic{File: r.file, Pos: pos, Code: "not-used", Msg: msg, Hint: hint})
}

// maxRerun is the largest number of reruns that ARC takes.
const maxRerun = 5

// refused says what ARC's own reader does not take.
func (r *xrslReader) refused(rels []xrslRelation) {
	pos := rels[0].pos
	if threads := slices.IndexFunc(rels, func(rel xrslRelation) bool { return rel.name == "ftpthreads" }); threads >= 0 {
		if n := r.integer(rels[threads]); n < 1 || n > 10 {
			r.fail(rels[threads].pos, "ftpThreads is from 1 to 10")
		}
	}
	switch {
	case r.program == "" && r.err == nil:
		r.fail(pos, "a request needs executable")
	case r.join && r.stderr != "":
		r.fail(pos, "join and stderr exclude each other")
	case r.join && r.stdout == "":
		r.fail(pos, "join needs stdout")
	case r.seen["countpernode"] && !r.seen["count"]:
		r.fail(pos, "countPerNode needs count")
	case r.seen["gridtime"] && (r.seen["cputime"] || r.seen["walltime"]):
		r.fail(pos, "gridTime excludes cpuTime and wallTime")
	}
}

// xrslNames are the attributes that are read.
var xrslNames = []string{
	"executable", "arguments", "stdin", "stdout", "stderr", "join", "jobname", "queue", "environment", "inputfiles",
	"outputfiles", "executables", "cputime", "walltime", "memory", "disk", "count", "countpernode", "exclusiveexecution",
	"runtimeenvironment", "cluster", "architecture", "nodeaccess", "rerun", "gridtime",
}

// text reads attributes that are plain texts, and reports whether it was one.
func (r *xrslReader) text(rel xrslRelation) bool {
	switch rel.name {
	case "executable":
		r.program = r.one(rel)
	case "arguments":
		r.args = r.texts(rel)
	case "stdin":
		r.stdin = r.one(rel)
		r.b.Str("StdInput", r.stdin)
	case "stdout":
		r.stdout = r.one(rel)
	case "stderr":
		r.stderr = r.one(rel)
	case "join":
		r.join = r.yes(rel)
	case "jobname":
		r.b.Str("JobName", r.one(rel))
	case "queue":
		if rel.op == "!=" {
			r.b.Require("(other.GlueCEName == " + jdl.Quote(r.one(rel)) + ") isnt true")
			break
		}
		r.b.Str("Queue", r.one(rel))
	default:
		return false
	}
	return true
}

// quantity reads numbers and times. Bare times are minutes.
func (r *xrslReader) quantity(rel xrslRelation) bool {
	switch rel.name {
	case "cputime":
		r.cpu = r.time(rel)
	case "walltime":
		r.b.Number("WallTime", jdl.Seconds(r.time(rel)))
	case "gridtime":
		// Of one slot it bounds both times; of several, their sum.
		if r.cpu = r.time(rel); !r.several {
			r.b.Number("WallTime", jdl.Seconds(r.cpu))
		}
	case "memory":
		r.b.Number("Memory", r.size(rel))
	case "disk":
		r.b.Number("Disk", r.size(rel)*1024)
	case "count":
		if r.count = r.integer(rel); r.count == 0 {
			r.fail(rel.pos, "count is 1 at least")
		}
		if r.count > 1 {
			r.b.Set("CPUNumber", classad.IntValue(r.count))
		}
	case "countpernode":
		r.b.Number("SMPGranularity", r.integer(rel))
	case "rerun":
		n := r.integer(rel)
		if n > maxRerun {
			r.notUsed(rel.pos, fmt.Sprintf("rerun is at most %d: that is taken", maxRerun), "")
		}
		r.b.Set("RetryCount", classad.IntValue(min(n, maxRerun)))
	default:
		return false
	}
	return true
}

func (r *xrslReader) files(rel xrslRelation) bool {
	switch rel.name {
	case "inputfiles":
		for _, v := range rel.values {
			if name, source, ok := r.pair(rel, v); ok {
				r.b.Pos = v.pos
				r.b.Input(source, name, false)
			}
		}
	case "outputfiles":
		for _, v := range rel.values {
			if name, url, ok := r.pair(rel, v); ok {
				if url == name || strings.TrimSpace(url) == "" { // it is kept by its own name
					url = ""
				}
				r.b.Output(name, url)
			}
		}
	case "environment":
		for _, v := range rel.values {
			if name, value, ok := r.pair(rel, v); ok {
				r.env = append(r.env, jdl.EnvVar{Name: name, Value: value})
			}
		}
	case "executables":
		r.executables = append(r.executables, rel.values...)
	default:
		return false
	}
	return true
}

// environment is a tag, or a name with a bound on its version, and options for it.
func (r *xrslReader) environment(rel xrslRelation) []string {
	words := r.texts(rel)
	if rel.op == "=" || len(words) == 0 {
		return words
	}
	wish, ok := jdl.VersionWish(words[0], rel.op)
	if !ok {
		r.fail(rel.pos, "runTimeEnvironment %s %q: want a name and a version, such as %q", rel.op, words[0], words[0]+"-1.0")
	}
	return append([]string{wish}, words[1:]...)
}

// wish reads what is asked of the resource.
func (r *xrslReader) wish(rel xrslRelation) bool {
	switch rel.name {
	case "runtimeenvironment":
		r.b.Add("RunTimeEnvironment", jdl.JoinArgs(r.environment(rel)))
	case "architecture":
		r.b.Require("other.GlueHostArchitecturePlatformType == " + jdl.Quote(r.one(rel)))
	case "cluster":
		clause := "other.GlueCEInfoHostName == " + jdl.Quote(r.one(rel))
		if rel.op == "!=" {
			clause = "(" + clause + ") isnt true"
		}
		r.b.Require(clause)
	case orRelation:
		r.alternatives(rel)
	case "nodeaccess":
		for _, s := range r.texts(rel) {
			if s != "inbound" && s != "outbound" {
				r.fail(rel.pos, "nodeAccess is inbound or outbound: ARC leaves out any other word, and the job may run where it has no access")
			}
			r.b.Access(s)
		}
	case "exclusiveexecution":
		if r.yes(rel) {
			r.b.Set("WholeNodes", classad.BoolValue(true))
		}
	case "dryrun":
		if r.yes(rel) {
			r.fail(rel.pos, "dryRun=yes: a job would be sent all the same (take it out, and say grid submit --dry-run)")
		}
	case "cache":
		if how := r.one(rel); !slices.Contains([]string{"yes", "true", ""}, classad.Fold(how)) {
			r.notUsed(rel.pos, "cache="+how+" is not used: the computing element caches as it is set up", "")
		}
	default:
		return false
	}
	return true
}

// alternatives reads (|(queue=a)(queue=b)): any of some queues or hosts.
func (r *xrslReader) alternatives(rel xrslRelation) {
	var any []string
	for _, sub := range rel.or {
		name := map[string]string{"queue": "GlueCEName", "cluster": "GlueCEInfoHostName"}[sub.name]
		if name == "" || sub.op != "=" {
			r.fail(sub.pos, "alternatives (|) of %s are not supported: only of queue and cluster", sub.name)
			return
		}
		any = append(any, "other."+name+" == "+jdl.Quote(r.one(sub)))
	}
	r.b.Require("(" + strings.Join(any, " || ") + ")")
}

// one is the single text of a relation.
func (r *xrslReader) one(rel xrslRelation) string {
	if len(rel.values) != 1 || rel.values[0].isList {
		r.fail(rel.pos, "%s wants one value", rel.name)
		return ""
	}
	return rel.values[0].text
}

func (r *xrslReader) texts(rel xrslRelation) []string {
	var out []string
	for _, v := range rel.values {
		if v.isList {
			r.fail(v.pos, "%s wants texts, not lists", rel.name)
		}
		out = append(out, v.text)
	}
	return out
}

func (r *xrslReader) yes(rel xrslRelation) bool {
	switch classad.Fold(r.one(rel)) {
	case "yes", "true", "1", "y":
		return true
	case "no", "false", "0", "n":
		return false
	}
	r.fail(rel.pos, "%s wants yes or no", rel.name)
	return false
}

func (r *xrslReader) integer(rel xrslRelation) int64 {
	n, err := strconv.ParseInt(r.one(rel), 10, 32)
	if err != nil || n < 0 {
		r.fail(rel.pos, "%s wants a whole number", rel.name)
	}
	return max(0, n)
}

// size is a number of MB or GB. Of one with a part ARC drops that part, which is less than the job asks for.
func (r *xrslReader) size(rel xrslRelation) int64 {
	n, err := strconv.ParseFloat(r.one(rel), 64)
	if err != nil || !(n >= 0 && n <= math.MaxInt32) || n == math.Trunc(n) {
		return r.integer(rel)
	}
	up := int64(math.Ceil(n))
	r.notUsed(rel.pos, fmt.Sprintf("%s=%s is taken as %d: ARC takes whole numbers alone", rel.name, r.one(rel), up), "")
	return up
}

func (r *xrslReader) time(rel xrslRelation) time.Duration {
	d, ok := jdl.ParseDuration(r.one(rel), time.Minute)
	if !ok {
		r.fail(rel.pos, `%s wants minutes, or a time such as "2 hours"`, rel.name)
	}
	return d
}

// pair is "(a b)".
func (r *xrslReader) pair(rel xrslRelation, v xrslValue) (first, second string, ok bool) {
	if !v.isList || len(v.list) < 2 || v.list[0].isList || v.list[1].isList || rel.name == "environment" && len(v.list) > 2 {
		r.fail(v.pos, `%s wants pairs: ("name" "value")`, rel.name)
		return "", "", false
	}
	second = v.list[1].text
	if len(v.list) > 2 {
		r.notUsed(v.list[2].pos, "options of "+rel.name+" are not used", "")
	}
	return v.list[0].text, second, true
}
