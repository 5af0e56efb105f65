package classad_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl/classad"
	"gridbroker/jdl/pcre"
	"gridbroker/testdata/testbed"
)

// Texts made to break a parser give a positioned error.
func TestHostileText(t *testing.T) {
	testbed.Computes(t)
	const n = 10 << 20
	for _, unit := range []string{"(", "[", "{", "[a=", "!", "-", "a?", "1?1:", "x.", "x[", "f(", "1+", "a&&", "a?:", "\"", "'", "\"\" ", "'a'\n", "/*", "{1,", "a=1;", "a==", "#", "\\", "\x00", "\xff", "1e", "[[", "{{1},"} {
		text := []byte(strings.Repeat(unit, n/len(unit)))
		for name, parse := range map[string]func() error{
			"expr": func() error { _, err := classad.ParseExpr("f", text); return err },
			"ad":   func() error { _, err := classad.ParseAd("f", append([]byte("[a="), text...)); return err },
			"read": func() error { _, err := classad.ReadAd("f", text); return err },
		} {
			start := testbed.Processor(t)
			err := parse()
			if took := testbed.Processor(t) - start; took > 20*time.Second {
				t.Errorf("%s of %q took %v", name, unit, took)
			}
			d, ok := errors.AsType[*classad.Diagnostic](err)
			if err != nil && (!ok || d.Pos.Line < 1 || d.Pos.Col < 1 || len(d.Error()) > 2000) {
				t.Errorf("%s of %q: %.300v", name, unit, err)
			}
			quote := strings.Trim(unit, " \n")
			if err == nil && quote[0] != '"' && quote[0] != '\'' && unit != "a=1;" && unit != "#" && unit != "\\" {
				t.Errorf("%s of %q: accepted", name, unit)
			}
		}
	}
}

// doubling is a record in which each attribute is made of two of the one
// before.
func doubling(start, format string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[a0 = %s;", start)
	for i := 1; i <= n; i++ {
		prev := fmt.Sprintf("a%d", i-1)
		fmt.Fprintf(&b, "a%d = %s;", i, strings.ReplaceAll(format, "@", prev))
	}
	return b.String() + "]"
}

// Expressions made to break an evaluator end soon, in bounded memory, with
// ERROR, or UNDEFINED where an attribute refers to itself.
func TestHostileEvaluation(t *testing.T) {
	testbed.Computes(t)
	tests := []struct{ name, ad, expr, want string }{
		{"self", "[A = A]", "A", "undefined"},
		{"self in list", "[A = {A}]", "A", "{ undefined }"},
		{"self in record", "[A = [B = A]]", "A.B.B.B", "[ B = A ]"},
		{"mutual", "[A = B + 1; B = A + 1]", "A", "undefined"},
		{"sum tower", doubling("1", "@ + @", 64), "a64", "error"},
		{"conditional tower", doubling("true", "@ ? @ : @", 64), "a64", "error"},
		{"list tower", doubling("{1}", "{@,@}", 64), "a64", "error"},
		{"string tower", doubling(`"x"`, "strcat(@,@)", 40), "a40", "error"},
		{"join tower", doubling(`"x"`, `join(@,@,@)`, 40), "a40", "error"},
		{"replace tower", doubling(`"x"`, `replaceAll("x",@,@)`, 40), "a40", "error"},
		{"eval of itself", `[A = eval("A")]`, "A", "undefined"},
		{"eval tower", doubling(`"1"`, `eval(strcat(string(@)," + ",string(@)))`, 64), "a64", "error"},
		{"anyMatch", doubling("{[x=1],[x=2]}", `whichMatch(@, anyMatch(@, target.x > 0))`, 40), "a40", "error"},
		{"long chain", chainOf(2000), "b0", "error"},
	}
	for _, c := range tests {
		ad, err := classad.ParseAd("", []byte(c.ad))
		if err != nil {
			t.Fatal(c.name, err)
		}
		e := mustExpr(t, c.expr)
		start := testbed.Processor(t)
		got := classad.UnparseValue(ad.Eval(e, nil))
		if got != c.want {
			t.Errorf("%s: got %.100s, want %s", c.name, got, c.want)
		}
		p := classad.Compile(e, ad, classad.NewTable([]*classad.Ad{classad.NewAd()}))
		if got := classad.UnparseValue(p.Eval(0)); got != c.want {
			t.Errorf("%s compiled: got %.100s, want %s", c.name, got, c.want)
		}
		if took := testbed.Processor(t) - start; took > 20*time.Second {
			t.Errorf("%s took %v", c.name, took)
		}
	}
	hostileRows(t)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.Sys > 3<<30 {
		t.Errorf("%d MB taken from the system", m.Sys>>20)
	}
}

// hostileRows evaluates such an expression for very many rows.
func hostileRows(t *testing.T) {
	ad, err := classad.ParseAd("", []byte(doubling("other.x", "@ + @", 64)))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]*classad.Ad, 100000)
	for i := range rows {
		rows[i] = classad.NewAd()
	}
	start := testbed.Processor(t)
	table := classad.NewTable(rows)
	p := classad.Compile(mustExpr(t, "a64 > 1"), ad, table)
	if m := p.Filter(allRows(table)); len(m) > 0 {
		t.Error("matches", len(m))
	}
	if took := testbed.Processor(t) - start; took > 60*time.Second {
		t.Errorf("many rows took %v", took)
	}
}

// TestSearchesShareAnAllowance: a pattern that goes back for ever costs a
// whole matching a bounded time, and says why it is ERROR.
func TestSearchesShareAnAllowance(t *testing.T) {
	testbed.Computes(t)
	rows := make([]*classad.Ad, 2000)
	for i := range rows {
		rows[i] = classad.NewAd()
		rows[i].Set("id", classad.NewLiteral(classad.StringValue(strings.Repeat("a", 40)+fmt.Sprint(i))))
	}
	table := classad.NewTable(rows)
	e := mustExpr(t, `regexp("(a*)*(a*)*b\\1$", other.id)`)
	start := testbed.Processor(t)
	p := classad.Compile(e, nil, table)
	if m := p.Filter(allRows(table)); len(m) > 0 {
		t.Errorf("%d rows match", len(m))
	}
	if !errors.Is(p.Err(), pcre.ErrSteps) {
		t.Errorf("the program says %v", p.Err())
	}
	x := classad.NewEvaluation(nil)
	for _, row := range rows {
		if v := x.Eval(e, row); !v.IsError() {
			t.Fatalf("%s is not an error", classad.UnparseValue(v))
		}
	}
	if took := testbed.Processor(t) - start; took > testbed.Paced(t, 2*time.Second) {
		t.Errorf("2,000 rows took %v, twice", took)
	}
	if !errors.Is(x.Err(), pcre.ErrSteps) {
		t.Errorf("the evaluation says %v", x.Err())
	}
	if harmless := mustExpr(t, `regexp("^a+19*$", other.id)`); !x.Eval(harmless, rows[19]).IsTrue() {
		t.Error("a harmless pattern after that is not searched for")
	}
}

// chainOf is b0 = b1, b1 = b2 and so on.
func chainOf(n int) string {
	var b strings.Builder
	b.WriteString("[")
	for i := range n {
		fmt.Fprintf(&b, "b%d = b%d;", i, i+1)
	}
	fmt.Fprintf(&b, "b%d = 1]", n)
	return b.String()
}

// Long but harmless: what people generate.
func TestLongExpressions(t *testing.T) {
	terms := make([]string, 4000)
	for i := range terms {
		terms[i] = fmt.Sprintf(`other.id == "ce%d"`, i)
	}
	e := mustExpr(t, strings.Join(terms, " || "))
	row, err := classad.ParseAd("", []byte(`[id = "CE3999"]`))
	if err != nil {
		t.Fatal(err)
	}
	if v := classad.NewAd().Eval(e, row); !v.IsTrue() {
		t.Error(classad.UnparseValue(v))
	}
	if m := classad.Compile(e, nil, classad.NewTable([]*classad.Ad{row})).Filter([]int32{0}); len(m) != 1 {
		t.Error(m)
	}
}

// A record has a bound of attributes, which is more than a DAG has nodes.
func TestManyAttributes(t *testing.T) {
	testbed.Computes(t)
	text := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a%d=1;", i)
		}
		return b.String()
	}
	many := text(1_000_000)
	for _, c := range []struct{ text, want string }{
		{many, "more than 100000 attributes"}, {"[" + many + "]", "more than 100000 attributes"}, {"a = [b = [" + many + "]]", "more than 100000 attributes"},
		{"nodes = [" + text(100_000) + "]", ""},
	} {
		testbed.Within(t, 10*time.Second, 120<<20, func() {
			if _, err := classad.ReadAd("f", []byte(c.text)); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%.20s: %.300v, want %q", c.text, err, c.want)
			}
		})
	}
}
