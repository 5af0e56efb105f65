package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
)

// evalCase is one line of a batch.
type evalCase struct {
	ID    json.RawMessage `json:"id"`
	Mode  string          `json:"mode"`
	Ad    string          `json:"ad"`
	Other string          `json:"other"`
	Expr  string          `json:"expr"`
}

// answer is a value, or how it failed, in the terms of the batch format.
type answer struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Mode   string          `json:"mode,omitempty"`
	T      string          `json:"t"`
	V      any             `json:"v,omitempty"`
	Secs   *float64        `json:"secs,omitempty"`
	Offset *int            `json:"offset,omitempty"` // seconds east of UTC
	N      *int            `json:"n,omitempty"`
	Names  []string        `json:"names,omitempty"`
}

// maxBatchLine limits one line of a batch, in bytes.
const maxBatchLine = 64 << 20

// evalBatch answers each line of standard input with one of its own.
func runEvalBatch(ctx context.Context, d *deps) error {
	in := bufio.NewScanner(d.env.In)
	in.Buffer(make([]byte, 0, 1<<16), maxBatchLine)
	out := bufio.NewWriter(d.env.Out)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for n := 1; in.Scan() && ctx.Err() == nil; n++ {
		if len(in.Bytes()) == 0 {
			continue
		}
		var c evalCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			out.Flush()
			return usageError(fmt.Errorf("line %d: %w", n, err))
		}
		ans := c.answer()
		ans.ID, ans.Mode = c.ID, c.Mode
		if err := enc.Encode(ans); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return usageError(fmt.Errorf("standard input: %w", err))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return ctx.Err()
}

func (c *evalCase) answer() answer {
	if c.Mode == "parsead" {
		return parsedAnswer(c.Expr)
	}
	left, err := recordOf(c.Ad)
	if err != nil {
		return answer{T: "ad-parse-error", V: firstLine(err)}
	}
	right, err := recordOf(c.Other)
	if err != nil {
		return answer{T: "ad-parse-error", V: firstLine(err)}
	}
	if c.Mode == "sym" {
		return symmetric(left, right, c.Expr)
	}
	e, err := classad.ParseExpr("", []byte(c.Expr))
	if err != nil {
		return answer{T: "parse-error", V: firstLine(err)}
	}
	switch c.Mode {
	case "unparse":
		return answer{T: "unparsed", V: classad.Unparse(e)}
	case "match":
		return answerOf(left.Eval(e, right))
	}
	return answerOf(left.Eval(e, nil))
}

// firstLine is a message without the source line below it.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func recordOf(text string) (*classad.Ad, error) {
	if text == "" {
		return classad.NewAd(), nil
	}
	return classad.ParseAd("", []byte(text))
}

func parsedAnswer(text string) answer {
	ad, err := classad.ParseAd("", []byte(text))
	if err != nil {
		return answer{T: "parse-error", V: firstLine(err)}
	}
	n := ad.Len()
	names := make([]string, 0, n)
	for _, at := range ad.Attrs() {
		names = append(names, at.Name)
	}
	slices.Sort(names)
	return answer{T: "parsed", N: &n, Names: names}
}

// symmetric answers for the attributes of a match of two records:
// leftMatchesRight is what the right one requires of the left.
func symmetric(left, right *classad.Ad, name string) answer {
	toLeft, toRight := right.EvalAttr("requirements", left), left.EvalAttr("requirements", right)
	verdicts := []classad.Value{toLeft, toRight}
	switch name {
	case "leftMatchesRight":
		verdicts = verdicts[:1]
	case "rightMatchesLeft":
		verdicts = verdicts[1:]
	}
	ok := true
	for _, v := range verdicts {
		yes, isTruth := truth(v)
		if !isTruth {
			return answer{T: "eval-failed"}
		}
		ok = ok && yes
	}
	return answer{T: "bool", V: ok}
}

// truth reads a boolean, or a number as one.
func truth(v classad.Value) (yes, ok bool) {
	if f, isNumber := v.Number(); isNumber {
		return f != 0, true
	}
	return v.Bool()
}

// answerOf writes a value in the terms of the batch format.
func answerOf(v classad.Value) answer {
	switch v.Kind() {
	case classad.Error:
		return answer{T: "error"}
	case classad.Bool:
		return answer{T: "bool", V: v.IsTrue()}
	case classad.Int:
		i, _ := v.Int()
		return answer{T: "int", V: i}
	case classad.Real:
		f, _ := v.Number()
		return answer{T: "real", V: realJSON(f)}
	case classad.String:
		s, _ := v.Str()
		return answer{T: "string", V: s}
	case classad.List:
		return listAnswer(v)
	case classad.Record:
		return recordAnswer(v)
	case classad.AbsTime, classad.RelTime:
		return timeAnswer(v)
	}
	return answer{T: "undefined"}
}

// realJSON is a number, or the name of one that JSON does not have.
func realJSON(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

func listAnswer(v classad.Value) answer {
	vs, _ := v.List()
	out := make([]answer, len(vs))
	for i, x := range vs {
		out[i] = answerOf(x)
	}
	return answer{T: "list", V: out}
}

func recordAnswer(v classad.Value) answer {
	out := map[string]answer{}
	if ad, ok := v.Record(); ok {
		for _, at := range ad.Attrs() {
			out[at.Name] = answerOf(v.Attr(at.Name))
		}
	}
	return answer{T: "ad", V: out}
}

func timeAnswer(v classad.Value) answer {
	if t, ok := v.AbsTime(); ok {
		_, offset := t.Zone()
		secs := float64(t.Unix()) + float64(t.Nanosecond())/1e9
		return answer{T: "abstime", Secs: &secs, Offset: &offset}
	}
	secs, _ := v.Seconds()
	return answer{T: "reltime", Secs: &secs}
}
