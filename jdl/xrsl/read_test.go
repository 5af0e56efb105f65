package xrsl

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/testdata/testbed"
)

// attributes reads one request and gives its record, an attribute a line.
func attributes(src string) ([]string, error) {
	ads, err := Read("t.xrsl", []byte(src), func(*classad.Diagnostic) {})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, ad := range ads {
		for _, a := range ad.Attrs() {
			out = append(out, a.Name+" = "+classad.Unparse(a.Expr))
		}
	}
	return out, nil
}

// What relations become, whatever the order in which they stand.
func TestReadRelations(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string // lines; one that begins with - is the name of an attribute that must not be there
	}{
		{`(count=4)(gridTime=60)`, []string{"CPUNumber = 4", "CPUTime = 900", "-WallTime"}},
		{`(gridTime=60)(count=4)`, []string{"CPUNumber = 4", "CPUTime = 900", "-WallTime"}},
		{`(gridTime=60)`, []string{"CPUTime = 3600", "WallTime = 3600"}},
		{`(cpuTime=60)(count=4)`, []string{"CPUTime = 900"}},
		{`(cpuTime="2 hours")`, []string{"CPUTime = 7200"}},
		{`(wallTime=1)(memory=100)(disk=2)`, []string{"WallTime = 60", "Memory = 100", "Disk = 2048"}},
		{`(stdout=o)(join=yes)`, []string{`StdOutput = "o"`, `StdError = "o"`}},
		{`(join=no)(stdout=o)(stderr=e)`, []string{`StdOutput = "o"`, `StdError = "e"`}},
		{`(count=1)`, []string{"-CPUNumber"}},
		{`(rerun=3)`, []string{"RetryCount = 3"}},
		{`(rerun=9)`, []string{"RetryCount = 5"}},
		{`(exclusiveExecution=yes)`, []string{"WholeNodes = true"}},
		{`(exclusiveExecution=no)`, []string{"-WholeNodes"}},
		{`(nodeAccess=inbound)(nodeAccess=outbound)`, []string{"Requirements = other.GlueHostNetworkAdapterInboundIP && other.GlueHostNetworkAdapterOutboundIP"}},
		{`(queue=long)`, []string{`Queue = "long"`}},
		{`(queue!=long)`, []string{"-Queue"}},
		{`(job_name=a)`, []string{`JobName = "a"`}},
		{`(JobName="a""b")`, []string{`JobName = "a\"b"`}},
		{`(jobName='it''s')`, []string{`JobName = "it's"`}},
		{`(jobName=^%a"'b%)`, []string{`JobName = "a\"'b"`}}, // a quote of the writer's choice
		{`(* first (comment) *)(jobName=(* in it *)a)`, []string{`JobName = "a"`}},
		{`(rsl_substitution=(TOP "/data"))(stdin=$(TOP)/in)`, []string{`StdInput = "/data/in"`}},
		{`(rsl_substitution=(TOP "/data"))(stdin=$(TOP) # "/in")`, []string{`StdInput = "/data/in"`}},
		{`(stdin=$(TOP /d)/in)`, []string{`StdInput = "/d/in"`}},
		{`(rsl_substitution=(A x))(rsl_substitution=(B $(A)y))(stdin=/$(B)z)`, []string{`StdInput = "/xyz"`}},
	} {
		got, err := attributes("&(executable=/bin/ls)" + c.src)
		if (err != nil) != (c.want == nil) {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		for _, want := range c.want {
			name, absent := strings.CutPrefix(want, "-")
			there := slices.ContainsFunc(got, func(line string) bool { return line == want || absent && strings.HasPrefix(line, name+" =") })
			if there == absent {
				t.Errorf("%s: %q in %q: %v", c.src, name, got, there)
			}
		}
	}
}

// Several requests are as many records; variables are those of their request alone.
func TestReadSeveral(t *testing.T) {
	ads, err := Read("t", []byte(`+(&(rsl_substitution=(A x))(executable=/bin/$(A)))(&(executable=/bin/b)(count=2))`), nil)
	if err != nil || len(ads) != 2 {
		t.Fatalf("%d %v", len(ads), err)
	}
	ads, err = Read("t", []byte(`+(+(&(executable=/bin/a))(+(&(executable=/bin/b))))(&(executable=/bin/c))`), nil)
	if err != nil || len(ads) != 3 {
		t.Errorf("requests in requests: %d %v", len(ads), err)
	}
	for src, want := range map[string]string{
		strings.Repeat("+(", 200): "nested too deeply",
		`&(executable=/a) so # x`: "unexpected",
		`+(&(rsl_substitution=(A x))(executable=/bin/a))(&(executable=/bin/$(A)))`: "the variable A is not defined",
		`+`:                                       "no request",
		`+(&(executable=/a))x`:                    "unexpected",
		`+(&(executable=/a)`:                      "at the end of a request",
		``:                                        "a request is",
		`&`:                                       "a request is",
		`|(executable=/a)`:                        "alternatives (|) are not supported",
		`&(executable=/a`:                         "after the values of executable",
		`&(executable="/a)`:                       "the quote is not closed",
		`&(executable=/a)(* `:                     "the comment is not closed",
		`&(executable /a)`:                        "expected =",
		`&(=/a)`:                                  "expected the name of an attribute",
		`&(executable=/a=b)`:                      "",
		"&(executable=/a\x00)":                    "NUL",
		`&(executable=$(A)`:                       "",
		`&(executable=$()`:                        "",
		`&(executable=(/a))`:                      "executable wants one value",
		`&(executable=/a /b)`:                     "executable wants one value",
		`&(executable=/a)(count=-1)`:              "whole number",
		`&(executable=/a)(count=99999999999)`:     "whole number",
		`&(executable=/a)(count=0)`:               "count is 1 at least",
		`&(executable=/a)(count=1.5)`:             "whole number",
		`&(executable=/a)(disk=-1.5)`:             "whole number",
		`&(executable=/a)(disk=nan)`:              "whole number",
		`&(executable=/a)(memory=1e300)`:          "whole number",
		`&(executable=/a)(nodeAccess=foo)`:        "ARC leaves out any other word",
		`&(executable=/a)(cputime=soon)`:          "wants minutes",
		`&(executable=/a)(join=perhaps)`:          "yes or no",
		`&(executable=/a)(executables=(b))`:       "executables wants texts, not lists",
		`&(executable=/a)(ftpThreads=0)`:          "ftpThreads is from 1 to 10",
		`&(executable=/a)(ftpThreads=11)`:         "ftpThreads is from 1 to 10",
		`&(executable=/a)(executables=b)`:         "b is in executables and not in inputFiles",
		`&(executable=/a)(count=1)(count=2)`:      "count is given twice",
		`&(executable=/a)(cpuTime=1)(gridTime=1)`: "gridTime excludes",
		`&(executable=/a)(|(|(queue=a)))`:         "not supported",
		`&(executable=/a)(rsl_substitution=(A))`:  "wants (NAME value)",
		`&(executable=/a)(runTimeEnvironment>=)`:  "",
	} {
		_, err := Read("t", []byte(src), func(*classad.Diagnostic) {})
		if src == `&(executable=/a)(runTimeEnvironment>=)` {
			if err != nil { // a relation without a value is a warning
				t.Errorf("%s: %v", src, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}

// Attributes, values and warnings without end cost neither memory nor time by their number; what a
// hundred thousand files need is read.
func TestReadMany(t *testing.T) {
	testbed.Computes(t)
	var relations, requests strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&relations, "(a%d=1)", i)
	}
	for range 100_000 {
		requests.WriteString("(&(executable=/a)(nothing=1))\n")
	}
	for _, c := range []struct{ text, want string }{
		{"&(executable=/a)" + relations.String(), "more than 10000 attributes"},
		{"&(executable=/a)(arguments=" + strings.Repeat("x ", 10_000_000) + ")", "more than 300000 values"},
		{"&(executable=/a)(inputfiles=" + strings.Repeat("(x y)", 10_000_000) + ")", "more than 300000 values"},
		{"+" + strings.Repeat("(&(executable=/a)(arguments="+strings.Repeat("x ", 100_000)+"))", 100), "more than 2000000 values"},
		{"+" + requests.String(), ""},
		{"&(executable=/a)(inputfiles=" + strings.Repeat("(x y)", 99_999) + ")", ""},
	} {
		warnings := 0
		testbed.Within(t, 10*time.Second, 400<<20, func() {
			_, err := Read("x.xrsl", []byte(c.text), func(*classad.Diagnostic) { warnings++ })
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%.60s: %.300v, want %q", c.text, err, c.want)
			}
		})
		if warnings > 201 {
			t.Errorf("%.60s: %d warnings", c.text, warnings)
		}
	}
}

// Texts that nest without end, or grow by variables, end with an error and not with
// the program.
func TestReadBombs(t *testing.T) {
	testbed.Computes(t)
	const deep = 2_000_000
	doubling := "&(executable=/a)(rsl_substitution=(A0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa))"
	for i := range 40 {
		a, b := string(rune('A'+i%26))+strings.Repeat("x", i/26)+"1", "A0"
		if i > 0 {
			b = string(rune('A'+(i-1)%26)) + strings.Repeat("x", (i-1)/26) + "1"
		}
		doubling += "(rsl_substitution=(" + a + " $(" + b + ")$(" + b + ")))"
	}
	for name, src := range map[string]string{
		"lists":        "&(executable=/a)(arguments=" + strings.Repeat("(", deep),
		"requests":     strings.Repeat("&(", deep),
		"alternatives": "&(executable=/a)" + strings.Repeat("(|", deep),
		"variables":    "&(executable=" + strings.Repeat("$(a ", deep),
		"closed":       "&(executable=" + strings.Repeat("$(a ", deep) + "b" + strings.Repeat(")", deep) + ")",
		"doubling":     doubling,
	} {
		if _, err := Read("t", []byte(src), func(*classad.Diagnostic) {}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestVariablesInQuotes: arcsub 7.0 replaces variables outside of quotes alone (--dumpdescription); who writes one inside is told. What
// no rsl_substitution defines is a shell's, and none of our business.
func TestVariablesInQuotes(t *testing.T) {
	for values, want := range map[string]string{
		`$(NAME)".dat"`:       "",
		`"$(date) $(NAMES)"`:  "",
		`"x" "a $(NAME).dat"`: "t.xrsl:1:67: $(NAME) is not replaced inside quotes",
		`'$(NAME)'`:           "t.xrsl:1:63: $(NAME) is not replaced inside quotes",
		`^.$(NAME).`:          "t.xrsl:1:64: $(NAME) is not replaced inside quotes",
	} {
		var told []string
		src := `&(rsl_substitution=("NAME" "x"))(executable=/bin/a)(arguments=` + values + `)`
		if _, err := Read("t.xrsl", []byte(src), func(d *classad.Diagnostic) { told = append(told, d.Error()) }); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(told, "\n"); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", values, got, want)
		}
	}
}

// TestSizesWithAPart: arcsub -x was seen to make 1 of disk=1.5, with a warning. A job that needs 1.5 GB gets them here.
func TestSizesWithAPart(t *testing.T) {
	var told []string
	ads, err := Read("t", []byte(`&(executable=/a)(disk=1.5)(memory=10.25)`), func(d *classad.Diagnostic) { told = append(told, d.Msg) })
	if err != nil {
		t.Fatal(err)
	}
	set, err := jdl.FromRecords("t", nil, ads, jdl.WithoutFiles(), jdl.WithDir("/job"))
	if err != nil || set.Jobs[0].Demand.Disk != 2048 || set.Jobs[0].Demand.Memory != 11 {
		t.Errorf("read as %+v, %v", set, err)
	}
	if want := "disk=1.5 is taken as 2: ARC takes whole numbers alone; memory=10.25 is taken as 11: ARC takes whole numbers alone"; strings.Join(told, "; ") != want {
		t.Errorf("told %q, want %s", told, want)
	}
}
