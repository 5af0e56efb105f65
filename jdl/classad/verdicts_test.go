package classad_test

import (
	"testing"

	"gridbroker/jdl/classad"
)

// verdicts are expressions and what the ClassAd library of 2026 makes of them,
// printed. Each row is a rule; the sample of testdata/classad holds others.
var verdicts = map[string][][2]string{
	"sum": {
		{`sum({})`, `0`}, {`sum({true})`, `true`}, {`sum({true, 2})`, `3`}, {`sum({undefined, 1.5, 1})`, `2.500000000000000E+00`},
		{`sum({undefined})`, `0`}, {`sum({"1"})`, `error`}, {`sum({error, 1})`, `error`}, {`sum({{1}})`, `error`}, {`sum(undefined)`, `undefined`},
		{`sum({9223372036854775807, 1})`, `-9223372036854775808`}, {`sum({1.0E308, 1.0E308})`, `error`},
	},
	"avg": {
		{`avg({})`, `0`}, {`avg({undefined})`, `0`}, {`avg({true})`, `1.000000000000000E+00`}, {`avg({1, undefined, 2})`, `1.500000000000000E+00`},
		{`avg({"a"})`, `error`}, {`avg(1)`, `error`},
	},
	"min and max": {
		{`min({})`, `undefined`}, {`min({true})`, `true`}, {`min({true, 2})`, `1`}, {`max({true, false})`, `1`},
		{`min({1, 2.5, 3})`, `1.000000000000000E+00`}, {`max({1, 2.5, 3})`, `3.000000000000000E+00`}, {`max({3, 1, 2})`, `3`},
		{`max({undefined})`, `undefined`}, {`max({1, "2"})`, `error`}, {`min({1.5, undefined, 2})`, `1.500000000000000E+00`},
	},
	"anyCompare and allCompare": {
		{`anyCompare("<", {undefined, 1}, 2)`, `false`}, {`anyCompare("<", {1, undefined}, 2)`, `true`}, {`allCompare("<", {1, undefined}, 2)`, `false`},
		{`anyCompare("is", {undefined}, undefined)`, `true`}, {`anyCompare("=?=", {1}, 1)`, `error`}, {`allCompare("<", {}, "a")`, `true`},
		{`anyCompare("==", {"A"}, "a")`, `true`}, {`anyCompare("<", {"a", 1}, 2)`, `error`},
	},
	"member": {
		{`member(1, {true})`, `true`}, {`member("A", {"a"})`, `true`}, {`member(1, {undefined, error})`, `false`}, {`member(error, undefined)`, `undefined`},
		{`identicalMember("A", {"a"})`, `false`}, {`identicalMember(undefined, {undefined})`, `true`}, {`isMember(1, {1})`, `error`},
	},
	"join": {
		{`join()`, `""`}, {`join("a")`, `""`}, {`join(undefined)`, `undefined`}, {`join(undefined, 2)`, `"2"`}, {`join({undefined, 1})`, `"1"`},
		{`join(",", {1, undefined, 2})`, `"1,2"`}, {`join(",", {undefined})`, `undefined`}, {`join(",", {"", "a"})`, `"a"`}, {`join(",", {"a", "", "b"})`, `"a,,b"`},
		{`join(",", {1, error})`, `error`}, {`join(",", {1, 2}, 3)`, `"{ 1,2 },3"`}, {`join({2, 4}, undefined)`, `undefined`}, {`join(true, {2, 4})`, `"2true4"`},
	},
	"strcat": {
		{`strcat()`, `""`}, {`strcat("a", undefined, error)`, `undefined`}, {`strcat(error, undefined)`, `error`}, {`strcat(1, true, 2.5)`, `"1true2.500000000000000E+00"`},
		{`strcat(relTime(61.9))`, `"01:01"`}, {`strcat({"a"}, [b = 1])`, `"{ \"a\" }[ b = 1 ]"`},
	},
	"int and real": {
		{`int("12abc")`, `12`}, {`int(" 7 ")`, `7`}, {`int("0x10")`, `16`}, {`int("-3.7")`, `-3`}, {`int("inf")`, `-9223372036854775808`}, {`int("")`, `error`},
		{`int(relTime(3.9))`, `3`}, {`real(relTime(3.9))`, `3.000000000000000E+00`}, {`int(1.0E300)`, `-9223372036854775808`}, {`int(undefined)`, `undefined`}, {`int({})`, `error`},
	},
	"bool": {
		{`bool("TRUE")`, `true`}, {`bool("1")`, `undefined`}, {`bool(relTime(0.5))`, `false`}, {`bool(relTime(60))`, `true`},
		{`bool(absTime(0, 0))`, `error`}, {`bool({})`, `error`}, {`bool(0.5)`, `true`},
	},
	"floor, ceiling and round": {
		{`floor(-0.5)`, `-1`}, {`ceiling(-0.5)`, `0`}, {`round(2.5)`, `2`}, {`round(3.5)`, `4`}, {`floor("2.7x")`, `2`}, {`floor(undefined)`, `error`}, {`ceil(true)`, `1`},
	},
	"pow": {
		{`pow(2, 10)`, `1024`}, {`pow(2, -1)`, `5.000000000000000E-01`}, {`pow(2.0, 3)`, `8.000000000000000E+00`}, {`pow("2", 3)`, `8.000000000000000E+00`},
		{`pow(true, 2)`, `1.000000000000000E+00`}, {`pow(10, 19)`, `-9223372036854775808`}, {`pow(undefined, 1)`, `error`},
	},
	"quantize": {
		{`quantize(9, 4)`, `12`}, {`quantize(-3, 2)`, `-2`}, {`quantize(9, {4, 8})`, `16`}, {`quantize(3, {4, 8})`, `4`}, {`quantize("9", 4)`, `1.200000000000000E+01`},
		{`quantize(9, "4")`, `1.200000000000000E+01`}, {`quantize(true, 2)`, `2.000000000000000E+00`}, {`quantize(2, true)`, `2.000000000000000E+00`},
		{`quantize(7, 2.5)`, `7.500000000000000E+00`}, {`quantize(7, 0)`, `7`}, {`quantize("7", 0.0)`, `"7"`}, {`quantize(7, {})`, `7`}, {`quantize(7, {"a"})`, `error`},
		{`quantize(9, {2, "4"})`, `1.200000000000000E+01`}, {`quantize(3, {"4"})`, `"4"`}, {`quantize(1, undefined)`, `error`},
	},
	"substr": {
		{`substr("abcdef", -9, 2)`, `"ab"`}, {`substr("abcdef", 1, -9)`, `""`}, {`substr("abcdef", 2, 0)`, `""`}, {`substr("abc", 1.0)`, `error`},
		{`substr(undefined, error)`, `undefined`}, {`substr("\351t\351", 1, 1)`, `"t"`},
	},
	"version comparison": {
		{`versioncmp("1.10", "1.9")`, `1`}, {`versioncmp("1.100", "1.9")`, `2`}, {`versioncmp("1.01", "1.1")`, `-1`}, {`versioncmp("a0", "a")`, `48`},
		{`versioncmp("1.0", "1.00")`, `1`}, {`versionLT("2", "10")`, `true`}, {`versionEQ("1", "1")`, `true`}, {`version_in_range("1.5", "1", "2")`, `true`},
		{`version_in_range(undefined, "1", "2")`, `error`}, {`version_in_range("1", undefined, error)`, `undefined`}, {`versionGT(error, undefined)`, `undefined`},
	},
	"regular expressions": {
		{`regexpMember(undefined, error)`, `error`}, {`regexpMember(1, undefined)`, `undefined`}, {`regexpMember("(", {"a", undefined})`, `undefined`},
		{`regexpMember("a", {1, "a"})`, `error`}, {`regexp("a", 1, undefined)`, `undefined`}, {`regexp(undefined, "a", 1)`, `undefined`}, {`regexp("{2}", "a")`, `error`},
		{`regexp("a{2}{3}", "aaaaaa")`, `error`}, {`regexp("\\b+", "a")`, `error`}, {`regexp("a{,2}", "a{,2}")`, `true`},
	},
	"substitution": {
		{`regexps("[abc]*([def]*)", "abcdef", "\\1")`, `"def"`}, {`regexps("a(b)?", "a", "\\1")`, `error`}, {`regexps("(x)?(a)", "a", "<\\1>")`, `"<>"`},
		{`regexps("b", "abcb", "x", "g")`, `"xx"`}, {`regexps("b", "abcb", "x", "f")`, `"axcb"`}, {`regexps("z", "abc", "x")`, `""`}, {`regexps("z", "abc", "x", "f")`, `"abc"`},
		{`replace("", "abc", "-")`, `"-abc"`}, {`replaceAll("b", "abcb", "x")`, `"axcx"`}, {`replaceAll("x*", "abc", "-")`, `error`}, {`replaceAll("(?=b)", "abc", "-")`, `"a-bc"`},
		{`replaceAll("b", "abc", "\\q\\")`, `"a\\q\\c"`},
	},
	"eval and unparse": {
		{`eval(undefined)`, `error`}, {`eval("")`, `error`}, {`eval("a + 1")`, `2`}, {`unparse(a)`, `"1"`}, {`unparse(missing)`, `""`}, {`unparse(r.b)`, `""`},
		{`unparse(1)`, `error`}, {`unparse()`, `error`}, {`unparse(sum)`, `"a + 1"`},
	},
	"records": {
		{`r["b"]`, `2`}, {`r["a"]`, `undefined`}, {`r["self"]`, `undefined`}, {`r.a`, `1`}, {`{[v = 1], {[v = 2], 3}, undefined, error}.v`, `{ 1,{ 2,error },undefined,error }`},
		{`r.parent.a`, `1`}, {`"a".b`, `error`}, {`undefined.b`, `undefined`},
	},
	"absTime": {
		{`absTime(relTime(60))`, `absTime("1970-01-01T00:01:00-00:00")`}, {`absTime(0, 3600)`, `absTime("1970-01-01T01:00:00+01:00")`}, {`absTime(0, undefined)`, `error`},
		{`absTime(undefined, 1)`, `undefined`}, {`absTime(1.9)`, `absTime("1970-01-01T00:00:01-00:00")`}, {`absTime(1.0E10)`, `absTime("1901-12-13T20:45:52-00:00")`},
		{`absTime("2009-00-02")`, `absTime("2008-12-02T00:00:00-00:00")`}, {`absTime("2009-02-31T25:00:00Z")`, `absTime("2009-03-04T01:00:00-00:00")`},
		{`absTime("20090102030405")`, `absTime("2009-01-02T03:04:05-00:00")`}, {`absTime(true)`, `error`},
	},
	"relTime": {
		{`int(relTime("1d02:03"))`, `86523`}, {`int(relTime("1h30"))`, `3630`}, {`int(relTime("1d"))`, `86400`}, {`int(relTime("-1+00:00:01"))`, `-86401`},
		{`int(relTime(" 7 "))`, `7`}, {`relTime(1.5)`, `relTime("1.5")`}, {`relTime(3661.25)`, `relTime("01:01:1.25")`}, {`relTime({})`, `error`},
	},
	"time arithmetic": {
		{`absTime(10, 0) - relTime(1.5)`, `absTime("1970-01-01T00:00:09-00:00")`}, {`relTime(60) * true`, `error`}, {`relTime(60) * 2`, `relTime("02:00")`},
		{`2 * relTime(60)`, `relTime("02:00")`}, {`2 / relTime(60)`, `error`}, {`relTime(60) / 2.0`, `relTime("30")`}, {`absTime(60, 0) - absTime(0, 0)`, `relTime("01:00")`},
		{`absTime(60, 0) + absTime(0, 0)`, `error`}, {`relTime(1) < 2`, `error`}, {`relTime(1) =?= 1`, `false`},
	},
	"parts of times": {
		{`getHours(absTime("2009-01-02T03:04:05-0600"))`, `9`}, {`getDays(relTime(90061))`, `1`}, {`getHours(relTime(90061))`, `1`}, {`getDays(absTime(0, 0))`, `error`},
		{`splitTime(relTime(-90061))`, `[ Type = "RelativeTime"; Days = -1; Hours = 1; Minutes = 1; Seconds = 1.000000000000000E+00 ]`},
		{`splitTime(relTime(-1.5)).Seconds`, `-1.500000000000000E+00`}, {`splitTime(absTime("2009-01-02T03:04:05-0600")).Hours`, `3`}, {`splitTime(undefined)`, `undefined`}, {`splitTime([])`, `error`},
	},
	"formatTime": {
		{`formatTime([])`, `"Sun Jan  0 00:00:00 1900"`}, {`formatTime([Year = 2009; Month = 2; Day = 31; Hours = 25])`, `"Tue Feb 31 25:00:00 2009"`},
		{`formatTime([Month = 13], "%b %m")`, `"? 13"`}, {`formatTime(undefined)`, `error`}, {`formatTime(0, undefined)`, `error`}, {`formatTime(relTime(1))`, `error`},
		{`formatTime(absTime("1997-08-30T16:04:05-0500"), "%A %B %d %I %p %j %U %W %w %u %y %C %e%%%n%t%R")`, `"Saturday August 30 04 PM 242 34 34 6 6 97 19 30%\n\t16:04"`},
		{`formatTime(absTime("2008-12-29T00:00:00Z"), "%G-%V %g %D %F %T %Z%z%q")`, `"2009-01 09 12/29/08 2008-12-29 00:00:00 +0000%q"`},
	},
	"interval": {
		{`interval("12")`, `"12"`}, {`interval(true)`, `"1"`}, {`interval(undefined)`, `error`}, {`interval(-90061)`, `"-1+01:01:01"`}, {`interval(-3600)`, `"-1:00:00"`},
		{`interval(relTime(61.5))`, `"1:01"`}, {`interval("x")`, `error`}, {`interval(1.0E10)`, `"16320+04:50:08"`},
	},
	"unresolved": {
		{`unresolved(sum)`, `""`}, {`unresolved(needs)`, `"Memory,other.x,zz"`}, {`unresolved(needs, "^MEM")`, `true`}, {`unresolved(needs, "cpu")`, `false`},
		{`unresolved(missing)`, `undefined`}, {`unresolved(1)`, `error`}, {`unresolved(needs, 1)`, `error`}, {`unresolved(needs, "(")`, `error`},
		{`unresolved(loop)`, `"q"`}, {`unresolved(odd)`, `""`}, {`unresolved(r.b)`, `""`}, {`unresolved(needs, "x*")`, `true`},
	},
	"the broker's": {
		{`successFraction("ce:2119/jobmanager-pbs-q")`, `1.000000000000000E+00`}, {`successFraction(1)`, `error`}, {`successFraction(undefined)`, `undefined`},
		{`retrieveCloseSEsInfo("atlas").n`, `{ 1,3 }`}, {`retrieveCloseSEsInfo("CMS").n`, `{ 2,3 }`}, {`retrieveCloseSEsInfo("lhcb").n`, `{ 3 }`},
		{`retrieveCloseSEsInfo(1)`, `error`}, {`retrieveCloseSEsInfo(undefined)`, `undefined`}, {`anyMatch(retrieveCloseSEsInfo("cms"), target.n > 2)`, `true`},
		{`listAttrRegEx("^M", needs)`, `{ "Memory" }`}, {`listAttrRegEx("q", needs)`, `undefined`},
	},
	"stringListsIntersect": {
		{`stringListsIntersect("a, b", "b")`, `true`}, {`stringListsIntersect("a; b", "b", ";")`, `false`}, {`stringListsIntersect("a, b", "b", "")`, `true`},
		{`stringListsIntersect(undefined, error)`, `error`}, {`stringListsIntersect("A", "a")`, `false`}, {`stringListsIntersect("a", 1)`, `error`},
	},
}

func TestVerdicts(t *testing.T) {
	utc(t)
	ad, err := classad.ParseAd("ad", []byte(`[a = 1; sum = a + 1; r = [b = 2]; needs = Memory > a && target.zz == "x" && other.x; loop = loop + q; odd = zz + "s".b;
		storage = [CloseSEs = {[n = 1; GlueSAAccessControlBaseRule = "VO:atlas"], [n = 2; GlueSAAccessControlBaseRule = {"cms", "VOMS:/ops/x"}], [n = 3]}]]`))
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range verdicts {
		t.Run(name, func(t *testing.T) {
			for _, r := range rows {
				e, err := classad.ParseExpr("e", []byte(r[0]))
				if err != nil {
					t.Errorf("%s: %v", r[0], err)
					continue
				}
				if got := classad.UnparseValue(ad.Eval(e, nil)); got != r[1] {
					t.Errorf("%s = %s, want %s", r[0], got, r[1])
				}
			}
		})
	}
}

// TestBadTimes has texts that are no times: a syntax error.
func TestBadTimes(t *testing.T) {
	for _, s := range []string{
		`absTime("2009-1")`, `absTime("2009-01-02T03:04:05.678Z")`, `absTime("200")`, `absTime("garbage")`, `absTime("")`,
		`relTime("1e3")`, `relTime("5.")`, `relTime("1:2:3:4")`, `relTime("x5")`, `relTime("1s2m")`, `relTime("999999999999d")`,
	} {
		if _, err := classad.ParseExpr("e", []byte(s)); err == nil {
			t.Errorf("%s is accepted", s)
		}
	}
}
