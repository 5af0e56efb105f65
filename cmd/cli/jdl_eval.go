package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/jdl/classad"
	"gridbroker/jdl/formats"
)

func jdlEvalCmd(d *deps) *cobra.Command {
	var ad, other string
	var batch bool
	cmd := &cobra.Command{
		Use:   "eval EXPRESSION...",
		Short: "Evaluate ClassAd expressions",
		Long: `Evaluates expressions and prints their values. With --ad they stand in that
record, with --other they are matched against that one, which they reach as
"other". Both are files, or a text that starts with "[". undefined and error are
values.

--batch reads JSON lines from standard input and answers each with one: id, mode
(eval, match, sym, unparse, parsead), ad, other and expr in; id, mode, t (the
kind: undefined, error, bool, int, real, string, list, ad, abstime, reltime,
parse-error, ad-parse-error, eval-failed, unparsed, parsed) and v (the value)
out, and secs and offset for times, n and names for parsead.`,
		Example: `  grid jdl eval '1 + 2 * 3'
  grid jdl eval --ad job.jdl --other '[GlueCEStateFreeCPUs = 4]' Requirements Rank
  grid jdl eval --batch < cases.jsonl > answers.jsonl`,
	}
	f := cmd.Flags()
	f.StringVar(&ad, "ad", "", "`record` the expressions stand in: a file or [...]")
	f.StringVar(&other, "other", "", "`record` of the other side: a file or [...]")
	f.BoolVar(&batch, "batch", false, "read cases as JSON lines from standard input, answer in JSON lines")
	cmd.Args = usageArgs(func(cmd *cobra.Command, args []string) error {
		if batch {
			return cobra.NoArgs(cmd, args)
		}
		return cobra.MinimumNArgs(1)(cmd, args)
	})
	cmd.RunE = func(cmd *cobra.Command, exprs []string) error {
		if batch {
			return runEvalBatch(cmd.Context(), d)
		}
		return runEval(d, ad, other, exprs)
	}
	return cmd
}

func runEval(d *deps, ad, other string, exprs []string) error {
	left, err := readRecord(d, ad)
	if err != nil {
		return err
	}
	var right classad.Scope // nil: no match
	if other != "" {
		rec, err := readRecord(d, other)
		if err != nil {
			return err
		}
		right = rec
	}
	var answers []answer
	for _, text := range exprs {
		e, err := classad.ParseExpr("", []byte(text), warnTo(d))
		if err != nil {
			return err
		}
		v := left.Eval(e, right)
		answers = append(answers, answerOf(v))
		if !d.json {
			sayOut(d, "%s", classad.UnparseValue(v))
		}
	}
	if d.json {
		return printJSON(d, "jdl.eval", valuesDocument{answers})
	}
	return nil
}

// warnTo prints warnings to standard error.
func warnTo(d *deps) classad.Option {
	return classad.WithWarnings(func(diag *classad.Diagnostic) { sayErr(d, "warning: %s", diag) })
}

// record reads a record: nothing, a text in brackets, or a file.
func readRecord(d *deps, s string) (*classad.Ad, error) {
	switch {
	case s == "":
		return classad.NewAd(), nil
	case strings.HasPrefix(strings.TrimSpace(s), "["):
		return classad.ReadAd("", []byte(s), warnTo(d))
	}
	name, text, err := readText(d, s)
	if err != nil {
		return nil, err
	}
	if formats.Detect(text) == formats.JSON {
		return classad.ParseAdJSON(name, text)
	}
	return classad.ReadAd(name, text, warnTo(d))
}
