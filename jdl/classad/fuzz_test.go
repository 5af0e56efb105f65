package classad_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

func seedExprs(f *testing.F) {
	for _, s := range []string{
		`RegExp(".*x$", other.GlueCEUniqueID) && Member("T", other.Tags) && other.N >= 1500`,
		`a ? b : c ?: d.e[1].f`, `-1K - !x =?= {1, "a\n\101", [b = .c]}`, `absTime("2009-01-02T03:04:05Z") - relTime("1d2h")`,
		`'quoted name'.x isnt undefined || error`, `anyMatch(other.s, target.f > 1)`, `eval("1 + a")`, `0x1F % 010`,
	} {
		f.Add(s)
	}
}

// FuzzExpr: what parses is printed so that it parses to the same again, and
// it evaluates to a value.
func FuzzExpr(f *testing.F) {
	seedExprs(f)
	f.Fuzz(func(t *testing.T, s string) {
		e, err := classad.ParseExpr("f", []byte(s))
		if err != nil {
			positioned(t, err)
			return
		}
		text := classad.Unparse(e)
		again, err := classad.ParseExpr("f", []byte(text))
		if err != nil {
			t.Fatalf("%q prints as %q: %v", s, text, err)
		}
		if second := classad.Unparse(again); !sameText(text, second) {
			t.Fatalf("%q prints as %q and then as %q", s, text, second)
		}
		classad.NewAd().Eval(e, nil)
	})
}

// sameText compares without the minus signs of constants: a printed "- 1" is
// read as the constant -1, and -0 as 0.
func sameText(a, b string) bool {
	drop := strings.NewReplacer(" ", "", "-", "")
	return drop.Replace(a) == drop.Replace(b)
}

// FuzzAd: both readers, and that the tolerant one takes what the exact one
// does and understands it in the same way.
func FuzzAd(f *testing.F) {
	files, err := filepath.Glob("../../testdata/classad/jdlshape.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("# c\nExecutable = \"ls\";\nArguments = \"-l\" \\\n\"x\";\nInputSandbox = {\"a\",\u00a0\"b\",};")
	f.Add(`[a = 1; b = {1, "x", true}; c = a + 1; 'd e' = "\t"; A = 2K;]`)
	f.Fuzz(func(t *testing.T, s string) {
		loose, looseErr := classad.ReadAd("f", []byte(s))
		exact, err := classad.ParseAd("f", []byte(s))
		if looseErr != nil {
			positioned(t, looseErr)
		}
		if err != nil {
			positioned(t, err)
			return
		}
		if looseErr != nil {
			t.Fatalf("%q: ParseAd takes it, ReadAd says %v", s, looseErr)
		}
		if exact.Len() != loose.Len() {
			t.Fatalf("%q: %d attributes, %d for ReadAd", s, exact.Len(), loose.Len())
		}
		text := classad.Unparse(exact)
		again, err := classad.ParseAd("f", []byte(text))
		if err != nil || !sameText(classad.Unparse(again), text) || classad.Unparse(exact.Clone()) != text {
			t.Fatalf("%q prints as %q: %v", s, text, err)
		}
	})
}

// FuzzEval: the compiled program gives what the evaluator gives.
func FuzzEval(f *testing.F) {
	seedExprs(f)
	f.Add(`other.num > mem && want && member("ab", other.tags) && regexp("^a", other.text)`)
	f.Add(`other.text == "ab" || "x" == other.text || other.num == 1 || other.num == 2 || other.odd == 2`)
	f.Add(`other.mixed != "a" && other.mixed != "b" && other.num != 1 && 2 != other.num`)
	f.Add(`quantize(other.num, {1, 2}) < max(other.tags) && allCompare("<", {other.num}, versioncmp(other.text, "1"))`)
	f.Add(`other.mixed == 1 || other.odd =!= cycle && !chain`)
	self, err := classad.ParseAd("own", []byte(ownAd))
	if err != nil {
		f.Fatal(err)
	}
	var ads []*classad.Ad
	for _, s := range []string{
		`[num = 1; Real = 1.5; text = "AB"; tags = {"ab", 1}; flag = true; mixed = "a"; odd = other.mem; GlueCEUniqueID = "x"; Tags = {"T"}; N = 1500]`,
		`[num = "1"; text = 1; tags = "ab"; flag = 1; mixed = {1}; odd = num; s = {[f = 2], [f = 0]}]`, `[]`,
	} {
		ad, err := classad.ParseAd("", []byte(s))
		if err != nil {
			f.Fatal(err)
		}
		ads = append(ads, ad)
	}
	table := classad.NewTable(ads)
	f.Fuzz(func(t *testing.T, s string) {
		e, err := classad.ParseExpr("f", []byte(s))
		if err != nil || !repeatable(e) {
			return
		}
		start := testbed.Processor(t)
		defer func() {
			if took := testbed.Processor(t) - start; took > 3*time.Second && took > testbed.Paced(t, 3*time.Second) {
				t.Fatalf("%q took %v", s, took)
			}
		}()
		sameVerdicts(t, s, e, self, ads, table)
	})
}

// sameVerdicts compares the compiled expression with the evaluator, row by row.
func sameVerdicts(t *testing.T, text string, e classad.Expr, self *classad.Ad, ads []*classad.Ad, table *classad.Table) {
	t.Helper()
	p := classad.Compile(e, self, table)
	matched := map[int32]bool{}
	for _, r := range p.Filter(allRows(table)) {
		matched[r] = true
	}
	for r, ad := range ads {
		want := self.Eval(e, ad)
		if got := p.Eval(r); classad.UnparseValue(got) != classad.UnparseValue(want) || matched[int32(r)] != want.IsTrue() {
			t.Fatalf("%.200q row %d: compiled %s, match %v; evaluator %s", text, r, classad.UnparseValue(got), matched[int32(r)], classad.UnparseValue(want))
		}
	}
}

// repeatable leaves out what may differ from one moment to the next.
func repeatable(e classad.Expr) bool {
	ok := true
	classad.Walk(e, func(e classad.Expr) bool {
		if c, isCall := e.(*classad.Call); isCall {
			switch strings.ToLower(c.Name) {
			case "time", "currenttime", "timezoneoffset", "daytime", "abstime", "formattime", "random", "eval":
				ok = false
			}
		}
		return ok
	})
	return ok
}

func positioned(t *testing.T, err error) {
	t.Helper()
	d, ok := errors.AsType[*classad.Diagnostic](err)
	if !ok || d.Pos.Line < 1 || d.Pos.Col < 1 || d.Msg == "" {
		t.Fatalf("no position: %v", err)
	}
}
