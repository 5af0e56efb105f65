package classad_test

import (
	"fmt"
	"strings"
	"testing"

	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

// TestProgramsTogether: what the programs of one evaluation compile to is bounded for all together, and so is what they and the
// evaluation spend; the answers beyond the first bound stay the same, those beyond the second are ERROR for all.
func TestProgramsTogether(t *testing.T) {
	testbed.Computes(t)
	terms := make([]string, 20_000)
	for i := range terms {
		terms[i] = fmt.Sprintf("other.x + %d > 0", i)
	}
	self, err := classad.ParseAd("", []byte("[big = "+strings.Join(terms, " || ")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	ad, err := classad.ParseAd("", []byte("[x = 1]"))
	if err != nil {
		t.Fatal(err)
	}
	table, eval := classad.NewTable([]*classad.Ad{ad}), classad.NewEvaluation(self)
	expr := func(text string) classad.Expr {
		e, err := classad.ParseExpr("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	small := expr("other.x == 1")
	for range 2 * classad.MaxTotal / classad.MaxNodes {
		p := eval.Compile(small, table)
		if over := eval.Nodes() > classad.MaxTotal; p.Plain() != over || !p.Eval(0).IsTrue() {
			t.Errorf("%d nodes: left to the reference evaluator: %v, %v", eval.Nodes(), p.Plain(), p.Eval(0))
		}
		if p := eval.Compile(expr("big"), table); !p.Eval(0).IsTrue() {
			t.Errorf("%d nodes: %v", eval.Nodes(), p.Eval(0))
		}
	}
	if n := eval.Nodes(); n < classad.MaxTotal {
		t.Errorf("%d nodes", n)
	}
	waste := expr("size({ " + strings.Repeat("big, ", 20) + "big }) < 0")
	for range 1000 { // a program's steps are the evaluation's, and those of its other programs
		if eval.Compile(waste, table).Eval(0).IsError() {
			break
		}
	}
	if v := eval.Eval(small, ad); !v.IsError() {
		t.Errorf("after very many steps: %v", v)
	}
}

// TestSearchesOfProgramsTogether: programs of one evaluation, and the evaluation itself, share what their regular expressions may take
// that go back for ever.
func TestSearchesOfProgramsTogether(t *testing.T) {
	testbed.Computes(t)
	ad := classad.NewAd()
	ad.Set("id", classad.NewLiteral(classad.StringValue(strings.Repeat("a", 40))))
	table, eval := classad.NewTable([]*classad.Ad{ad}), classad.NewEvaluation(nil)
	spent := 0
	for i := range 100 {
		e := mustExpr(t, fmt.Sprintf(`regexp("(a*)*(a*)*b%d\\1$", other.id)`, i))
		eval.Compile(e, table).Eval(0)
		if err := eval.Err(); err != nil {
			spent++
		}
	}
	if harmless := mustExpr(t, `regexp("^a+$", other.id)`); spent == 0 || !eval.Compile(harmless, table).Eval(0).IsTrue() {
		t.Errorf("the evaluation knows of %d programs that searched for too long", spent)
	}
}
