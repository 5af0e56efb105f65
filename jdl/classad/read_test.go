package classad_test

import (
	"strings"
	"testing"

	"gridbroker/jdl/classad"
)

// What users write in files: how it is understood, and what is said about it.
func TestReadAd(t *testing.T) {
	tests := []struct{ text, want, codes string }{
		{"A = 1", "[ A = 1 ]", ""},
		{"A = 1;\nB = 2;\n", "[ A = 1; B = 2 ]", ""},
		{"[ A = 1 ];", "[ A = 1 ]", "after-record"},
		{"\ufeffA = 1;\r\nB = 2;\r\n", "[ A = 1; B = 2 ]", ""},
		{"\t# c\nA = 1; # d\n// e\n", "[ A = 1 ]", ""},
		{`A = "# no comment";`, `[ A = "# no comment" ]`, ""},
		{"A\u00a0= 1;", "[ A = 1 ]", "no-break-space"},
		{"A = 1 + \\\n 2;", "[ A = 1 + 2 ]", "continuation"},
		{"A = {1, 2,};", "[ A = { 1,2 } ]", "trailing-comma"},
		{`A = {"x" "y"};`, `[ A = { "xy" } ]`, "joined-strings"},
		{"A = 1; a = 2;", "[ A = 2 ]", "duplicate"},
		{"A = 0.;", "[ A = 0.0 ]", "number"},
		{"A = 010;", "[ A = 10 ]", "octal"},
		{"A = \"x\ny\";", `[ A = "x y" ]`, "line-break"},
		{`A = RegExp("\d+", other.x);`, `[ A = RegExp("d+",other.x) ]`, "lost-backslash"},
		{`A = RegExp("*.ch", other.x);`, `[ A = RegExp("*.ch",other.x) ]`, "bad-pattern"},
		{`A = isMember(1, {1});`, `[ A = Member(1,{ 1 }) ]`, "is-member"},
		{`A = Membr(1, {1});`, `[ A = Membr(1,{ 1 }) ]`, "unknown-function"},
		{`A = member(1);`, `[ A = member(1) ]`, "arguments"},
		{"Parameters.x = {1};", "[ 'Parameters.x' = { 1 } ]", "dotted-name"},
		{"", "[  ]", ""},
	}
	for _, c := range tests {
		var codes []string
		ad, err := classad.ReadAd("f", []byte(c.text), classad.WithWarnings(func(d *classad.Diagnostic) { codes = append(codes, d.Code) }))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := classad.Unparse(ad); got != c.want || strings.Join(codes, " ") != c.codes {
			t.Errorf("%q: got %s %v, want %s %s", c.text, got, codes, c.want, c.codes)
		}
	}
}

// What is refused, and the advice given.
func TestReadAdErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"A = 1\nB = 2;", `f:2:1: unexpected "B" after the value of A (is a ; missing at the end of A?)`},
		{"A = 24h;", `f:1:7: unexpected "h" after the value of A (a value with a unit is a string, "24h")`},
		{"A = 2.5GB;", `f:1:9: unexpected "B" after the value of A (a value with a unit is a string, "2.5GB")`},
		{"A = 24:00:00;", `f:1:7: unexpected ":" after the value of A (a value with a unit is a string, "24:00:00")`},
		{"A = 24 h;", `f:1:8: unexpected "h" after the value of A (is a ; missing at the end of A?)`},
		{"A = “x”;", `f:1:5: typographic quote “ (write ")`},
		{"A = other.x = 1;", `f:1:13: unexpected "=" after the value of A (equality is ==)`},
		{"A = other.x => 1;", `f:1:13: unexpected "=" after the value of A (write >=)`},
		{"A = other.x <> 1;", `f:1:14: unexpected ">" where a value should be (write !=)`},
		{"A = other.x AND 1;", `f:1:13: unexpected "AND" after the value of A (write &&)`},
		{"A = {1; 2};", `f:1:7: unexpected ";" in a list (the elements of a list are separated by commas)`},
		{"A = (1, 2);", `f:1:7: unexpected "," in parentheses (a list is written { a, b })`},
		{`A = ["a", "b"];`, `f:1:6: expected a name of an attribute, found "\"a\"" (a list is written { a, b }; a name has no quotes, or single ones)`},
		{"true = 1;", `f:1:1: true is a keyword (a name of that spelling is written 'true')`},
		{`A = "x;`, `f:1:5: string is not closed (" is missing)`},
		{"[ A = 1;", `f:1:1: [ is not closed (] is missing at the end)`},
		{"A = 1; ]", `f:1:8: expected a name of an attribute, found "]"`},
		{"A = 99999999999999999999;", `f:1:5: number 99999999999999999999 does not fit in 64 bits`},
		{`A = absTime("soon");`, `f:1:13: bad time "soon" (write absTime("2009-01-02T03:04:05Z") or relTime("1+02:03:04"))`},
		{"A = f(1", `f:1:8: expected ) after the arguments of f, found the end of the text`},
	}
	for _, c := range tests {
		_, err := classad.ReadAd("f", []byte(c.text))
		if err == nil {
			t.Errorf("%q: accepted", c.text)
			continue
		}
		if got, _, _ := strings.Cut(err.Error(), "\n"); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}
