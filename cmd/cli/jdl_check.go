package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/formats"
)

// checkedFile is one file of the answer.
type checkedFile struct {
	File     string    `json:"file"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Problems []problem `json:"problems"`
}

// problem is one finding. Line and column count from 1; 0 is the whole file.
type problem struct {
	Severity string `json:"severity"` // "error" or "warning"
	Code     string `json:"code"`
	File     string `json:"file"` // another one for a node's file
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Source   string `json:"source,omitempty"` // the line it is in
}

func jdlCheckCmd(d *deps) *cobra.Command {
	var strict, noFiles bool
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say what is wrong or doubtful in job descriptions",
		Long: `Reads JDL, xRSL or ADL ("-": standard input) and says all that is wrong with
it, with line and column: broken rules and missing files, and also what is legal
and probably not meant: unknown attributes, clauses of Requirements that never
hold, seconds where minutes count, missing quotes, lost backslashes.

The exit code is 0 when there are no errors, 2 when there are.`,
		Example: `  grid jdl check job.jdl
  grid jdl check --strict --json *.jdl`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "warnings count as errors")
	cmd.Flags().BoolVar(&noFiles, "no-files", false, "do not look whether the input files exist")
	dialect := dialectFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, paths []string) error {
		dialect, err := parseDialect(*dialect)
		if err != nil {
			return err
		}
		opts := []jdl.Option{jdl.WithDialect(dialect)}
		if noFiles {
			opts = append(opts, jdl.WithoutFiles())
		}
		return runCheck(d, paths, opts, strict)
	}
	return cmd
}

func runCheck(d *deps, paths []string, opts []jdl.Option, strict bool) error {
	files := []checkedFile{}
	bad := 0
	for _, path := range paths {
		name, text, err := readText(d, path)
		found := []*classad.Diagnostic{{Severity: classad.Fatal, File: name, Code: "read"}}
		if err == nil {
			found = formats.Lint(name, text, append(jobOptions(d, path), opts...)...)
		} else {
			found[0].Msg = strings.TrimPrefix(err.Error(), name+": ")
		}
		f := checked(name, found)
		files = append(files, f)
		bad += f.Errors
		if strict {
			bad += f.Warnings
		}
		switch {
		case d.json:
		case err != nil:
			sayErr(d, "%v", err)
		default:
			printChecked(d, f, found)
		}
	}
	if d.json {
		if err := printJSON(d, "jdl.check", checkDocument{files}); err != nil {
			return err
		}
	}
	if bad > 0 {
		return &exitError{exitUsage, errReported}
	}
	return nil
}

func checked(name string, found []*classad.Diagnostic) checkedFile {
	f := checkedFile{File: name, Problems: []problem{}}
	for _, d := range found {
		p := problem{Severity: "warning", Code: d.Code, File: d.File, Line: d.Pos.Line, Column: d.Pos.Col,
			Message: d.Msg, Hint: d.Hint, Source: d.Line}
		f.Warnings++
		if d.Severity == classad.Fatal {
			p.Severity = "error"
			f.Errors++
			f.Warnings--
		}
		f.Problems = append(f.Problems, p)
	}
	return f
}

func printChecked(d *deps, f checkedFile, found []*classad.Diagnostic) {
	for i, diag := range found {
		sayOut(d, "%s: %s", f.Problems[i].Severity, diag)
	}
	if len(found) == 0 {
		sayOut(d, "%s: no problems", f.File)
		return
	}
	sayOut(d, "%s: %s, %s", f.File, count(f.Errors, "error"), count(f.Warnings, "warning"))
}

// count is "1 error" or "3 errors".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strings.TrimSpace(fmt.Sprintf("%d %ss", n, what))
}
