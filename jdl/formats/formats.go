// Package formats reads descriptions of jobs in any language: JDL, xRSL, ADL,
// JSON, HTCondor's submit descriptions and files for its DAGMan, Slurm's scripts, told
// apart by how they begin.
package formats

import (
	"bytes"
	"slices"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
)

// Format is a language that describes jobs.
type Format string

// The formats that can be read.
const (
	JDL  Format = "jdl"
	XRSL Format = "xrsl"
	ADL  Format = "adl"
	JSON Format = "json"

	Condor Format = "condor"
	DAGMan Format = "dagman"
	Sbatch Format = "sbatch"
)

// byteOrderMark is what some editors put before a text.
const byteOrderMark = "\xef\xbb\xbf"

// Detect tells the language of a description by its first character that is
// not blank, of xRSL's & and +( also below lines of #: "<" is ADL, "&", "+(", "|" or "(" xRSL, "{" or "[{" JSON; of the
// others a script with options for sbatch is Slurm's, a text that begins with a
// statement of DAGMan a DAG, one with a queue statement HTCondor's, the rest JDL.
func Detect(src []byte) Format {
	const blanks = " \t\r\n\v\f"
	src = bytes.TrimLeft(bytes.TrimPrefix(src, []byte(byteOrderMark)), blanks)
	if len(src) == 0 {
		return JDL
	}
	switch src[0] {
	case '[':
		if bytes.HasPrefix(bytes.TrimLeft(src[1:], blanks), []byte("{")) {
			return JSON
		}
		return JDL
	case '<':
		return ADL
	case '&', '|', '(':
		return XRSL
	case '+':
		if next := bytes.TrimLeft(src[1:], blanks); !bytes.HasPrefix(next, []byte("(")) && condor.Looks(src) {
			return Condor // an attribute of the job's: +ProjectName = "x"
		}
		return XRSL
	case '{':
		return JSON
	case '#':
		if below := belowNotes(src); bytes.HasPrefix(below, []byte("&")) || bytes.HasPrefix(below, []byte("+(")) {
			return XRSL
		}
	}
	if sbatch.Looks(src) {
		return Sbatch
	}
	if condor.LooksDAG(src) {
		return DAGMan
	}
	if condor.Looks(src) {
		return Condor
	}
	return JDL
}

// belowNotes is what follows the lines of # and blank ones that a text begins with.
func belowNotes(src []byte) []byte {
	for {
		if src = bytes.TrimSpace(src); len(src) == 0 || src[0] != '#' {
			return src
		}
		_, src, _ = bytes.Cut(src, []byte("\n"))
	}
}

// ParseJobs reads a description of any number of jobs: what jdl.ParseJobs
// reads, several requests in xRSL, several ActivityDescriptions in ADL, an
// object or a list of objects in JSON, a submit description of HTCondor, a file for its DAGMan, a script for
// Slurm. file is the name used in messages. The
// error is a *classad.Diagnostic, or several joined.
func ParseJobs(file string, src []byte, opts ...jdl.Option) (*jdl.JobSet, error) {
	return ParseJobsAs(Detect(src), file, src, opts...)
}

// ParseJobsAs is ParseJobs for a text whose language is known.
func ParseJobsAs(f Format, file string, src []byte, opts ...jdl.Option) (*jdl.JobSet, error) {
	if f == JDL {
		return jdl.ParseJobs(file, src, opts...)
	}
	if f == XRSL || f == JSON { // the others look for it themselves
		src = bytes.TrimPrefix(src, []byte(byteOrderMark))
	}
	var warnings []*classad.Diagnostic
	ads, err := records(f, file, src, jdl.NewNearby(file, opts...), func(d *classad.Diagnostic) { warnings = append(warnings, d) })
	if err != nil {
		return nil, err
	}
	if f != JSON {
		opts = append(slices.Clip(opts), jdl.WithDialect(jdl.GLite))
	}
	set, err := jdl.FromRecords(file, src, ads, opts...)
	if err != nil {
		return nil, err
	}
	set.Warnings = slices.Concat(warnings, set.Warnings)
	return set, nil
}

// records reads another language than JDL: each job becomes a record.
func records(f Format, file string, src []byte, near *jdl.Nearby, warn func(*classad.Diagnostic)) ([]*classad.Ad, error) {
	switch f {
	case XRSL:
		return xrsl.Read(file, src, warn)
	case ADL:
		return adl.Read(file, src, warn)
	case Sbatch:
		return sbatch.Read(file, src, warn)
	case DAGMan:
		return condor.ReadDAG(file, src, near, warn)
	case Condor:
		return condor.Read(file, src, near, warn)
	}
	return classad.ReadJSON(file, src)
}

// Lint says all that is wrong or doubtful in a description, as jdl.Lint does
// of JDL; of other languages, what reading them finds.
func Lint(file string, src []byte, opts ...jdl.Option) []*classad.Diagnostic {
	found := alphabet(file, src)
	if Detect(src) == JDL {
		return append(found, jdl.Lint(file, src, opts...)...)
	}
	return append(found, jdl.Findings(ParseJobs(file, src, opts...))...)
}

// alphabet warns of a text in another alphabet than UTF-8. Its bytes go along as they are, where a computing element takes them.
func alphabet(file string, src []byte) []*classad.Diagnostic {
	at := classad.NotUTF8(src)
	if at < 0 || bytes.IndexByte(src, 0) >= 0 { // with NULs it is told as another file
		return nil
	}
	place := classad.Places{Src: string(src)}
	d := &classad.Diagnostic{Severity: classad.Warning, File: file, Pos: place.At(at), Code: "not-utf8",
		Msg: "the text is not UTF-8, and an ARC computing element does not take that", Hint: "save it as UTF-8"}
	return []*classad.Diagnostic{d.ShowLine(place.Src)}
}
