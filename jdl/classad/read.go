package classad

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"gridbroker/jdl/pcre"
)

// ReadAd reads what users write in JDL files. It accepts all that ParseAd
// does and, where the meaning is sure, repairs what is not quite the language;
// each repair is a warning with line and column:
//
//   - brackets around the whole may be missing, and a ";" may follow them;
//   - "#" starts a comment, a backslash at the end of a line joins the next,
//     a no-break space is a blank, a byte-order mark is skipped;
//   - a comma may follow the last element of a list, and "0." is a number;
//   - a line break inside a string is a blank, as for the gLite client;
//   - a dotted name may stand left of "=" (DIRAC);
//   - isMember is read as Member.
//
// What it refuses it explains: the error is a *Diagnostic with line, column
// and a hint.
func ReadAd(file string, src []byte, opts ...Option) (*Ad, error) {
	p, err := newParser(file, src, append(opts[:len(opts):len(opts)], func(c *config) { c.tolerant = true }))
	if err != nil {
		return nil, err
	}
	var ad *Ad
	if p.tok == tokLBrack {
		ad = p.record()
	} else {
		ad = p.bareRecord()
	}
	if p.tok == tokSemicolon {
		p.warning(p.pos, "after-record", "; after the closing ] is not needed", "")
		for p.tok == tokSemicolon {
			p.next()
		}
	}
	if p.err == nil && p.tok != tokEOF {
		p.unexpected("after the closing ]")
	}
	if p.err != nil {
		return nil, otherLanguage(file, src, p.err)
	}
	return ad, nil
}

// otherLanguage says so when a text that cannot be read is in a language that
// shares the ending .jdl.
func otherLanguage(file string, src []byte, err error) error {
	if script := BatchScript(src); script != "" {
		hint := "name it as the Executable of a job, and say there what it asks for"
		switch begun := bytes.HasPrefix(src, []byte("#!")); {
		case !begun && script == "Slurm":
			hint = "its first line has to be #!/bin/bash or the like"
		case !begun:
			hint = "begin it with #!/bin/sh, " + hint
		}
		return (&Diagnostic{Severity: Fatal, File: file, Pos: Pos{1, 1}, Code: "format", Hint: hint,
			Msg: "this is a script for " + script + ", not a description of a job"}).ShowLine(string(src))
	}
	if line, _, _ := strings.Cut(string(src[:min(len(src), 200)]), "\n"); strings.HasPrefix(line, "#!") && !strings.HasSuffix(strings.TrimSpace(line), "nextflow") {
		return (&Diagnostic{Severity: Fatal, File: file, Pos: Pos{1, 1}, Code: "format", Hint: "grid run -- ./PROGRAM runs one; a description names it as its Executable",
			Msg: fmt.Sprintf("this is a program (%s), not a description of a job", strings.TrimSpace(line))}).ShowLine(string(src))
	}
	if what := otherFormat(src); what != "" {
		return (&Diagnostic{Severity: Fatal, File: file, Pos: Pos{1, 1}, Code: "format", Hint: "grid jdl new writes a description to begin with",
			Msg: "this is " + what + ", not a description of a job for the grid"}).ShowLine(string(src))
	}
	n := 0
	for line := range strings.Lines(string(src[:min(len(src), 1<<16)])) {
		n++
		if jhipster(strings.Fields(line)) {
			return (&Diagnostic{Severity: Fatal, File: file, Pos: Pos{n, 1}, Code: "format",
				Msg: "this is a JHipster model of a web application, not a description of a job"}).ShowLine(string(src))
		}
	}
	return err
}

// otherFormat tells by its first statement what else a text is that people keep their jobs in; "": nothing known.
func otherFormat(src []byte) string {
	for line := range strings.Lines(string(src[:min(len(src), 1<<16)])) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#!") && strings.HasSuffix(strings.TrimSpace(line), "nextflow"):
			return "a workflow for Nextflow"
		case len(words) == 0 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "//") || words[0] == "---":
			continue
		case workflow(words) != "":
			return workflow(words)
		case words[0] == "FROM" && len(words) > 1 && words[1] != "=":
			return "a recipe for container images (Dockerfile)"
		case strings.EqualFold(words[0], "bootstrap:"):
			return "a recipe for images of Apptainer"
		case len(words) > 3 && words[0] == "from" && words[2] == "import", len(words) > 1 && words[0] == "import",
			len(words) > 2 && words[1] == "=" && strings.HasPrefix(words[2], "Job("):
			return "a program in Python"
		case words[0] == "apiVersion:":
			return "a file for Kubernetes"
		case words[0] == "cwlVersion:":
			return "a workflow in CWL"
		case yamlKey(words[0]):
			return "a file in YAML"
		}
		return ""
	}
	return ""
}

// workflow names the language of workflows that a statement is of; "": none that is known.
func workflow(words []string) string {
	first, last := words[0], words[len(words)-1]
	switch {
	case len(words) == 2 && (first == "rule" || first == "checkpoint") && strings.HasSuffix(last, ":"), first == "configfile:":
		return "a workflow for Snakemake"
	case strings.HasPrefix(first, "nextflow.enable."), (first == "process" || first == "workflow") && len(words) < 4 && last == "{":
		return "a workflow for Nextflow"
	case first == "version" && len(words) == 2 && (last == "development" || strings.HasPrefix(last, "draft-") || strings.Trim(last, "0123456789.") == ""):
		return "a workflow in WDL"
	}
	return ""
}

// yamlKey reports whether a word is a key of YAML: letters, digits and some signs before a colon.
func yamlKey(word string) bool {
	name, ok := strings.CutSuffix(word, ":")
	return ok && name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.'
	}) < 0
}

// batchMarks begin the lines by which scripts speak to batch systems.
var batchMarks = [...]struct{ mark, system string }{{"#SBATCH", "Slurm"}, {"#PBS", "PBS"}, {"#$ -", "Grid Engine"}, {"#BSUB", "LSF"},
	{"#OAR ", "OAR"}, {"#COBALT", "Cobalt"}, {"#PJM", "Fujitsu's job manager"}, {"#MSUB", "Moab"}, {"#flux:", "Flux"}, {"#@$", "NQS"}, {"#JDL ", "DIRAC's dsub"}, {"# @", "LoadLeveler"}, {"#@ ", "LoadLeveler"}}

// BatchScript names the batch system that a shell script is for, from its beginning; "": none. It begins with #!, or such a line stands among
// the comments that it begins with.
func BatchScript(src []byte) string {
	begun := bytes.HasPrefix(src, []byte("#!"))
	for line := range bytes.Lines(src[:min(len(src), 1<<16)]) {
		if !begun {
			line = bytes.TrimLeft(line, " \t")
		}
		for _, m := range batchMarks {
			if rest, ok := bytes.CutPrefix(line, []byte(m.mark)); ok && (m.system != "LoadLeveler" || loadLeveler(rest)) {
				return m.system
			}
		}
		if !begun && len(bytes.TrimSpace(line)) > 0 && line[0] != '#' {
			return ""
		}
	}
	return ""
}

// loadLeveler reports whether what follows "# @" is a keyword with a value, or queue: others write names of authors so.
func loadLeveler(rest []byte) bool {
	word, _, ok := bytes.Cut(rest, []byte("="))
	words := bytes.Fields(word)
	return len(words) == 1 && (ok || string(words[0]) == "queue")
}

// jhipster reports whether words begin a declaration of JHipster's JDL, which
// shares the file's ending.
func jhipster(words []string) bool {
	if len(words) < 2 || words[1] == "=" {
		return false
	}
	switch words[0] {
	case "entity", "enum":
		return len(words) > 2 && (words[2] == "{" || words[2] == "(") || strings.HasSuffix(words[1], "{")
	case "application", "deployment":
		return words[1] == "{"
	case "relationship":
		return strings.Contains(words[1], "To")
	}
	return false
}

// bareRecord parses attributes without brackets, up to the end of the text.
func (p *parser) bareRecord() *Ad {
	ad := &Ad{at: at{pos: p.pos}}
	for p.err == nil {
		for p.tok == tokSemicolon {
			p.next()
		}
		if p.tok == tokEOF || !p.attribute(ad) {
			break
		}
		if p.tok == tokRBrack {
			p.fail(p.pos, `"]" without "[" before it`, "")
		}
		if p.tok != tokSemicolon && p.tok != tokEOF {
			p.missingSemicolon()
		}
	}
	return ad
}

// skipOdd skips what users put where a blank belongs.
func (l *lexer) skipOdd() bool {
	rest := l.src[l.at:]
	switch c := rest[0]; {
	case c == '#':
		l.skipLine()
	case strings.HasPrefix(rest, "\u00a0"):
		l.warning(l.here(), "no-break-space", "a no-break space is read as a blank", "write a plain space")
		l.at += len("\u00a0")
	case l.at == 0 && strings.HasPrefix(rest, "\ufeff"):
		l.at, l.lineStart = len("\ufeff"), len("\ufeff")
	case c == '\\':
		return l.skipContinuation(rest)
	default:
		return false
	}
	return true
}

// skipContinuation skips a backslash that ends a line.
func (l *lexer) skipContinuation(rest string) bool {
	end := strings.IndexByte(rest, '\n')
	if end < 0 {
		end = len(rest)
	}
	if strings.Trim(rest[1:end], " \t\r") != "" {
		return false
	}
	l.warning(l.here(), "continuation", `\ at the end of a line is not needed`, "an expression goes on until its ;")
	l.at += end
	return true
}

// joinLines makes a blank of every line break inside a string.
func (l *lexer) joinLines(start Pos, raw string) string {
	if !strings.Contains(raw, "\n") {
		return raw
	}
	l.warning(start, "line-break", "a line break inside a string is read as a blank", `is a " missing?`)
	return strings.NewReplacer("\\\r\n", " ", "\\\n", " ", "\r\n", " ", "\n", " ").Replace(raw)
}

// afterComma takes the comma between two elements of a list; it is false at
// the end of the list.
func (p *parser) afterComma() bool {
	pos := p.pos
	if p.next(); p.tok != tokRBrace {
		return p.err == nil
	}
	if p.tolerant {
		p.warning(pos, "trailing-comma", "a comma follows the last element of a list", "")
	} else {
		p.unexpected("after the last comma of a list")
	}
	return false
}

// warnJoined warns of two strings with no comma between them, in a list.
func (p *parser) warnJoined() {
	if p.tok == tokString && p.joined != (Pos{}) {
		p.warning(p.joined, "joined-strings", "two strings without a comma between them are one", "is a comma missing?")
	}
}

// unquoted reads a path or placeholder that stands without quotes where a value
// should, as DIRAC's users write them: /lhcb/data, %(InputData)s.
func (p *parser) unquoted(pos Pos) Expr {
	if !p.tolerant || p.err != nil || p.tok != opToken(OpDiv) && p.tok != opToken(OpMod) {
		return nil
	}
	n := strings.IndexAny(p.src[p.off:], " \t\r\n;,{}[]\"'")
	if n < 0 {
		n = len(p.src) - p.off
	}
	if n < 2 {
		return nil
	}
	text := p.src[p.off : p.off+n]
	p.warning(pos, "unquoted", fmt.Sprintf("%s has no quotes and is read as text", clip(text)), fmt.Sprintf("write %q", clip(text)))
	p.at = p.off + n
	p.next()
	return &Literal{at: at{pos: pos}, Value: StringValue(text)}
}

// inQuotes reports whether the token at hand touches a quote before it, as
// name does in "-i "my name"".
func (p *parser) inQuotes() bool {
	return p.off > 0 && p.off < len(p.src) && p.src[p.off-1] == '"' && (isLetter(p.src[p.off]) || isDigit(p.src[p.off]) || p.src[p.off] == '"' || p.src[p.off] == '$')
}

// longName takes the rest of a name with dots in it, which is an error but
// for ReadAd.
func (p *parser) longName(pos Pos, name string) (string, bool) {
	if p.tok != tokDot && p.tok != opToken(OpSub) {
		return name, true
	}
	if !p.tolerant || p.tok != tokDot {
		p.fail(p.pos, "an attribute's name has no "+p.src[p.off:p.end],
			"a name with other characters than letters, digits and _ is written '...'")
		return "", false
	}
	parts := []string{name}
	for p.tok == tokDot {
		p.next()
		part, ok := p.name("after the dot")
		if !ok {
			return "", false
		}
		parts = append(parts, part)
	}
	name = strings.Join(parts, ".")
	p.warning(pos, "dotted-name", fmt.Sprintf("%s is read as one name, as DIRAC does", name), "")
	return name, true
}

// checkPattern looks at a pattern that is a constant.
func (p *parser) checkPattern(c *Call) {
	switch Fold(c.fn.name) {
	case "regexp", "regexpmember", "regexps", "replace", "replaceall":
	default:
		return
	}
	l, ok := c.Args[0].(*Literal)
	if !ok || l.Value.kind != String {
		return
	}
	if l.lost {
		p.warning(l.pos, "lost-backslash", "a single backslash before a character that needs none is dropped from the pattern",
			`write \\ for each backslash`)
	}
	if _, err := pcre.Compile(l.Value.str, ""); err != nil {
		p.warning(l.pos, "bad-pattern", fmt.Sprintf("%q is not a regular expression: %v", l.Value.str, err),
			"the call is always ERROR")
	}
}
