package classad_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl/classad"
)

// oracleCase is a line of testdata/classad: what the ClassAd library of 2026
// (and, where it differs, that of 2011) answered.
type oracleCase struct {
	ID      string          `json:"id"`
	Mode    string          `json:"mode"`
	Ad      string          `json:"ad"`
	Other   string          `json:"other"`
	Expr    string          `json:"expr"`
	Want    json.RawMessage `json:"want"`
	WantOld json.RawMessage `json:"want_1_0_10"`
	Info    string          `json:"info"`
}

type answer struct {
	T      string          `json:"t"`
	V      json.RawMessage `json:"v"`
	Secs   float64         `json:"secs"`
	Offset int             `json:"offset"`
	Names  []string        `json:"names"`
}

// oldSide holds the cases where the two libraries differ and we follow the
// old one: number suffixes.
func (c oracleCase) oldSide() bool {
	var now, old answer
	if c.WantOld == nil || json.Unmarshal(c.Want, &now) != nil || json.Unmarshal(c.WantOld, &old) != nil {
		return false
	}
	return now.T == "parse-error" && (old.T == "real" || old.T == "unparsed" && !strings.Contains(c.Expr, "0x"))
}

func TestOracle(t *testing.T) {
	files, err := filepath.Glob("../../testdata/classad/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	utc(t)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".jsonl"), func(t *testing.T) {
			bad, n := 0, 0
			for _, c := range readCases(t, name) {
				if c.Info != "" {
					continue
				}
				n++
				want := c.Want
				if c.oldSide() {
					want = c.WantOld
				}
				if got := c.run(); !agrees(t, got, want) {
					if bad++; bad <= 1000 {
						t.Errorf("%s %s %s\n got %s\nwant %s", c.ID, c.Mode, c.Expr, show(got), want)
					}
				}
			}
			t.Logf("%d of %d", n-bad, n)
		})
	}
}

// utc makes UTC the local time zone, which the answers were taken in.
func utc(t *testing.T) {
	t.Helper()
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
}

func readCases(t *testing.T, name string) []oracleCase {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []oracleCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c oracleCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// result is what we answer: a value, or a parse error or text in kind.
type result struct {
	kind  string
	value classad.Value
	text  string
	names []string
}

func (c oracleCase) run() result {
	if c.Mode == "parsead" {
		ad, err := classad.ParseAd(c.ID, []byte(c.Expr))
		if err != nil {
			return result{kind: "parse-error"}
		}
		r := result{kind: "parsed"}
		for _, a := range ad.Attrs() {
			r.names = append(r.names, a.Name)
		}
		slices.Sort(r.names)
		return r
	}
	ad, err := parseOrEmpty(c.Ad)
	if err != nil {
		return result{kind: "ad-parse-error"}
	}
	other, err := parseOrEmpty(c.Other)
	if err != nil {
		return result{kind: "ad-parse-error"}
	}
	e, err := classad.ParseExpr(c.ID, []byte(c.Expr))
	if err != nil {
		return result{kind: "parse-error"}
	}
	switch c.Mode {
	case "unparse":
		return result{kind: "unparsed", text: classad.Unparse(e)}
	case "match":
		return result{value: ad.Eval(e, other)}
	case "sym":
		return result{value: symmetric(ad, other, c.Expr)}
	}
	return result{value: ad.Eval(e, nil)}
}

func parseOrEmpty(s string) (*classad.Ad, error) {
	if s == "" {
		return classad.NewAd(), nil
	}
	return classad.ParseAd("", []byte(s))
}

func symmetric(left, right *classad.Ad, name string) classad.Value {
	truth := func(v classad.Value) classad.Value {
		if f, ok := v.Number(); ok {
			return classad.BoolValue(f != 0)
		}
		if _, ok := v.Bool(); ok {
			return v
		}
		return classad.ErrorValue()
	}
	switch name {
	case "leftMatchesRight":
		return truth(right.EvalAttr("requirements", left))
	case "rightMatchesLeft":
		return truth(left.EvalAttr("requirements", right))
	}
	a, b := truth(right.EvalAttr("requirements", left)), truth(left.EvalAttr("requirements", right))
	return classad.NewAd().Eval(classad.And(classad.NewLiteral(a), classad.NewLiteral(b)), nil)
}

func agrees(t *testing.T, got result, raw json.RawMessage) bool {
	t.Helper()
	var w answer
	if err := json.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	switch w.T {
	case "parse-error", "ad-parse-error":
		return got.kind == w.T
	case "unparsed":
		var s string
		return json.Unmarshal(w.V, &s) == nil && got.kind == w.T && got.text == s
	case "parsed":
		return got.kind == w.T && slices.Equal(got.names, w.Names)
	}
	return got.kind == "" && sameValue(t, got.value, w)
}

func sameValue(t *testing.T, v classad.Value, w answer) bool {
	t.Helper()
	switch w.T {
	case "undefined":
		return v.IsUndefined()
	case "error", "eval-failed":
		return v.IsError()
	case "bool":
		b, ok := v.Bool()
		return ok && fmt.Sprint(b) == string(w.V)
	case "int":
		i, ok := v.Int()
		return ok && fmt.Sprint(i) == string(w.V)
	case "real":
		f, ok := v.Number()
		var want float64
		return ok && v.Kind() == classad.Real && json.Unmarshal(w.V, &want) == nil && math.Abs(f-want) <= 1e-12*math.Abs(want)
	case "string":
		var s string
		got, ok := v.Str()
		return ok && json.Unmarshal(w.V, &s) == nil && strings.ToValidUTF8(got, "\uFFFD") == s
	case "abstime":
		tm, ok := v.AbsTime()
		_, off := tm.Zone()
		return ok && float64(tm.Unix()) == w.Secs && off == w.Offset
	case "reltime":
		f, ok := v.Seconds()
		return ok && v.Kind() == classad.RelTime && math.Abs(f-w.Secs) < 1e-6
	case "list":
		return sameList(t, v, w.V)
	case "ad":
		return sameRecord(t, v, w.V)
	}
	t.Fatalf("unknown answer %q", w.T)
	return false
}

func sameList(t *testing.T, v classad.Value, raw json.RawMessage) bool {
	var want []answer
	got, ok := v.List()
	if err := json.Unmarshal(raw, &want); err != nil || !ok || len(got) != len(want) {
		return false
	}
	for i := range want {
		if !sameValue(t, got[i], want[i]) {
			return false
		}
	}
	return true
}

func sameRecord(t *testing.T, v classad.Value, raw json.RawMessage) bool {
	var want map[string]answer
	ad, ok := v.Record()
	if err := json.Unmarshal(raw, &want); err != nil || !ok || ad.Len() != len(want) {
		return false
	}
	for name, w := range want {
		if !sameValue(t, v.Attr(name), w) {
			return false
		}
	}
	return true
}

func show(r result) string {
	if r.kind != "" {
		return r.kind + " " + r.text + strings.Join(r.names, ",")
	}
	return classad.UnparseValue(r.value)
}
