package classad_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

// generator makes random expressions over a small vocabulary, so that names
// meet, kinds clash and everything is UNDEFINED often enough.
type generator struct{ *rand.Rand }

func (g generator) one(choices ...string) string { return choices[g.IntN(len(choices))] }

var (
	theirNames = []string{"num", "Real", "text", "tags", "flag", "mixed", "none", "odd", "rec", "self", "other", "deep"}
	ownNames   = []string{"mem", "name", "want", "cycle", "chain", "List", "both", "my", "missing"}
)

func (g generator) expr(depth int) string {
	if depth == 0 || g.IntN(6) == 0 {
		return g.leaf()
	}
	sub := func() string { return g.expr(depth - 1) }
	switch g.IntN(13) {
	case 12:
		return "(" + g.chain(sub) + ")"
	case 0, 1:
		return "(" + sub() + g.one(" && ", " || ") + sub() + ")"
	case 2, 3:
		return "(" + sub() + g.one(" < ", " <= ", " == ", " != ", " >= ", " > ", " =?= ", " =!= ") + sub() + ")"
	case 4:
		return "(" + sub() + g.one(" + ", " - ", " * ", " / ", " % ", " & ", " << ") + sub() + ")"
	case 5:
		return g.one("!", "-", "+", "~") + "(" + sub() + ")"
	case 6:
		return "(" + sub() + " ? " + sub() + " : " + sub() + ")"
	case 7:
		return "(" + sub() + " ?: " + sub() + ")"
	case 8:
		return g.one("isUndefined", "isError", "size", "int", "toLower", "string", "bool", "sum", "isList") + "(" + sub() + ")"
	case 9:
		return g.one("member", "regexp", "strcmp", "strcat", "identicalMember", "isMember") + "(" + sub() + "," + sub() + ")"
	case 10:
		return fmt.Sprintf("regexp(%s, other.%s)", g.one(`"a"`, `"^A.*"`, `"(?i)B"`, `".b$"`, `"("`), g.one(theirNames...))
	}
	return "{" + sub() + "," + sub() + "}" + g.one("", "[0]", "[1]")
}

// chain is a list of constants that an attribute is compared with, and a few
// terms that are no such thing.
func (g generator) chain(sub func() string) string {
	join, op := " || ", " == "
	if g.IntN(2) == 0 {
		join, op = " && ", " != "
	}
	name := g.one("other.", "target.") + g.one(theirNames...)
	var terms []string
	for range 2 + g.IntN(6) {
		constant := g.one(`"a"`, `"AB"`, `"b"`, "1", "2", "true", "1.5")
		switch g.IntN(8) {
		case 0:
			terms = append(terms, sub())
		case 1:
			terms = append(terms, constant+op+name)
		case 2:
			name = "other." + g.one(theirNames...)
		default:
			terms = append(terms, name+op+constant)
		}
	}
	return strings.Join(append(terms, name+op+`"ab"`), join)
}

func (g generator) leaf() string {
	switch g.IntN(8) {
	case 0, 1, 2:
		return g.one("other.", "target.", "OTHER.") + g.one(theirNames...)
	case 3:
		return g.one("", "", "my.", "self.") + g.one(ownNames...)
	case 4:
		return g.one(`"a"`, `"AB"`, `"ab"`, `""`)
	case 5:
		return g.one("0", "1", "2", "10", "1.5", "-1")
	case 6:
		return g.one("true", "false", "undefined", "error")
	}
	return g.one(`member("ab", other.tags)`, `other.num >= 2`, `other.text == "ab"`, `other.rec.v`, `"A" == other.text`)
}

const ownAd = `[mem = 2; name = "ab"; want = other.num > mem; cycle = other.num + cycle; chain = want && name == other.text;
	List = {1, "ab", other.text}; both = other.other.mem]`

// rowAds are the resources as records; rowScopes the same known by name only.
func rowAds(t testing.TB, g generator, n int) []*classad.Ad {
	ads := make([]*classad.Ad, n)
	for i := range ads {
		text := fmt.Sprintf(`[num = %s; Real = %s; text = %s; tags = %s; flag = %s; mixed = %s; odd = %s; rec = [v = num]; deep = %s]`,
			g.one("0", "1", "2", "3", "undefined"), g.one("1.5", "2", "-0.5"), g.one(`"ab"`, `"AB"`, `"b"`, `""`, "1"),
			g.one(`{"ab","x"}`, `{}`, `{"AB",1}`, `"ab"`, `{undefined,error}`), g.one("true", "false", "1"),
			g.one("1", `"a"`, "{1}", "error", "undefined", "true"), g.one("num + 1", "other.mem", "other.want", "{num}"),
			g.one("other.chain", "self.num", "parent.other.name", "other.deep"))
		ad, err := classad.ParseAd("row", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ads[i] = ad
	}
	return ads
}

// byName hides that a row is a record.
type byName struct{ ad *classad.Ad }

func (b byName) Lookup(name string) (classad.Value, bool) { return b.ad.Lookup(name) }

func TestCompiledAgainstEvaluator(t *testing.T) {
	testbed.Computes(t)
	for seed := range uint64(60) {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		self, err := classad.ParseAd("own", []byte(ownAd))
		if err != nil {
			t.Fatal(err)
		}
		ads := rowAds(t, g, 9)
		scopes := make([]byName, len(ads))
		for i, ad := range ads {
			scopes[i] = byName{ad}
		}
		tables := []*classad.Table{classad.NewTable(ads), classad.NewTable(scopes)}
		for range 150 {
			text := g.expr(3)
			for range g.IntN(3) {
				text += " && " + g.expr(2)
			}
			compareWithEvaluator(t, self, text, tables, ads, scopes)
		}
	}
}

func compareWithEvaluator(t *testing.T, self *classad.Ad, text string, tables []*classad.Table, ads []*classad.Ad, scopes []byName) {
	t.Helper()
	e, err := classad.ParseExpr("", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for k, table := range tables {
		p := classad.Compile(e, self, table)
		matched := map[int32]bool{}
		for _, r := range p.Filter(allRows(table)) {
			matched[r] = true
		}
		for r := range table.Len() {
			var other classad.Scope = ads[r]
			if k == 1 {
				other = scopes[r]
			}
			want := self.Eval(e, other)
			if got := p.Eval(r); classad.UnparseValue(got) != classad.UnparseValue(want) || matched[int32(r)] != want.IsTrue() {
				t.Fatalf("%s\nrow %d %s\ncompiled %s, match %v; evaluator %s", text, r, classad.Unparse(ads[r]),
					classad.UnparseValue(got), matched[int32(r)], classad.UnparseValue(want))
			}
		}
	}
}

// allRows numbers the rows of a table.
func allRows(t *classad.Table) []int32 {
	rows := make([]int32, t.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}
