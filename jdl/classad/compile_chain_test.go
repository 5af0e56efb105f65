package classad_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

// TestLongChains compares both evaluators on lists of 20,000 names, which the
// rows meet in the middle, at the end, or not at all.
func TestLongChains(t *testing.T) {
	testbed.Computes(t)
	const n = 20000
	chain := func(join, format string) string {
		terms := make([]string, n)
		for i := range terms {
			terms[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(terms, join)
	}
	var ads []*classad.Ad
	for _, name := range []string{`"ce777.example"`, `"CE19999.Example"`, `"ce20000.example"`, "777", "777.0", "1.5", "true", "{777}", "undefined", "error", "other.mine"} {
		ad, err := classad.ParseAd("", []byte("[x = "+name+"; y = 1]"))
		if err != nil {
			t.Fatal(err)
		}
		ads = append(ads, ad)
	}
	self, err := classad.ParseAd("", []byte(`[mine = "ce5.example"]`))
	if err != nil {
		t.Fatal(err)
	}
	table := classad.NewTable(ads)
	for _, text := range []string{
		chain(" || ", `other.x == "ce%d.example"`), chain(" && ", `"ce%d.example" != other.x`), chain(" || ", `other.x == %d`),
		chain(" && ", `other.x != %d`), chain(" || ", `other.x == "ce%d.example"`) + " || other.y == 1",
		chain(" && ", `other.y + %d > 0`), "(" + chain(" || ", `other.x == "ce%d.example"`) + ") && other.y == 1",
	} {
		e := mustExpr(t, text)
		sameVerdicts(t, text, e, self, ads, table)
		if got, err := classad.ParseExpr("again", []byte(classad.Unparse(e))); err != nil || classad.Unparse(got) != classad.Unparse(e) {
			t.Errorf("%.60s does not survive printing: %v", text, err)
		}
	}
}

// TestChains compares both evaluators on short chains of all sorts.
func TestChains(t *testing.T) {
	testbed.Computes(t)
	g := generator{rand.New(rand.NewPCG(7, 8))}
	self, err := classad.ParseAd("own", []byte(ownAd))
	if err != nil {
		t.Fatal(err)
	}
	ads := rowAds(t, g, 40)
	table := classad.NewTable(ads)
	for range 3000 {
		text := g.chain(func() string { return g.expr(1) })
		e := mustExpr(t, text)
		p := classad.Compile(e, self, table)
		for r, ad := range ads {
			want, got := self.Eval(e, ad), p.Eval(r)
			if classad.UnparseValue(got) != classad.UnparseValue(want) {
				t.Fatalf("%s row %d: compiled %s, evaluator %s", text, r, classad.UnparseValue(got), classad.UnparseValue(want))
			}
		}
	}
}
