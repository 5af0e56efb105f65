package jdl

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
)

// paramMark is what gLite replaces by the parameter's value.
const paramMark = "_PARAM_"

// param is one job of a parametric set: the texts to put in place of the
// placeholders.
type param struct {
	value string            // _PARAM_, %s
	index string            // %n, zero-padded
	named map[string]string // %(name)s
}

// notParametric are attributes that belong to the whole set.
var notParametric = []string{"VirtualOrganisation", "HLRLocation", "MyProxyServer", "LBAddress", "AllowZippedISB", "NodesCollocation"}

// parametric makes the jobs of a parametric description.
func (s *JobSet) parametric(r *jobReader) error {
	params := params(r)
	name := jobName(r)
	for _, attr := range notParametric {
		if e, ok := r.ad.Expr(attr); ok && strings.Contains(classad.Unparse(e), paramMark) {
			r.failAttr(attr, "parametric", "", "%s may not depend on the parameter", attr)
		}
	}
	if len(r.errs) > 0 {
		return r.err()
	}
	left, taken := newBudget(r.src), map[string]int{}
	for i, p := range params {
		left.job()
		sub, err := instance(r, p, left)
		if err != nil {
			return err
		}
		if !left.spend(shared(parts(sub.ad))) {
			return left.over(r)
		}
		job, err := sub.read()
		if err != nil {
			return fmt.Errorf("with parameter %s: %w", p.value, err)
		}
		if !left.spend(weight(job)) {
			return left.over(r)
		}
		if !job.autoName && job.Name == name { // which all would have
			job.autoName, s.Name = true, name
		}
		job.setNode(unique(taken, p.value), nil)
		s.Jobs = append(s.Jobs, job)
		if i > 0 { // the same for all
			sub.cfg.tally.warnings -= len(job.Warnings)
			job.Warnings = nil
		}
	}
	s.Warnings = append(s.Warnings, r.job.Warnings...)
	return nil
}

// unique is a name that no node has yet: values may be equal. taken has the next number to try for each name that is taken.
func unique(taken map[string]int, name string) string {
	got, key := name, classad.Fold(name)
	for taken[classad.Fold(got)] > 0 {
		got = fmt.Sprintf("%s-%d", name, taken[key])
		taken[key]++
	}
	taken[classad.Fold(got)] = max(2, taken[classad.Fold(got)])
	return got
}

// instance is the reader of one job of the set.
func instance(r *jobReader, p param, b *budget) (*jobReader, error) {
	sub := newJobReader(r.file, r.src, r.cfg, classad.Placed(classad.NewAd(), r.ad.Pos()))
	sub.dir, sub.cfg.dialect = r.dir, r.job.Dialect
	replace := p.replaceGLite
	if r.job.Dialect == DIRAC {
		replace = p.replaceDIRAC
	}
	text := func(s string) string {
		if !b.spend(p.growth(s)) {
			_ = b.over(sub)
			return s
		}
		return replace(s)
	}
	rw := classad.Rewriter{Text: text, Bad: func(pos classad.Pos, text string) {
		sub.fail(pos, "parametric", "", "%q is no expression", text)
	}}
	for _, a := range r.ad.Attrs() {
		if key := classad.Fold(a.Name); !strings.HasPrefix(key, "parameter") {
			sub.ad.Put(classad.Attr{Name: text(a.Name), Expr: rw.Expr(a.Expr), NamePos: a.NamePos})
		}
	}
	if r.job.Dialect == GLite {
		env := append(sub.strs("Environment"), "ParameterValue="+p.value)
		sub.ad.Set("Environment", classad.NewLiteral(classad.StringsValue(env)))
	}
	if kinds := sub.strs("JobType"); r.job.Dialect == GLite && len(kinds) > 0 {
		sub.ad.Set("JobType", classad.NewLiteral(classad.StringsValue(normalKinds(kinds))))
	}
	return sub, sub.err()
}

func normalKinds(kinds []string) []string {
	var out []string
	for _, k := range kinds {
		if !classad.EqualFold(k, "parametric") {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		return []string{"normal"}
	}
	return out
}

// growth bounds what replacing makes of a text; where nothing is replaced the text is shared.
func (p param) growth(s string) int {
	if !strings.Contains(s, paramMark) && !strings.Contains(s, "%") {
		return 0
	}
	longest := max(len(p.value), len(p.index))
	for _, v := range p.named {
		longest = max(longest, len(v))
	}
	return len(s) + longest*(strings.Count(s, paramMark)+strings.Count(s, "%"))
}

func (p param) replaceGLite(s string) string { return strings.ReplaceAll(s, paramMark, p.value) }

// replaceDIRAC replaces %s, %n, %j and %(name)s. The job's number is not
// known when the text is read, so that %j is the index as well.
func (p param) replaceDIRAC(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	for name, v := range p.named {
		s = strings.ReplaceAll(s, "%("+name+")s", v)
	}
	return strings.NewReplacer("%s", p.value, "%n", p.index, "%j", p.index).Replace(s)
}

func hasPlaceholder(s string) bool {
	for _, mark := range []string{"%s", "%n", "%j", "%("} {
		if strings.Contains(s, mark) {
			return true
		}
	}
	return false
}

// params lists the jobs of the set.
func params(r *jobReader) []param {
	if r.job.Dialect == DIRAC {
		return diracParams(r)
	}
	if !r.has("Parameters") {
		r.fail(r.ad.Pos(), "missing", "Parameters = 10; or Parameters = {1, 2, 3};", "a parametric job needs Parameters")
		return nil
	}
	if kinds := r.strs("JobType"); !containsFold(kinds, "parametric") {
		r.warn(r.pos("Parameters"), "repaired", `JobType = "parametric";`, "Parameters without JobType: read as a parametric job")
	} else if containsFold(kinds, "partitionable") {
		r.failAttr("JobType", "deprecated", "", "a job cannot be parametric and partitionable")
	}
	return gliteParams(r)
}

func containsFold(ss []string, s string) bool {
	for _, x := range ss {
		if classad.EqualFold(x, s) {
			return true
		}
	}
	return false
}

// gliteParams counts as the gLite WMS: start, start+step ... below n, which is
// a bound and not a count; over a list, start and step are places in it.
func gliteParams(r *jobReader) []param {
	list, isList := paramList(r, "Parameters")
	bound := len(list)
	if !isList {
		bound = r.paramInt("Parameters", 0)
	}
	start, step := r.paramInt("ParameterStart", 0), r.paramInt("ParameterStep", 1)
	switch {
	case len(r.errs) > 0:
		return nil
	case step <= 0:
		r.failAttr("ParameterStep", "parametric", "", "ParameterStep must be at least 1")
		return nil
	case start >= bound:
		r.failAttr("Parameters", "parametric", "Parameters is the bound the values stay below, not their number",
			"no job: ParameterStart %d is not below Parameters %d", start, bound)
		return nil
	case isList && start < 0:
		r.failAttr("ParameterStart", "parametric", "", "ParameterStart is a place in the list, from 0")
		return nil
	}
	var out []param
	for i := start; i < bound && r.room(len(out)); i += step {
		p := param{value: strconv.Itoa(i)}
		if isList {
			p.value = list[i]
		}
		out = append(out, p)
	}
	return out
}

func (r *jobReader) room(n int) bool {
	if n >= maxJobs {
		r.failAttr("Parameters", "limit", "", "more than %d jobs", maxJobs)
	}
	return n < maxJobs
}

// paramInt is a whole number of a parametric job's counting attributes.
func (r *jobReader) paramInt(name string, def int) int {
	if !r.has(name) {
		return def
	}
	f, ok := r.number(name)
	if ok && (f != math.Trunc(f) || math.Abs(f) > 1<<40) {
		r.failAttr(name, "parametric", "", "%s must be a whole number", name)
	}
	return int(f)
}

// paramList is the list of values, as texts; bare words count as text.
func paramList(r *jobReader, name string) ([]string, bool) {
	e, _ := r.ad.Expr(name)
	l, ok := e.(*classad.ListExpr)
	if !ok {
		return nil, false
	}
	out := make([]string, len(l.Elems))
	for i, x := range l.Elems {
		if s, isText := literalText(x); isText {
			out[i] = s
		} else {
			out[i] = classad.Unparse(x)
		}
	}
	return out, true
}

// diracParams counts as DIRAC: n values, each the one before times
// ParameterFactor plus ParameterStep; or the values of a list. Named sequences
// run side by side.
func diracParams(r *jobReader) []param {
	named := map[string][]string{}
	var main []string
	if r.has("Parameters") {
		main = diracSequence(r, "", 0)
	}
	for _, name := range sequenceNames(r) {
		named[name] = diracSequence(r, "."+name, len(main))
	}
	n := commonLength(r, main, named)
	var out []param
	width := len(strconv.Itoa(max(0, n-1)))
	for i := 0; i < n && r.room(i); i++ {
		p := param{index: fmt.Sprintf("%0*d", width, i), named: map[string]string{}}
		p.value = p.index
		if main != nil {
			p.value = main[i]
		}
		for name, vs := range named {
			p.named[name] = vs[i]
		}
		out = append(out, p)
	}
	return out
}

// commonLength is the number of jobs; sequences of different lengths are an
// error.
func commonLength(r *jobReader, main []string, named map[string][]string) int {
	n := len(main)
	for name, vs := range named {
		if n != 0 && n != len(vs) {
			r.fail(r.pos("Parameters."+name), "parametric", "", "Parameters.%s has %d values where another sequence has %d", name, len(vs), n)
			return 0
		}
		n = len(vs)
	}
	if n == 0 && len(r.errs) == 0 {
		r.fail(r.pos("Parameters"), "parametric", "", "no job: Parameters is empty")
	}
	return n
}

// sequenceNames are the names behind the dots of Parameters.A,
// ParameterStart.A and the like.
func sequenceNames(r *jobReader) []string {
	var names []string
	for _, a := range r.ad.Attrs() {
		base, name, ok := strings.Cut(a.Name, ".")
		switch classad.Fold(base) {
		case "parameters", "parameterstart", "parameterstep", "parameterfactor":
			if ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// diracSequence is one sequence; suffix is "" or "." and its name. Without a
// number of values of its own it has n.
func diracSequence(r *jobReader, suffix string, n int) []string {
	if list, ok := paramList(r, "Parameters"+suffix); ok {
		return list
	}
	n = r.paramInt("Parameters"+suffix, n)
	value, step, factor := r.paramNumber("ParameterStart"+suffix, 1), r.paramNumber("ParameterStep"+suffix, 0), r.paramNumber("ParameterFactor"+suffix, 1)
	var out []string
	for i := 0; i < n && r.room(i); i++ {
		out = append(out, formatNumber(value))
		value = value*factor + step
	}
	return out
}

func (r *jobReader) paramNumber(name string, def float64) float64 {
	if f, ok := r.number(name); ok {
		return f
	}
	return def
}
