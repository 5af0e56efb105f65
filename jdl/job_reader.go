package jdl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// jobReader turns one record into a Job. It goes on after an error, so that
// the user hears of all of them at once.
type jobReader struct {
	file string
	src  string
	cfg  jobConfig
	dir  string      // absolute; relative names start here
	ad   *classad.Ad // ours to change
	job  *Job
	bad  map[string]bool // attributes already complained about, folded
	errs []error

	inNames  map[string]string // source of each input file, by name
	absent   map[string]bool   // last parts of the input files that cannot be had
	outNames map[string]string // output file of each base name
	refs     map[string]bool   // names the record's expressions use, folded; made when first needed

	parent    *jobReader     // of a node whose text is another one; nil: none
	own       []classad.Attr // what such a node says itself
	inherited []classad.Attr // what it has of its parent
}

// maxFindings bounds the errors, and the warnings, said of one record.
const maxFindings = 100

// maxWarnings bounds those of all jobs that are made of a record: to find the line of each takes as long as the text is.
const maxWarnings = 1_000

// maxUnknown bounds the unknown attributes for which a known one is sought that
// is nearly the same, in all jobs that are made of a record.
const maxUnknown = 10_000

func newJobReader(file, src string, cfg jobConfig, ad *classad.Ad) *jobReader {
	if cfg.tally == nil {
		cfg.tally = newTally()
	}
	return &jobReader{
		file: file, src: src, cfg: cfg, dir: cfg.baseDir(file), ad: ad.Clone(),
		job: &Job{File: file, FuzzyFactor: 1}, bad: map[string]bool{},
		inNames: map[string]string{}, absent: map[string]bool{}, outNames: map[string]string{},
	}
}

// diagnostic makes a message about a place of this text, or of that in which an attribute stands which was inherited.
func (r *jobReader) diagnostic(s classad.Severity, pos classad.Pos, code, msg, hint string) *classad.Diagnostic {
	if standsAt(r.inherited, pos) && !standsAt(r.own, pos) {
		return r.parent.diagnostic(s, pos, code, msg, hint)
	}
	d := &classad.Diagnostic{Severity: s, File: r.file, Pos: pos, Msg: msg, Hint: hint, Code: code}
	if pos.Line > 0 {
		d.ShowLine(r.src)
	}
	return d
}

func (r *jobReader) fail(pos classad.Pos, code, hint, format string, args ...any) {
	if len(r.errs) >= maxFindings {
		return
	}
	r.errs = append(r.errs, r.diagnostic(classad.Fatal, pos, code, fmt.Sprintf(format, args...), hint))
}

func (r *jobReader) warn(pos classad.Pos, code, hint, format string, args ...any) {
	if len(r.job.Warnings) >= maxFindings || r.cfg.tally.warnings >= maxWarnings {
		return
	}
	r.cfg.tally.warnings++
	r.job.Warnings = append(r.job.Warnings, r.diagnostic(classad.Warning, pos, code, fmt.Sprintf(format, args...), hint))
}

// failAttr complains once about an attribute, at its value.
func (r *jobReader) failAttr(name, code, hint, format string, args ...any) {
	if key := classad.Fold(name); !r.bad[key] {
		r.bad[key] = true
		r.fail(r.pos(name), code, hint, format, args...)
	}
}

func (r *jobReader) err() error {
	if len(r.errs) == 1 {
		return r.errs[0]
	}
	return errors.Join(r.errs...)
}

func (r *jobReader) has(name string) bool {
	_, ok := r.ad.Expr(name)
	return ok
}

// pos is where the value of an attribute stands, or the record.
func (r *jobReader) pos(name string) classad.Pos {
	if a, ok := r.ad.Attr(name); ok {
		if p := a.Expr.Pos(); p.Line > 0 {
			return p
		}
		return a.NamePos
	}
	return r.ad.Pos()
}

// value evaluates an attribute by itself, without a resource. In DIRAC's
// dialect an unquoted text is a string.
func (r *jobReader) value(name string) classad.Value {
	e, ok := r.ad.Expr(name)
	if !ok {
		return classad.UndefinedValue()
	}
	return exprValue(r, e)
}

func exprValue(r *jobReader, e classad.Expr) classad.Value {
	if r.job.Dialect == DIRAC {
		if l, ok := e.(*classad.ListExpr); ok {
			vs := make([]classad.Value, len(l.Elems))
			for i, x := range l.Elems {
				vs[i] = exprValue(r, x)
			}
			return classad.ListValue(vs)
		}
		if text, ok := bareText(e); ok {
			return classad.StringValue(text)
		}
	}
	return r.ad.Eval(e, nil)
}

// bareText is the text of an unquoted value: words joined by dots.
func bareText(e classad.Expr) (string, bool) {
	switch e := e.(type) {
	case *classad.AttrRef:
		return e.Name, !e.Absolute
	case *classad.Select:
		x, ok := bareText(e.X)
		return x + "." + e.Name, ok
	}
	return "", false
}

// str is a string attribute; "" when it is not given or wrong, which has then
// been said.
func (r *jobReader) str(name string) string {
	if !r.has(name) {
		return ""
	}
	s, ok := r.text(r.value(name))
	if !ok {
		r.wrongType(name, tString)
	}
	return s
}

// text is a value's string; in DIRAC's dialect numbers are strings too.
func (r *jobReader) text(v classad.Value) (string, bool) {
	if f, ok := v.Number(); ok && r.job.Dialect == DIRAC {
		return formatNumber(f), true
	}
	return v.Str()
}

// strs is an attribute that is a string or a list of strings. In DIRAC's
// dialect one string may hold several words, parted by commas.
func (r *jobReader) strs(name string) []string {
	if !r.has(name) {
		return nil
	}
	v := r.value(name)
	if s, ok := r.text(v); ok {
		if r.job.Dialect == DIRAC {
			return splitNames(s)
		}
		return []string{s}
	}
	vs, ok := v.List()
	out := make([]string, 0, len(vs))
	for _, v := range vs {
		s, isText := r.text(v)
		ok = ok && isText
		out = append(out, s)
	}
	if !ok {
		r.wrongType(name, tStrings)
		return nil
	}
	return out
}

// splitNames parts names at commas and semicolons, as DIRAC does.
func splitNames(s string) []string {
	out := []string{}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ';' }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// number is a numeric attribute; ok is false when it is not given or wrong.
func (r *jobReader) number(name string) (f float64, ok bool) {
	if !r.has(name) {
		return 0, false
	}
	v := r.value(name)
	if s, isText := v.Str(); isText && r.job.Dialect == DIRAC {
		f, ok = readNumber(s)
	} else {
		f, ok = v.Number()
	}
	if !ok {
		r.wrongType(name, tNumber)
	}
	return f, ok
}

// integer is an integer attribute, checked against the least value the table
// gives; def when it is not given or wrong.
func (r *jobReader) integer(name string, def int) int {
	if !r.has(name) {
		return def
	}
	f, ok := r.number(name)
	if !ok {
		return def
	}
	def0 := findAttr(name)
	switch {
	case f != float64(int64(f)) || f > 1<<53 || f < -1<<53:
		r.failAttr(name, "type", "", "%s must be an integer", def0.name)
	case f < float64(def0.min):
		r.failAttr(name, "range", "", "%s is %s, less than %d", def0.name, formatNumber(f), def0.min)
	default:
		return int(f)
	}
	return def
}

// boolean is a boolean attribute; false when it is not given or wrong.
func (r *jobReader) boolean(name string) bool {
	if !r.has(name) {
		return false
	}
	v := r.value(name)
	if s, ok := r.text(v); ok && r.job.Dialect == DIRAC {
		switch classad.Fold(s) {
		case "true", "yes", "1":
			return true
		case "false", "no", "0":
			return false
		}
	}
	b, ok := v.Bool()
	if !ok {
		r.wrongType(name, tBool)
	}
	return b
}

// wrongType says that an attribute has a value of the wrong kind.
func (r *jobReader) wrongType(name string, want attrType) {
	e, _ := r.ad.Expr(name)
	if def := findAttr(name); def != nil {
		name, want = def.name, def.typ
	}
	if bare, where := firstBare(e); bare != "" && r.job.Dialect != DIRAC {
		if r.bad[classad.Fold(name)] {
			return
		}
		r.bad[classad.Fold(name)] = true
		if v := r.ad.EvalAttr(bare, nil); r.has(bare) {
			r.fail(where, "type", "", "%s: the value of %s is %s", name, bare, describe(v))
			return
		}
		r.fail(where, "quotes-missing", fmt.Sprintf("write %q, in double quotes", bare),
			"%s: %s is no attribute of the job and has no value", name, bare)
		return
	}
	r.failAttr(name, "type", typeHint(e, r.value(name), want), "%s must be %s, and this is %s", name, want, describe(r.value(name)))
}

// firstBare finds a name that stands where a string is meant.
func firstBare(e classad.Expr) (string, classad.Pos) {
	if l, ok := e.(*classad.ListExpr); ok {
		for _, x := range l.Elems {
			if s, p := firstBare(x); s != "" {
				return s, p
			}
		}
		return "", classad.Pos{}
	}
	if s, ok := bareText(e); ok {
		return s, e.Pos()
	}
	return "", classad.Pos{}
}

func typeHint(e classad.Expr, v classad.Value, want attrType) string {
	s, ok := v.Str()
	if !ok {
		return sumHint(e, v)
	}
	_, isNumber := readNumber(s)
	isBool := classad.EqualFold(s, "true") || classad.EqualFold(s, "false")
	if (want == tInt || want == tNumber) && isNumber || want == tBool && isBool {
		return "remove the quotes: " + s
	}
	return ""
}

// sumHint tells how texts are joined, where a sum has no value, as it has none of texts.
func sumHint(e classad.Expr, v classad.Value) string {
	var terms []classad.Expr
	for {
		b, ok := e.(*classad.Binary)
		if !ok || b.Op != classad.OpAdd {
			break
		}
		terms, e = append(terms, b.Y), b.X
	}
	if len(terms) == 0 || v.Kind() != classad.Error {
		return ""
	}
	const how = "+ adds numbers; texts are joined by strcat("
	said := how
	for _, t := range slices.Backward(append(terms, e)) {
		if said != how {
			said += ", "
		}
		if said += classad.Unparse(t); len(said) > maxHint {
			return how + "...)"
		}
	}
	return said + ")"
}

// maxHint bounds what is said again of a text in a hint, in bytes: a description may be long.
const maxHint = 400
