package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"gridbroker/broker"
	"gridbroker/infosys"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// TestExitTests: what --exit takes, and for which codes it holds.
func TestExitTests(t *testing.T) {
	for text, want := range map[string]string{ // which of -1, 0, 1, 2, 255
		"0": "0", "=0": "0", "==0": "0", "!0": "-1 1 2 255", "!=0": "-1 1 2 255", ">0": "1 2 255", ">=1": "1 2 255", "<1": "-1 0", "<=1": "-1 0 1", ">= 2": "2 255", "-1": "-1", "= 255": "255",
		"zero": "!", "=": "!", "!": "!", "<>0": "!", "=>0": "!", "0x1": "!", "1.0": "!", "==": "!", "1 2": "!", "0!": "!",
		"1,2": "1 2", "0, 255": "0 255", "<0,>=2": "-1 2 255", "0,1,2": "0 1 2", "1,": "!", ",": "!", ",1": "!", "1,x": "!", "1,,2": "!",
	} {
		test, err := exitTest(text)
		got := []string{}
		if err != nil {
			got = append(got, "!")
		} else {
			for _, code := range []int{-1, 0, 1, 2, 255} {
				if test(code) {
					got = append(got, fmt.Sprint(code))
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("--exit %s: %q, want %q", text, got, want)
		}
	}
	if test, err := exitTest(""); test != nil || err != nil {
		t.Errorf("none: %v", err)
	}
}

// TestPatternsOfNames: a text without wildcards is a whole name, whatever its
// case; one that is no pattern is an error and chooses nothing.
func TestPatternsOfNames(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"run-*", "run-7", true}, {"run-*", "my-run-7", false}, {"RUN", "run", true}, {"run", "run-7", false}, {"r?n", "ran", true}, {"[ab]", "b", true}, {"[", "[", true}, {"*", "", true},
		{"a/*", "a/b", true}, {"*", "a/b", true}, {"a*", "a name/with b", true}, {"a?b", "a/b", true}, {"a/", "a/b", false},
	} {
		if got := like(c.pattern, c.text); got != c.want {
			t.Errorf("%q like %q: %v", c.text, c.pattern, got)
		}
	}
}

// TestLengthsBeyondAll: no length of time comes out negative, or is another one.
func TestLengthsBeyondAll(t *testing.T) {
	for _, text := range []string{"4294967295:00", "2562048:00", "99999999:59:59", "100000d9999999h", "100000d2000000h", "100001d", "NaNd", "Infd", "-1h", "-5d", "1d-1h", "1:60", "1:2:60", ":", "1:", "d", ""} {
		if d, err := parseLength(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
	for text, want := range map[string]time.Duration{"2400000:59:59": 2400000*time.Hour + 59*time.Minute + 59*time.Second, "0:0": 0, "1.5d": 36 * time.Hour, "100000d": 2400000 * time.Hour, "0d90s": 90 * time.Second} {
		if d, err := parseLength(text); err != nil || d != want {
			t.Errorf("%q: %v %v, want %v", text, d, err, want)
		}
	}
}

// TestManagersAddresses: a manager is https://HOST:PORT and nothing more, as it
// becomes a name that others compare.
func TestManagersAddresses(t *testing.T) {
	for _, good := range []string{"https://m.example.org:8443", "https://m.example.org", "https://127.0.0.1:1", "https://[::1]:8443"} {
		if err := checkManagerURL("--url", good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "m:8443", "http://m:8443", "https://", "https://:8443", "https://m:8443/", "https://m:8443/x", "https://m:8443?", "https://m:8443?a", "https://m:8443#x", "https://u@m:8443",
		"https://u:p@m:8443", "https://m:port", "https://m :8443", "HTTPS:m:8443"} {
		if err := checkManagerURL("--url", bad); err == nil || !strings.HasPrefix(err.Error(), "--url ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestManualText: no line of a text is a request of the formatter.
func TestManualText(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", ".TH x": `\&.TH x`, "'so /etc/passwd": `\&'so /etc/passwd`, "a\n.so x\n'b": "a\n\\&.so x\n\\&'b", `a\fBb`: `a\efBb`, "--flag": `\-\-flag`, "a.b's": "a.b's", "": "", "\n.x": "\n\\&.x",
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, line := range strings.Split(manEnvironment()+manFiles()+manExit(), "\n") {
		if strings.HasPrefix(line, ".") && line != ".TP" && !strings.HasPrefix(line, ".SH ") && !strings.HasPrefix(line, ".IP") && line != ".PP" {
			t.Errorf("a request nobody wrote: %q", line)
		}
	}
}

// TestMistakesInConfiguration: file, line, column, and the user's own words.
func TestMistakesInConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		"policy = 5\n":             "f:1:10: here is a TOML integer, and there must be a text, \"...\"",
		"\n\nno_such = 1\n":        "f:3:1: no such setting: no_such",
		"info = \"x\"\n":           "f:1:8: here is a TOML string, and there must be a list of texts, [\"...\"]",
		"policy = \"a\nb = 1\n":    "f:1:",
		"policy = 'a'\npolicy=1\n": "f:2:",
	} {
		var c struct {
			Policy string   `toml:"policy"`
			Info   []string `toml:"info"`
		}
		err := known{reflect.TypeOf(c), func(string) bool { return false }, config{}}.check("f", []byte(text))
		if err == nil {
			err = configError("f", []byte(text), toml.Unmarshal([]byte(text), &c))
		}
		if got := err.Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
	if got := configError("f", nil, errors.New("is a directory")).Error(); got != "f: is a directory" {
		t.Error(got)
	}
}

// TestHome: a home directory that cannot be relied upon is not one.
func TestHome(t *testing.T) {
	dir := t.TempDir()
	for home, absolute := range map[string]bool{dir: true, "": false, ".": false, "home": false} {
		get := homely(func(name string) string { return map[string]string{"HOME": home, "X": "x"}[name] })
		got := get("HOME")
		if absolute && got != home || !absolute && (got == home && home != "" || got != "" && !filepath.IsAbs(got)) {
			t.Errorf("HOME=%q: %q", home, got)
		}
		if get("X") != "x" {
			t.Error("other variables are changed")
		}
	}
}

// TestWishes: what a job asked for and did not need is told in round numbers with
// room to spare, and only where that is less than half.
func TestWishes(t *testing.T) {
	at := time.Unix(1e9, 0)
	for _, c := range []struct {
		attributes string
		memory     int64 // kB used
		ran        time.Duration
		want       string
	}{
		{"Memory = 8000;", 1000 * 1024, 0, "used 1000 MB of 8000 MB: 1300 MB"},
		{"Memory = 2000;", 1000 * 1024, 0, ""},
		{"Memory = 2600;", 1000 * 1024, 0, "used 1000 MB of 2600 MB: 1300 MB"},
		{"Memory = 2599;", 1000 * 1024, 0, ""},
		{"Memory = 8000; CPUNumber = 4;", 4000 * 1024, 0, "used 1000 MB of 8000 MB: 1300 MB"},
		{"Memory = 8000;", 1, 0, "used 1 MB of 8000 MB: 100 MB"},
		{"Memory = 8000;", 0, 0, ""}, // nobody knows
		{"Memory = 65536;", 20 << 20, 0, "used 20 GB of 64 GB: 25 GB"},
		{"", 1000 * 1024, time.Minute, ""},
		{"WallTime = 86400;", 0, time.Hour, "ran 1h of 1d: 1h30m"},
		{"WallTime = 86400;", 0, 7 * time.Hour, "ran 7h of 1d: 11h"},
		{"WallTime = 86400;", 0, 9 * time.Hour, ""},
		{"WallTime = 3600;", 0, time.Millisecond, "ran 1s of 1h: 10m"},
		{"Requirements = other.GlueHostMainMemoryRAMSize > 8000;", 1000 * 1024, 0, ""},
	} {
		job, err := jdl.ParseJob("j", []byte(`Executable = "/bin/ls"; `+c.attributes))
		if err != nil {
			t.Fatal(err)
		}
		o := &jobs.Outcome{Record: &jobs.Record{}}
		o.MaxMemory = c.memory
		if c.ran > 0 {
			o.Started, o.Ended = at, at.Add(c.ran)
		}
		var got []string
		for _, w := range wishesOf(job, o) {
			got = append(got, w.used+" of "+w.asked+": "+w.enough)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s, used %d kB in %v: %q, want %q", c.attributes, c.memory, c.ran, text, c.want)
		}
	}
	one, two := wish{used: "used 1 GB", asked: "8 GB", enough: "2 GB"}, wish{used: "ran 1h", asked: "1d", enough: "2h"}
	for want, got := range map[string]string{
		"It used 1 GB of 8 GB: asking for 2 GB would have done.":                             saying(0, one),
		"It used 1 GB of 8 GB: asking for 2 GB opens 1 more queue.":                          saying(1, one),
		"It used 1 GB of 8 GB and ran 1h of 1d: asking for 2 GB and 2h opens 3 more queues.": saying(3, one, two),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAnswersOfValues: every kind of value in the terms of the batch format, and
// what JSON has no number for.
func TestAnswersOfValues(t *testing.T) {
	for text, want := range map[string]string{
		"1": "{int 1}", "1.5": "{real 1.5}", "true": "{bool true}", `"a"`: "{string a}", "undefined": "{undefined <nil>}", "1/0": "{error <nil>}", "{1, \"a\"}": "{list [{int 1} {string a}]}",
		"{}": "{list []}", "[a = 1]": "{ad map[a:{int 1}]}", "real(\"INF\")": "{real Inf}", "real(\"-INF\")": "{real -Inf}", "real(\"NaN\")": "{real NaN}", "1e300": "{real 1e+300}",
	} {
		e, err := classad.ParseExpr("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := shownAnswer(answerOf(classad.NewAd().Eval(e, nil))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := realJSON(math.Inf(-1)); got != "-Inf" {
		t.Error(got)
	}
	for _, c := range []struct{ left, right, name, want string }{
		{"[requirements = true]", "[requirements = false]", "", "{bool false}"},
		{"[requirements = true]", "[requirements = false]", "leftMatchesRight", "{bool false}"},
		{"[requirements = true]", "[requirements = false]", "rightMatchesLeft", "{bool true}"},
		{"[requirements = 1]", "[requirements = 2.5]", "", "{bool true}"},
		{"[requirements = 1]", "[requirements = 0]", "", "{bool false}"},
		{"[requirements = 1]", "[]", "", "{eval-failed <nil>}"},
		{"[requirements = \"yes\"]", "[requirements = 1]", "", "{eval-failed <nil>}"},
		{"[requirements = target.x > 1; x = 5]", "[requirements = true; x = 2]", "", ""},
	} {
		left, err1 := recordOf(c.left)
		right, err2 := recordOf(c.right)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if got := shownAnswer(symmetric(left, right, c.name)); c.want != "" && got != c.want {
			t.Errorf("%s and %s, %s: %s, want %s", c.left, c.right, c.name, got, c.want)
		}
	}
}

func shownAnswer(a answer) string {
	switch v := a.V.(type) {
	case []answer:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = shownAnswer(x)
		}
		return "{" + a.T + " [" + strings.Join(parts, " ") + "]}"
	case map[string]answer:
		text := ""
		for name, x := range v {
			text += name + ":" + shownAnswer(x)
		}
		return "{" + a.T + " map[" + text + "]}"
	}
	return fmt.Sprintf("{%s %v}", a.T, a.V)
}

// TestNamesOfScripts: whatever a node is called, its script has a plain name of
// its own, in the order of the jobs.
func TestNamesOfScripts(t *testing.T) {
	for node, want := range map[string]string{
		"a": "0007-a.sh", "../x": "0007-___x.sh", "a b;$(id)": "0007-a_b___id_.sh", "é": "0007-_.sh", "": "0007-.sh", strings.Repeat("n", 100): "0007-" + strings.Repeat("n", 60) + ".sh",
	} {
		if got := scriptName(7, &jdl.Job{Node: node}); got != want || filepath.Base(got) != got {
			t.Errorf("%q: %s, want %s", node, got, want)
		}
	}
}

// TestColumnsOfJobs: every column has something to say of a job that has ended,
// and nothing that breaks a table of one that has told nothing yet.
func TestColumnsOfJobs(t *testing.T) {
	d := &deps{env: Env{Now: func() time.Time { return time.Unix(1e9, 0) }, Out: os.Stdout, Err: os.Stderr}}
	code := 3
	empty := &jobs.Outcome{Record: &jobs.Record{}}
	ended := &jobs.Outcome{Record: &jobs.Record{State: plugins.Done, ExitCode: &code, Name: "n", Site: "s", Resource: "r"}}
	ended.Started, ended.Ended, ended.Submitted = time.Unix(1e9-100, 0), time.Unix(1e9-40, 0), time.Unix(1e9-200, 0)
	for _, c := range jobColumns() {
		if text := c.text(d, empty); strings.ContainsAny(text, "\n\x1b") || strings.Contains(text, "0001-01-01") {
			t.Errorf("%s of a job that told nothing: %q", c.name, text)
		}
		_ = c.text(d, ended)
		if c.order != nil && (c.order(ended, ended) != 0 || c.order(ended, empty) != -c.order(empty, ended)) {
			t.Errorf("%s: its order is none", c.name)
		}
		if again, err := jobFacets().of(c.name); err != nil || again.name != c.name {
			t.Errorf("%s is not found by its name: %v", c.name, err)
		}
	}
	if _, err := jobFacets().of("colour"); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("a column that is none: %v", err)
	}
	if exitOf(empty) != -1 || exitText(empty) != "" || exitOf(ended) != 3 || exitText(ended) != "3" {
		t.Error("exit codes")
	}
	for _, names := range [][]string{jobFacets().usual, jobFacets().wide} {
		for _, name := range names {
			if _, err := jobFacets().of(name); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRatios: how many times as long is a number that people read.
func TestRatios(t *testing.T) {
	for r, want := range map[float64]string{2.1e-8: "x<0.01", 0.05: "x0.05", 1: "x1", 2.345: "x2.3", 12.6: "x13", 1234: "x1234"} {
		if got := ratioText(r); got != want {
			t.Errorf("%v: %s, want %s", r, got, want)
		}
	}
}

// TestAddressesBeforeWords: what is said of an address that ends with a colon has one before it.
func TestAddressesBeforeWords(t *testing.T) {
	var said strings.Builder
	d := &deps{env: Env{Err: &said, Now: time.Now, Getenv: func(string) string { return "" }}}
	reportSources(d, infosys.Snapshot{Outcomes: []infosys.Outcome{{Source: "slurm:", Err: errors.New("slurm:: it is down")}, {Source: "ldap://a", Err: errors.New("no")}}})
	reportServices(d, &broker.Plan{Services: []broker.Outcome{{Kind: "forecast", Name: "slurm:", Error: "no answer"}}})
	if want := "grid: source slurm: it is down\ngrid: source ldap://a: no\ngrid: forecast service slurm: no answer\n"; said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
}
