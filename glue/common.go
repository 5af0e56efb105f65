package glue

import (
	"bytes"
	"maps"
	"strings"
	"time"
)

// servingState decodes ServingState_t and GlueCEStateStatus, with the spelling
// variants met.
func servingState(b []byte) ServingState {
	var buf [32]byte
	b = trimSpace(b)
	if len(b) > len(buf) {
		return Unknown
	}
	switch s := lowerInto(buf[:0], b); string(s) {
	case "production", "active":
		return Production
	case "draining":
		return Draining
	case "queueing", "queuing":
		return Queueing
	case "closed":
		return Closed
	default:
		if bytes.HasPrefix(s, []byte("inactive")) {
			return Closed
		}
		return Unknown
	}
}

// accessRule writes a rule's scheme in upper case: VO:, VOMS:, DENY:. The rest
// is left alone.
func (d *Decoder) accessRule(b []byte) string {
	s := d.pool.str(trimSpace(b))
	scheme, rest, ok := strings.Cut(s, ":")
	if up := strings.ToUpper(scheme); ok && up != scheme && len(up) <= 4 {
		return d.pool.str([]byte(up + ":" + rest))
	}
	return s
}

// VOOf returns the VO an access rule is about, or "": VO:atlas and
// VOMS:/atlas/Role=production are both about atlas.
func VOOf(rule string) string {
	scheme, rest, ok := strings.Cut(rule, ":")
	if !ok {
		return ""
	}
	switch strings.ToUpper(scheme) {
	case "VO":
		return rest
	case "VOMS":
		vo, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		return vo
	}
	return ""
}

// platforms maps what uname calls a machine to Platform_t.
var platforms = map[string]string{
	"x86_64": "amd64", "i686": "i386", "i586": "i386", "ia64": "itanium",
	"ppc64le": "powerpc", "ppc64": "powerpc", "aarch64": "aarch64",
}

func (d *Decoder) platform(b []byte) string {
	s := d.pool.str(bytes.ToLower(trimSpace(b)))
	if p, ok := platforms[s]; ok {
		return p
	}
	return s
}

// benchmarkNames maps lower-cased benchmark types to the one of GFD.147
// (Benchmark_t), where there is one.
var benchmarkNames = map[string]string{
	"hepspec": "hep-spec06", "hepspec06": "hep-spec06", "hs06": "hep-spec06", "hep-spec": "hep-spec06",
	"si2k": "specint2000", "sf2k": "specfp2000", "hepscore": "hepscore23", "hepscore-23": "hepscore23",
}

func benchmarkName(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if name, ok := benchmarkNames[s]; ok {
		return name
	}
	return s
}

// benchmarks are values by the type's lower-case name; nil for none.
type benchmarks map[string]float64

func (b *benchmarks) set(name string, value []byte) {
	f, ok := real(value)
	if !ok {
		return
	}
	if *b == nil {
		*b = benchmarks{}
	}
	(*b)[benchmarkName(name)] = f
}

// gpuNames are the names by which free text (OtherInfo, OtherDescription) gives
// the GPUs of a node: no attribute of GLUE 1.3 and 2.0 does.
var gpuNames = map[string]bool{"gpu": true, "gpus": true, "gpunumber": true, "gpuspernode": true}

// gpusIn reads the number of GPUs out of comma-separated name=value pairs, as
// "Cores=16,GPUs=4"; before is what is known without it.
func gpusIn(text []byte, before Opt[int64]) Opt[int64] {
	for pair := range bytes.SplitSeq(text, []byte{','}) {
		name, value, ok := cutByte(pair, '=')
		if !ok || !gpuNames[strings.ToLower(string(trimSpace(name)))] {
			continue
		}
		if n := count(trimSpace(value)); n.OK {
			before = n
		}
	}
	return before
}

// live reports whether a count of the state says that somebody counts.
func (r *Resource) live() bool {
	return !r.StateIsPlaceholder && (r.Running.V > 0 || r.Waiting.V > 0 || r.Total.V > 0 || r.FreeSlots.V > 0)
}

// dropPlaceholderState forgets the numbers of a dynamic provider that is dead:
// they are static defaults. A response time of a dead provider beside live
// counts is that of its estimator alone, and only it is dropped.
func (r *Resource) dropPlaceholderState() {
	if r.deadEstimate && !r.live() {
		r.StateIsPlaceholder = true
	}
	r.deadEstimate = false
	if !r.StateIsPlaceholder {
		return
	}
	none := Opt[int64]{}
	r.Running, r.Waiting, r.Total = none, none, none
	r.FreeSlots, r.UsedSlots, r.FreeFor = none, none, nil
	r.EstimatedWait, r.WorstWait = Opt[time.Duration]{}, Opt[time.Duration]{}
}

// setWaiting decodes a number of waiting jobs, whose placeholder says that the
// whole state is one.
func (r *Resource) setWaiting(b []byte) {
	r.Waiting = count(b)
	if n, ok := parseInt(b); ok && n == deadWaiting {
		r.StateIsPlaceholder = true
	}
}

// setEstimate decodes an expected waiting time in seconds.
func (r *Resource) setEstimate(b []byte) {
	r.EstimatedWait = span(b, time.Second)
	if n, ok := parseInt(b); ok && !r.EstimatedWait.OK {
		r.EstimatedWaitIsPlaceholder = true
		r.deadEstimate = n == deadResponse
	}
}

// raiseTotal makes the slots of a cluster at least what runs in it: some
// providers count the nodes that are up, or none.
func (r *Resource) raiseTotal() {
	if n := r.Running.V; r.TotalSlots.OK && n > r.TotalSlots.V {
		r.TotalSlots.V = n
	}
}

// mergedAttrs returns the attributes of both; a's win.
func mergedAttrs(a, b map[string][]string) map[string][]string {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}
