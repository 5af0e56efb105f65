package jdl

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// Lint says all that is wrong or doubtful in a description of jobs in JDL,
// errors and warnings in the order of the text: what keeps the file from being
// read, rules broken, and in addition what may be legal but is probably not
// meant, such as an unknown attribute, a clause that never holds, or seconds
// where minutes count.
func Lint(file string, src []byte, opts ...Option) []*classad.Diagnostic {
	l := &linter{file: file, src: string(src), glue: theGlueTable()}
	l.result(ParseJobs(file, src, opts...))
	l.text(src, opts)
	return l.sorted()
}

// Findings are the errors and warnings of a description that was read, in the
// order of the text.
func Findings(set *JobSet, err error) []*classad.Diagnostic {
	l := &linter{}
	l.result(set, err)
	return l.sorted()
}

func (l *linter) result(set *JobSet, err error) {
	l.addError(err)
	if set != nil && err == nil {
		l.out = append(l.out, set.Warnings...)
		for _, j := range set.Jobs {
			l.out = append(l.out, j.Warnings...)
		}
	}
}

type linter struct {
	file, src string
	glue      *glueTable
	out       []*classad.Diagnostic
	top       *classad.Ad     // the record of the file
	refs      map[string]bool // names that its expressions use, nodes included
}

// text looks at the record as it was written.
func (l *linter) text(src []byte, opts []Option) {
	cfg := newJobConfig(opts)
	warn := classad.WithWarnings(func(d *classad.Diagnostic) { l.out = append(l.out, d) })
	ad, err := classad.ReadAd(l.file, src, warn)
	if err != nil {
		return // ParseJobs said so
	}
	if _, other := alien(ad); other {
		return // and this
	}
	dialect := cfg.dialect
	if dialect == AnyDialect {
		dialect = judgeDialect(ad)
	}
	l.top, l.refs = ad, references(ad)
	l.record(ad, dialect)
}

// record checks the attributes and expressions of a job, and of the nodes in
// it.
func (l *linter) record(ad *classad.Ad, dialect Dialect) {
	for _, a := range ad.Attrs() {
		l.attribute(a, dialect)
	}
	if dialect != DIRAC {
		for _, name := range []string{"Requirements", "CERequirements", "Rank"} {
			if a, ok := ad.Attr(name); ok {
				if s, isText := literalText(a.Expr); isText && name == "CERequirements" { // as CREAM allows it
					if e, err := classad.ParseExpr("", []byte(s)); err == nil {
						a.Expr = classad.Placed(e, a.Expr.Pos())
					}
				}
				l.matchExpr(ad, a)
			}
		}
		for _, a := range ad.Attrs() { // what Requirements and Rank are made of
			if findAttr(a.Name) == nil && l.refs[classad.Fold(a.Name)] && !isConstant(ad, a.Expr, map[string]bool{}) {
				operands(l, ad, a.Expr)
			}
		}
	}
	l.own(ad, dialect)
	if dialect == DIRAC {
		l.brokerInfo(ad)
	}
	if nodes, ok := ad.Expr("Nodes"); ok {
		l.nodes(nodes, dialect)
	}
}

func (l *linter) nodes(e classad.Expr, dialect Dialect) {
	switch e := e.(type) {
	case *classad.ListExpr:
		for _, x := range e.Elems {
			l.node(x, dialect)
		}
	case *classad.Ad:
		for _, a := range e.Attrs() {
			if !classad.EqualFold(a.Name, "Dependencies") {
				l.node(a.Expr, dialect)
			}
		}
	}
}

func (l *linter) node(e classad.Expr, dialect Dialect) {
	ad, ok := e.(*classad.Ad)
	if !ok {
		return
	}
	if d, has := ad.Expr("Description"); has {
		e = d
	}
	if ad, ok = e.(*classad.Ad); ok {
		l.record(ad, dialect)
	}
}

// attribute checks that a name is known and used for something.
func (l *linter) attribute(a classad.Attr, dialect Dialect) {
	if len(l.out) > 10*maxFindings {
		return
	}
	def := findAttr(a.Name)
	switch {
	case def == nil && strings.Contains(a.Name, "."), def != nil && def.mode&inInternal != 0:
	case def == nil && l.refs[classad.Fold(a.Name)]:
	case def == nil:
		hint := "nothing in this file uses it"
		if near := nearestAttr(a.Name); near != "" {
			hint = "did you mean " + near + "?"
		}
		l.warn(a.NamePos, "unknown-attribute", hint, "%s is not a known attribute", a.Name)
	case def.mode&isIgnored != 0:
		l.warn(a.NamePos, "no-effect", "", "%s is known, and has no effect here", def.name)
	case dialect == GLite && def.mode&(inGLite|inOurs) == 0 && def.mode&inDIRAC != 0:
		l.warn(a.NamePos, "dialect", "", "%s is DIRAC's, and this file reads as gLite's JDL", def.name)
	}
}

func (l *linter) warn(pos classad.Pos, code, hint, format string, args ...any) {
	if len(l.out) > 10*maxFindings {
		return
	}
	d := &classad.Diagnostic{Severity: classad.Warning, File: l.file, Pos: pos, Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint}
	if pos.Line > 0 {
		d.ShowLine(l.src)
	}
	l.out = append(l.out, d)
}

// addError takes the diagnostics out of an error that may join several.
func (l *linter) addError(err error) {
	switch e := err.(type) {
	case nil:
	case *classad.Diagnostic:
		l.out = append(l.out, e)
	case interface{ Unwrap() []error }:
		for _, sub := range e.Unwrap() {
			l.addError(sub)
		}
	default:
		if sub := errors.Unwrap(err); sub != nil {
			l.addError(sub)
			return
		}
		l.out = append(l.out, &classad.Diagnostic{Severity: classad.Fatal, File: l.file, Code: "read", Msg: err.Error()})
	}
}

// sorted orders by place and drops what was said twice.
func (l *linter) sorted() []*classad.Diagnostic {
	slices.SortStableFunc(l.out, func(a, b *classad.Diagnostic) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(l.out, func(d *classad.Diagnostic) bool {
		text := d.Error()
		was := seen[text]
		seen[text] = true
		return was
	})
}

// own checks values of the job's own attributes that are legal and unlikely.
func (l *linter) own(ad *classad.Ad, dialect Dialect) {
	for _, name := range []string{"WallTime", "CPUTime"} {
		if f, e, ok := literalNumber(ad, name); ok && f > 0 && f < 60 {
			l.warn(e.Pos(), "unit", fmt.Sprintf(`write "%s min" or "%s h"`, formatNumber(f), formatNumber(f)),
				"%s counts seconds: %s are very few", name, formatNumber(f))
		}
	}
	if f, e, ok := literalNumber(ad, "Memory"); ok && e.Unit == 0 {
		l.memory(e, "Memory", f)
	}
	l.words(ad, dialect)
}

func literalNumber(ad *classad.Ad, name string) (float64, *classad.Literal, bool) {
	e, _ := ad.Expr(name)
	l, ok := e.(*classad.Literal)
	if !ok {
		return 0, nil, false
	}
	f, ok := l.Value.Number()
	return f, l, ok
}

// words checks arguments for what only a shell would replace.
func (l *linter) words(ad *classad.Ad, dialect Dialect) {
	e, ok := ad.Expr("Arguments")
	if !ok {
		return
	}
	s, ok := literalText(e)
	if !ok {
		return
	}
	if i := strings.IndexAny(s, "“”„‘’"); i >= 0 {
		l.warn(e.Pos(), "typographic-quote", `write \" or '`, "Arguments hold a typographic quote")
	}
	words, err := SplitArgs(s)
	exe, _ := ad.Expr("Executable")
	name, _ := literalText(exe)
	if err != nil || isShell(name) && len(words) > 0 && strings.HasPrefix(words[0], "-") && strings.Contains(words[0], "c") {
		return // the shell of -c replaces them
	}
	for _, w := range words {
		if forShell(w) && (dialect != DIRAC || !strings.HasPrefix(w, "%")) {
			l.warn(e.Pos(), "no-shell", `run it by a shell: Executable = "/bin/sh"; Arguments = "-c '...'"`,
				"Arguments: %s reaches the program as it is; no shell replaces it", w)
			return
		}
	}
}

// forShell reports whether only a shell would give a word the meaning it has.
func forShell(w string) bool {
	return shellVariable.MatchString(w) || w == "*" || strings.HasPrefix(w, "*.")
}

func isShell(program string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh"}, path.Base(program))
}

// brokerInfo warns of a DIRAC job that looks for the file gLite's broker sent
// along: DIRAC sends none, nor do we with jobs of its dialect.
func (l *linter) brokerInfo(ad *classad.Ad) {
	for _, a := range ad.Attrs() {
		classad.Walk(a.Expr, func(e classad.Expr) bool {
			if _, isRecord := e.(*classad.Ad); isRecord && !classad.EqualFold(a.Name, "Arguments") {
				return false
			}
			s, _ := literalText(e)
			if low := classad.Fold(s); strings.Contains(low, ".brokerinfo") || strings.Contains(low, "-brokerinfo") {
				l.warn(e.Pos(), "broker-info", "", "%s names BrokerInfo, which is made for jobs in gLite's dialect only", a.Name)
			}
			return true
		})
	}
}
