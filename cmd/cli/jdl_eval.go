package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/jdl/classad"
	"gridbroker/jdl/formats"
)

func (a *app) jdlEvalCmd() *cobra.Command {
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
			return a.evalBatch(cmd.Context())
		}
		return a.jdlEval(ad, other, exprs)
	}
	return cmd
}

func (a *app) jdlEval(ad, other string, exprs []string) error {
	left, err := a.record(ad)
	if err != nil {
		return err
	}
	var right classad.Scope // nil: no match
	if other != "" {
		rec, err := a.record(other)
		if err != nil {
			return err
		}
		right = rec
	}
	var answers []answer
	for _, text := range exprs {
		e, err := classad.ParseExpr("", []byte(text), a.warnTo())
		if err != nil {
			return err
		}
		v := left.Eval(e, right)
		answers = append(answers, answerOf(v))
		if !a.json {
			fmt.Fprintln(a.env.Out, classad.UnparseValue(v))
		}
	}
	if a.json {
		return a.printJSON("jdl.eval", map[string]any{"values": answers})
	}
	return nil
}

// warnTo prints warnings to standard error.
func (a *app) warnTo() classad.Option {
	return classad.WithWarnings(func(d *classad.Diagnostic) { fmt.Fprintf(a.env.Err, "grid: warning: %s\n", d) })
}

// record reads a record: nothing, a text in brackets, or a file.
func (a *app) record(s string) (*classad.Ad, error) {
	switch {
	case s == "":
		return classad.NewAd(), nil
	case strings.HasPrefix(strings.TrimSpace(s), "["):
		return classad.ReadAd("", []byte(s), a.warnTo())
	}
	name, text, err := a.readText(s)
	if err != nil {
		return nil, err
	}
	if formats.Detect(text) == formats.JSON {
		return classad.ParseAdJSON(name, text)
	}
	return classad.ReadAd(name, text, a.warnTo())
}
