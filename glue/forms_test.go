package glue

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// shown writes entries as they were read.
func shown(t *testing.T, text string) (string, error) {
	t.Helper()
	var b strings.Builder
	err := ReadLDIF(strings.NewReader(text), "f", func(e *Entry) {
		fmt.Fprintf(&b, "<%s>", e.DN)
		for _, a := range e.Attrs {
			fmt.Fprintf(&b, " %s=%s", a.Name, strings.Join(values(a), "|"))
		}
		b.WriteString("; ")
	})
	return strings.TrimSuffix(b.String(), "; "), err
}

func values(a Attr) (list []string) {
	for _, v := range a.Values {
		list = append(list, string(v))
	}
	return list
}

// TestFormsOfLDIF has the forms of RFC 2849, and what servers write besides.
func TestFormsOfLDIF(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"\n\n\n":          "",
		"dn: a=b\nx: 1\n": "<a=b> x=1",
		"dn: a=b\nx: 1":   "<a=b> x=1",
		"dn: a=b\r\nx: 1\r\n\r\ndn: c=d\r\ny: 2\r\n":                            "<a=b> x=1; <c=d> y=2",
		"version: 1\ndn: a=b\nx: 1\n":                                           "<a=b> x=1",
		"version: 1\n\ndn: a=b\nversion: 7\n":                                   "<a=b> version=7",
		"dn: a=b\nx: 1\nX: 2\ny: 3\nx: 4\n":                                     "<a=b> x=1|2|4 y=3",
		"dn: a=b,\n c=d\nx: long\n er\n":                                        "<a=b,c=d> x=longer",
		"dn: a=b\nx: one \n two\n":                                              "<a=b> x=one two",
		"dn: a=b\n# a comment\n  that goes on: 5\nx: 1\n":                       "<a=b> x=1",
		"# search base\ndn: a=b\nx: 1\n\n# end\nsearch: 2\nresult: 0 Success\n": "<a=b> x=1",
		"dn:: YT1i\nx:: w6k=\n":                                                 "<a=b> x=é",
		"dn: a=b\nx:: w6\n k=\n":                                                "<a=b> x=é",
		"dn: a=b\nx::   aGkK  \n":                                               "<a=b> x=hi\n",
		"dn: a=b\nx:\n":                                                         "<a=b> x=",
		"dn: a=b\nx:  1 \n":                                                     "<a=b> x=1",
		"dn: a=b\nx: a: b: c\n":                                                 "<a=b> x=a: b: c",
		"dn: a=b\nx;lang-en: 1\n":                                               "<a=b> x;lang-en=1",
		"DN: a=b\n":                                                             "<a=b>",
		"x: 1\n":                                                                "<> x=1",
		"dn: a=b\nx:< file:///etc/passwd\n":                                     "!f:2: x: value by URL is not supported",
		"dn: a=b\nx:: %%%\n":                                                    "!f:2: x: illegal base64",
		"dn: a=b\nx:: w6k\n":                                                    "!f:2: x: illegal base64",
		"dn: a=b\nx\n":                                                          "!f:2: no attribute name before a colon",
		"dn: a=b\n: 1\n":                                                        "!f:2: no attribute name before a colon",
		"dn: a=b\nx: 1\n\ndn: c=d\ny\n":                                         "!f:5:",
		" folded: 1\n":                                                          "<>  folded=1", // RFC 2849 does not have it: no line to go on with
	} {
		got, err := shown(t, text)
		if bad, no := strings.CutPrefix(want, "!"); no {
			if err == nil || !strings.HasPrefix(err.Error(), bad) {
				t.Errorf("%q: %v, want %s", text, err, bad)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q:\n got %s %v\nwant %s", text, got, err, want)
		}
	}
}

// TestLongLDIF: what has no end is refused, what is only long is read.
func TestLongLDIF(t *testing.T) {
	long := strings.Repeat("x", 900_000)
	if got, err := shown(t, "dn: a=b\nv: "+long+"\n"); err != nil || len(got) < len(long) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	folded := strings.Repeat(strings.Repeat("y", 76)+"\n ", 10_000)
	if got, err := shown(t, "dn: a=b\nv: "+folded+"\n"); err != nil || strings.Count(got, "y") != 760_000 {
		t.Errorf("folded: %d bytes, %v", len(got), err)
	}
	for what, text := range map[string]string{
		"a line": "dn: a=b\nv: " + strings.Repeat("x", maxLine) + "\n", "a folded line": "dn: a=b\nv: " + strings.Repeat("x\n ", maxLine+1),
		"values": "dn: a=b\n" + strings.Repeat("v: 1\n", maxValues+1),
	} {
		if _, err := shown(t, text); err == nil {
			t.Errorf("%s without an end is read", what)
		}
	}
}

// TestNamesInDNs: RFC 4514's escapes, of which OpenLDAP writes the hexadecimal ones.
func TestNamesInDNs(t *testing.T) {
	for dn, want := range map[string]string{
		"GlueCEUniqueID=h:1/q,Mds-Vo-name=S,o=grid":        "h:1/q S",
		`GlueCEUniqueID=a\,b,Mds-Vo-name=S`:                "a,b S",
		`GlueCEUniqueID=a\2Cb,Mds-Vo-name=S`:               "a,b S",
		`GlueCEUniqueID=a\2cb\5C\3D,Mds-Vo-name=S`:         `a,b\= S`,
		`GlueCEUniqueID=\C3\A9t\C3\A9,Mds-Vo-name=S`:       "été S",
		`GlueCEUniqueID=\"q\",Mds-Vo-name=S`:               `"q" S`,
		`GlueCEUniqueID=a\#b\+,Mds-Vo-name=S`:              "a#b+ S",
		`gluececUniqueID=x, MDS-VO-NAME=S`:                 " S",
		`GlueCEUniqueID=x, mds-vo-name =S`:                 "x S",
		"GlueCEUniqueID=x,Mds-Vo-name=local,Mds-Vo-name=S": "x S",
		"GlueCEUniqueID=x,Mds-Vo-name=LOCAL,o=grid":        "x ",
		`GlueCEUniqueID=x\`:                                `x\ `,
		`GlueCEUniqueID=x\2`:                               "x2 ",
		"":                                                 " ",
		",,,":                                              " ",
	} {
		got := string(rdn([]byte(dn), "glueceuniqueid")) + " " + string(rdn([]byte(dn), "mds-vo-name", "local"))
		if got != want {
			t.Errorf("%s: %q, want %q", dn, got, want)
		}
	}
}

// TestNumbersOfProviders: what they publish when they do not know is no number.
func TestNumbersOfProviders(t *testing.T) {
	number := func(o Opt[int64]) string {
		if !o.OK {
			return "-"
		}
		return fmt.Sprint(o.V)
	}
	for text, want := range map[string]string{ // as a count, and as a limit
		"0": "0 -", "1": "1 1", " 12 ": "12 12", "2500.0": "2500 2500", "2500.5": "- -", "-1": "- -", "": "- -", "many": "- -", "0x10": "- -", "1e3": "- -",
		"999": "999 999", "9999": "9999 9999", "99999": "- -", "999999999": "- -", "99998": "99998 99998", "444": "444 444", "4444": "4444 4444", "44444": "- -", "444444": "- -",
		"2147483647": "- -", "2147483646": "- -", "4294967295": "- -", "2146660842": "- -", "9223372036854775807": "- -", "9223372036854775808": "- -",
		"2147483645": "2147483645 2147483645",
	} {
		if got := number(count([]byte(text))) + " " + number(limit([]byte(text))); got != want {
			t.Errorf("number %q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{ // of minutes
		"0": "0s -", "60": "1h0m0s 1h0m0s", "4320": "72h0m0s 72h0m0s", "9999": "- -", "999": "16h39m0s 16h39m0s", "4444": "- -", "-1": "- -", "99999999": "- -",
		"5256000": "87600h0m0s 87600h0m0s", "5256001": "- -", "9223372036854775": "- -",
	} {
		got := ""
		for _, o := range []Opt[time.Duration]{span([]byte(text), time.Minute), spanLimit([]byte(text), time.Minute)} {
			if got += " -"; o.OK {
				got = strings.TrimSuffix(got, "-") + o.V.String()
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("minutes %q: %s, want %s", text, got, want)
		}
	}
	if g := gigabytes([]byte("20")); g != Some[int64](20*1024) {
		t.Errorf("20 GB are %v", g)
	}
	if g := gigabytes([]byte("9000000000000000000")); g.OK {
		t.Errorf("beyond all bounds: %v", g)
	}
	for text, want := range map[string]string{"2.5": "2.5", " 11.26 ": "11.26", "0": "", "-3": "", "NaN": "", "Inf": "", "1e300": "", "x": ""} {
		f, ok := real([]byte(text))
		if got := fmt.Sprint(f); ok != (want != "") || ok && got != want {
			t.Errorf("benchmark %q: %v %v", text, f, ok)
		}
	}
	for text, want := range map[string]Opt[bool]{"TRUE": Some(true), "false": Some(false), " 1 ": Some(true), "0": Some(false), "No": Some(false), "": {}, "maybe": {}} {
		if got := boolean([]byte(text)); got != want {
			t.Errorf("boolean %q: %v", text, got)
		}
	}
}

// TestTimes: LDAP's generalized time in its forms (RFC 4517, 3.3.13), and ISO 8601.
func TestTimes(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 46, 7, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"20261121024607Z": at, "20261121024607.0Z": at, "20261121024607.25Z": at.Add(250 * time.Millisecond), "20261121034607+0100": at, "202611210246Z": at.Add(-7 * time.Second),
		"2026112102Z": at.Add(-46*time.Minute - 7*time.Second), "2026-11-21T02:46:07Z": at, "2026-11-21T03:46:07+01:00": at, "2026-11-21T02:46:07.25Z": at.Add(250 * time.Millisecond),
		"20261121024607": {}, "20261321024607Z": {}, "yesterday": {}, "": {}, "0": {},
	} {
		if got := timestamp([]byte(text)); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestWordsOfProviders: states, rules, platforms, benchmarks and GPUs as they are spelt.
func TestWordsOfProviders(t *testing.T) {
	d := NewDecoder("test")
	for text, want := range map[string]ServingState{
		"production": Production, "PRODUCTION ": Production, "active": Production, "Draining": Draining, "queuing": Queueing, "Queueing": Queueing, "closed": Closed,
		"inactive": Closed, "inactive, grid-manager is down": Closed, "": Unknown, "broken": Unknown, strings.Repeat("production", 9): Unknown,
	} {
		if got := servingState([]byte(text)); got != want {
			t.Errorf("state %q: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"VO:atlas": "VO:atlas atlas", "vo:atlas": "VO:atlas atlas", " voms:/cms/Role=production ": "VOMS:/cms/Role=production cms", "VOMS:/cms": "VOMS:/cms cms",
		"DENY:/cms": "DENY:/cms ", "/DC=org/CN=a:b": "/DC=org/CN=a:b ", "ALL": "ALL ", "": " ",
	} {
		if got := d.accessRule([]byte(text)); got+" "+VOOf(got) != want {
			t.Errorf("rule %q: %q of %q, want %s", text, got, VOOf(got), want)
		}
	}
	for text, want := range map[string]string{"x86_64": "amd64", "X86_64": "amd64", "i686": "i386", "aarch64": "aarch64", "riscv64": "riscv64", "": ""} {
		if got := d.platform([]byte(text)); got != want {
			t.Errorf("platform %q: %q", text, got)
		}
	}
	for text, want := range map[string]string{"HEP-SPEC06": "hep-spec06", "hs06": "hep-spec06", "HEPscore": "hepscore23", "si2k": "specint2000", "my own": "my own"} {
		if got := benchmarkName(text); got != want {
			t.Errorf("benchmark %q: %q", text, got)
		}
	}
	for text, want := range map[string]int64{"Cores=16,GPUs=4": 4, "gpu=2": 2, " GPUNumber = 8 ": 8, "GPUs=": 0, "GPUs=many": 0, "GPUs=-1": 0, "xGPUs=4": 0, "4 GPUs": 0} {
		var r Resource
		if r.GPUs = gpusIn([]byte(text), r.GPUs); r.GPUs.V != want || r.GPUs.OK != (want > 0) {
			t.Errorf("GPUs in %q: %v", text, r.GPUs)
		}
	}
	for text, want := range map[string]string{"PBS": "PBS", "UNDEFINEDVALUE": "", "GlueCEInfoLRMSVersion: not defined": "", "n/a": "", "None": "", "none of it": "none of it", "": ""} {
		if got := d.word([]byte(text)); got != want {
			t.Errorf("word %q: %q", text, got)
		}
	}
	for text, want := range map[string]string{"urn:ogf:ComputingShare:ce.a.org:long": "long", "URN:x:y": "y", "plain": "plain", "urn": "urn", "": ""} {
		if got := lastOfURN(text); got != want {
			t.Errorf("last of %q: %q", text, got)
		}
	}
}

// TestFilters: what a user calls a VO does not become a part of the search.
func TestFilters(t *testing.T) {
	for _, q := range Queries13(`a*)(objectClass=*`, []string{"X"}) {
		if strings.Count(q.Filter, "(") != strings.Count(q.Filter, ")") || strings.Contains(q.Filter, "(objectClass=*)") || strings.Contains(q.Filter, "a*)") {
			t.Errorf("%s: %s", q.What, q.Filter)
		}
		if (q.What == "GlueCE" || q.What == "GlueVOView") && !strings.Contains(q.Filter, `VO:a\2a\29\28objectClass=\2a)`) {
			t.Errorf("%s: %s", q.What, q.Filter)
		}
	}
	for what, want := range map[string]string{"GlueCE": "(objectClass=GlueCE)", "GlueCluster": "(objectClass=GlueCluster)"} {
		i := slices.IndexFunc(Queries13("", nil), func(q Query) bool { return q.What == what })
		if q := Queries13("", []string{"GlueCECapability"})[i]; q.Filter != want || what == "GlueCE" && q.Attrs[len(q.Attrs)-1] != "GlueCECapability" {
			t.Errorf("%s: %s %q", what, q.Filter, q.Attrs)
		}
	}
	if len(Queries20(nil)) == 0 || len(QueriesARC(nil)) != 2 {
		t.Error("no queries")
	}
}

// entries splits an LDIF text.
func entries(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile("../testdata/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\n")
}

// TestOrderOfEntries: directories send their entries in any order; what is made
// of them is the same.
func TestOrderOfEntries(t *testing.T) {
	files := []string{"arc/arex1.glue2.ldif", "arc/ce2.glue2.ldif"}
	for _, file := range files {
		list := entries(t, file)
		var first []Resource
		for seed := range uint64(30) {
			d := NewDecoder("test")
			if err := ReadLDIF(strings.NewReader(strings.Join(list, "\n\n")), file, d.Add); err != nil {
				t.Fatal(err)
			}
			rs := d.Resources(captured)
			for i := range rs {
				slices.Sort(rs[i].RuntimeEnvironments)
				slices.Sort(rs[i].Access)
				rs[i].tags = nil
			}
			if seed == 0 {
				first = rs
			} else if !reflect.DeepEqual(rs, first) {
				for i := range rs {
					if i < len(first) && !reflect.DeepEqual(rs[i], first[i]) {
						t.Errorf("%s, order %d:\n got %+v\nwant %+v", file, seed, rs[i], first[i])
					}
				}
				t.Fatalf("%s, order %d: %d resources, want %d", file, seed, len(rs), len(first))
			}
			r := rand.New(rand.NewPCG(seed, 3))
			r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		}
	}
}

// TestMergeAgain: what is merged already stays as it is.
func TestMergeAgain(t *testing.T) {
	testbed.Computes(t)
	for _, files := range [][]string{{glue1}, {glue2}, {glue1, glue2}} {
		d := NewDecoder("test")
		for _, f := range files {
			addFile(t, d, "../testdata/"+f)
		}
		once := d.Resources(captured)
		want := make([]string, len(once))
		for i := range once {
			want[i] = fmt.Sprintf("%s %s %v %v %v", once[i].ID, once[i].ViewOf, once[i].Views, once[i].TotalSlots, once[i].Endpoints)
		}
		again := Merge(captured, once)
		if len(again) != len(want) {
			t.Fatalf("%v: %d resources become %d", files, len(want), len(again))
		}
		for i := range again {
			if got := fmt.Sprintf("%s %s %v %v %v", again[i].ID, again[i].ViewOf, again[i].Views, again[i].TotalSlots, again[i].Endpoints); got != want[i] {
				t.Fatalf("%v:\n got %s\nwant %s", files, got, want[i])
			}
		}
	}
}
