package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gridbroker/testdata/testbed"
)

const small = "[jobs]\ncount = 10\nload = 0.5\n[[site]]\nname = \"a\"\nprocs = 4\n"

// TestImpossibleTimes: a time below the simulation's grain, below zero or beyond all bounds is a mistake with its place; as a
// division by nothing, or a cycle that never ends, it would be found too late.
func TestImpossibleTimes(t *testing.T) {
	for text, want := range map[string]string{
		"cycle = \"500ms\"\n" + small:                                          "1:1: cycle: 500ms: want a time of 1s to",
		"cycle = \"-1m\"\n" + small:                                            "1:9: cycle: -1m: below zero",
		"cycle = \"800000h\"\n" + small:                                        "1:1: cycle: 800000h",
		"follow = \"1ns\"\n" + small:                                           "1:1: follow: 1ns",
		"replan = \"-5m\"\n" + small:                                           "1:10: replan: -5m: below zero",
		"latency = \"-5s\"\n" + small:                                          "1:11: latency: -5s: below zero",
		small + "refresh = \"-1h\"\n":                                          "7:11: site.refresh: -1h: below zero",
		"[jobs]\nmax_run = \"-1h\"\n" + small[7:]:                              "2:11: jobs.max_run: -1h: below zero",
		small + "[[failure]]\nkind = \"site\"\nfrom = \"-1h\"\nfor = \"1h\"\n": "9:8: failure.from: -1h: below zero",
		small + "[[failure]]\nkind = \"site\"\nfor = \"10ms\"\n":               "9:1: failure.1.for: 10ms",
		small + "[[failure]]\nkind = \"site\"\n":                               "7:3: failure.1.for: 0s",
	} {
		_, err := Parse("s.toml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "s.toml:"+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if !testbed.Whole(t) {
		return
	}
	for _, policy := range []string{"random", GrAS, GrASPaper, Replan} {
		s, err := Parse("s.toml", []byte("cycle = \"1s\"\nfollow = \"1s\"\nreplan = \"1s\"\n"+strings.Replace(small, "10", "3", 1)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Play(t.Context(), policy, 1)
		if err != nil || r.Jobs+r.Unplaced != 3 {
			t.Errorf("%s with the least times: %+v %v", policy, r, err)
		}
	}
}

// TestSilentDefaults: what would be taken for what was left out, or for nothing at all, is a mistake.
func TestSilentDefaults(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(small, "load = 0.5\n", "", 1):  "1:2: jobs.load: 0, or left out: say how much",
		small + "copies = 0\n":                         "7:10: site.copies: 0: want more; where it is left out it is 1",
		"cycle = \"0s\"\n" + small:                     "1:9: cycle: 0s: want more; where it is left out it is 1m",
		"follow = \"0s\"\n" + small:                    "1:10: follow: 0s: want more; where it is left out it is 5m",
		"replan = \"0m\"\n" + small:                    "1:10: replan: 0m: want more; where it is left out it is 30m",
		small + "home = 0\n":                           "7:8: site.home: 0: want more; where it is left out it is 1",
		small + "speed = 0.0\n":                        "7:9: site.speed: 0.0: want more",
		"[jobs]\nestimate = 0\n" + small[7:]:           "2:12: jobs.estimate: 0: want more",
		"[jobs]\nusers = 0\n" + small[7:]:              "2:9: jobs.users: 0: want more",
		"policies = [\"\"]\n" + small:                  "1:1: policies: an empty name",
		"latency = \"100ms\"\n" + small:                "1:1: latency: 100ms: want none, or a second",
		"[jobs]\nmax_run = \"1ns\"\n" + small[7:]:      "2:1: jobs.max_run: 1ns: want none, or a second",
		small + "agent = \"2000000h\"\n":               "7:1: site.1.agent: 2000000h0m0s: want a time",
		small + "agent = \"999ms\"\nhome = 1\n":        "7:1: site.1.agent: 999ms: want none",
		small + "refresh = \"0.5s\"\nlatency = true\n": "8:1: site.latency: no such key",
	} {
		_, err := Parse("s.toml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "s.toml:"+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := Parse("s.toml", []byte("policies = [\"formula:wait + nothing\"]\n"+small))
	if err == nil || !strings.Contains(err.Error(), "1:1: policies: ") || strings.Contains(err.Error(), Independent) {
		t.Errorf("a formula that is none: %v", err)
	}
}

// TestNames: a site's name is a host's in URLs. One with a slash was another host's, where jobs were
// sent again and again without end.
func TestNames(t *testing.T) {
	for _, name := range []string{"a/b", `a\u0000`, `\u001b[2J`, `a\nb`, strings.Repeat("x", 256)} {
		_, err := Parse("s.toml", []byte(strings.Replace(small, `"a"`, `"`+name+`"`, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), "s.toml:5:1: site.1.name: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse("s.toml", []byte("\uFEFF"+strings.Replace(small, `"a"`, `"Ärger im Büro"`, 1))); err != nil {
		t.Error("behind a byte order mark: ", err)
	}
}

// TestMisfits: a value of a wrong kind, and a key that is none, are told by the names of the file, with what would
// do and what is there.
func TestMisfits(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(small, "10", `"ten"`, 1):                            `2:9: jobs.count: want a whole number, found the text "ten"`,
		strings.Replace(small, "10", "1.5", 1):                              "2:9: jobs.count: want a whole number, found 1.5",
		strings.Replace(small, "0.5", "[1]", 1):                             "3:1: jobs.load: want a number, found a list",
		strings.Replace(small, `"a"`, "5", 1):                               "5:8: site.name: want a text in quotes, found 5",
		small + "services = 1\n":                                            "7:12: site.services: want true or false, found 1",
		small + "refresh = 60\n":                                            `7:11: site.refresh: want a time such as "90s", found 60`,
		small + "refresh = \"soon\"\n":                                      `7:11: site.refresh: want a time such as "90s", "5m" or "36h", found "soon"`,
		small + "refresh = \"1d\"\n":                                        `7:11: site.refresh: want a time such as "90s", "5m" or "36h", found "1d"`,
		small + "speed = 1,5\n":                                             "7:10: expected newline but got U+002C ','; numbers are written with a point and shares without a sign: 0.3",
		small + "local_load = 30 %\n":                                       "7:17: expected newline but got U+0025 '%'; numbers are written with a point",
		small + "speed = true, 1\n":                                         "7:13: expected newline but got U+002C ','",
		small + "[site.refresh]\n":                                          `7:2: site.refresh: want a time such as "90s", found a table`,
		small + "[site.name.x]\n":                                           "7:12: site.name: want a text in quotes, found a table",
		"policies = \"random\"\n" + small:                                   `1:12: policies: want a list of texts, found the text "random"`,
		"policies = [\"random\", 5]\n" + small:                              "1:23: policies.2: want a text in quotes, found 5",
		"jobs = {count = true, load = 1}\n[[site]]\n":                       "1:17: jobs.count: want a whole number, found true",
		"site = [{name = \"a\", procs = \"x\"}]\n":                          `1:30: site.1.procs: want a whole number, found the text "x"`,
		"jobs.count = 2020-01-01\n":                                         "1:14: jobs.count: want a whole number, found the date or time 2020-01-01",
		"seeds = 99999999999999999999\n":                                    "1:9: seeds: decimal number is too large",
		strings.Replace(small, "[jobs]", "[[jobs]]", 1):                     "1:3: jobs: want a table, found one of several tables",
		strings.Replace(small, "procs", "proc", 1):                          "6:1: site.proc: no such key; did you mean procs?",
		small + "[netwrk]\n":                                                "7:2: netwrk: no such key; did you mean network?",
		small + "[network]\nlag = 1\n":                                      "8:1: network.lag: no such key; there are loss, bandwidth",
		small + "scheduler = \"" + strings.Repeat("x", 100) + "\"\nhome = ": "8:7: expected",
		"name = \"" + strings.Repeat("x", 100) + "\"\nseeds = \"" + strings.Repeat("y", 100) + "\"": `2:9: seeds: want a whole number, found the text "` + strings.Repeat("y", 40) + `..."`,
	} {
		_, err := Parse("s.toml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "s.toml:"+want) || strings.Contains(err.Error(), "sim.") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Parse("s.toml", []byte("[jobs]\ncount = 1\nload = 1\n")); err == nil || !strings.Contains(err.Error(), "site: none: write [[site]]") {
		t.Errorf("without sites: %v", err)
	}
	if _, err := Parse("s.toml", []byte("\x1f\x8b\b\x00trace")); err == nil || !strings.Contains(err.Error(), "no text in UTF-8") {
		t.Errorf("a trace that is packed: %v", err)
	}
	many := "[jobs]\ncount = 1\nload = 1\n" + strings.Repeat("[[site]]\nname = \"a\"\nprocs = 1\n", 20_000)
	if _, err := Parse("s.toml", []byte(many)); err == nil || !strings.Contains(err.Error(), "the 10001th site: want 10000 at most") {
		t.Errorf("%.200v", err)
	}
}

// TestTooLongARun: a load so small that the jobs would take more than any simulation's time is told, and not played, and
// neither is a trace without end.
func TestTooLongARun(t *testing.T) {
	for _, load := range []string{"1e-09", "1e-300"} {
		s, err := Parse("s.toml", []byte(strings.Replace(small, "0.5", load, 1)+"local_load = 0.5\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Play(t.Context(), "random", 1); err == nil || !strings.Contains(err.Error(), "jobs.load: "+load+": its jobs would take more than 87600h0m0s") {
			t.Errorf("a load of %s: %v", load, err)
		}
	}
	name := filepath.Join(t.TempDir(), "s.toml")
	if err := os.WriteFile(name, []byte(small+"trace = \"/dev/urandom\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loaded(name); err == nil || !strings.Contains(err.Error(), "s.toml:7:1: site.1.trace: /dev/urandom: 100000 lines in a row are no records: no trace") {
		t.Errorf("a trace without end: %v", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(name, fmt.Appendf(nil, "%strace = %q\n", small, pipe), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loaded(name); err == nil || !strings.Contains(err.Error(), "s.toml:7:1: site.1.trace: "+pipe+" is a named pipe") {
		t.Errorf("a pipe: %v", err)
	}
}

// TestImpossibleNumbers: NaN, infinity and what is beyond the bounds is refused wherever a number stands.
func TestImpossibleNumbers(t *testing.T) {
	for _, where := range []struct{ key, low, high string }{
		{"jobs.load", "0", "11"}, {"jobs.estimate", "-1", "1001"}, {"jobs.input_mb", "-1", "1e10"}, {"jobs.users", "-1", "1000001"}, {"jobs.retries", "-1", "1001"},
		{"jobs.max_procs", "-1", "5"}, {"network.loss", "-0.1", "1"}, {"network.bandwidth", "-1", "1e10"},
		{"site.procs", "0", "16777217"}, {"site.speed", "-1", "101"}, {"site.local_load", "-1", "11"}, {"site.home", "-1", "1e10"}, {"seeds", "0", "10001"},
	} {
		for _, value := range []string{where.low, where.high, "nan", "inf", "-inf"} {
			if value == "" {
				continue
			}
			if _, err := Parse("s.toml", []byte(written(where.key, value))); err == nil {
				t.Errorf("%s = %s was taken", where.key, value)
			}
		}
	}
}

// written is a small scenario with one value.
func written(key, value string) string {
	tables := map[string][]string{"jobs": {"count = 10", "load = 0.5"}, "site": {`name = "a"`, "procs = 4"}, "network": nil, "": nil}
	table, name := "", key
	if at := strings.IndexByte(key, '.'); at > 0 {
		table, name = key[:at], key[at+1:]
	}
	lines := []string{name + " = " + value}
	for _, l := range tables[table] {
		if !strings.HasPrefix(l, name+" ") {
			lines = append(lines, l)
		}
	}
	tables[table] = lines
	var text []string
	for _, table := range []string{"", "jobs", "network", "site"} {
		if head := "[" + table + "]"; table == "site" {
			text = append(text, "["+head+"]")
		} else if table != "" {
			text = append(text, head)
		}
		text = append(text, tables[table]...)
	}
	return strings.Join(text, "\n") + "\n"
}

// TestVariedValues: what is varied is told from what cannot be, before anything is played, and the scenario itself stays as it is.
func TestVariedValues(t *testing.T) {
	s, err := Parse("s.toml", []byte(small+"[[site]]\nname = \"b\"\nprocs = 8\n"))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(s)
	for _, c := range [][3]string{
		{"load", "many", `load: "many": want a number`}, {"load", "nan", "jobs.load: NaN"}, {"load", "-1", "jobs.load: -1"}, {"loss", "1", "network.loss"},
		{"estimate", "0", ""}, {"estimate", "1e9", "jobs.estimate"}, {"max-procs", "1.5", "want a whole number"}, {"max-procs", "-2", "jobs.max_procs"}, {"max-procs", "9", "jobs.max_procs: 9: the widest site has 8 processors"}, {"max-procs", "8", ""},
		{"refresh", "5", `refresh: "5"`}, {"refresh", "-5m", "site.1.refresh"}, {"refresh", "5m", ""}, {"spread", "0.5", "want a factor from 1 to 1000"},
		{"spread", "nan", "want a factor"}, {"spread", "16", ""}, {"local-load", "inf", "site.1.local_load"}, {"colour", "red", "cannot be varied; load, "},
	} {
		varied, err := s.With(c[0], c[1])
		if c[2] == "" && err != nil || c[2] != "" && (err == nil || !strings.Contains(err.Error(), c[2])) {
			t.Errorf("%s = %s: %v, want %q", c[0], c[1], err, c[2])
		}
		if c[0] == "spread" && c[2] == "" && math.Abs(varied.Sites[1].Speed/varied.Sites[0].Speed-16) > 1e-9 {
			t.Errorf("speeds %g and %g", varied.Sites[0].Speed, varied.Sites[1].Speed)
		}
		played := false
		_, err = s.Vary(t.Context(), c[0], []string{"1", c[1]}, func(*Scenario, string) (Options, error) {
			played = true
			return Options{}, errors.New("not here")
		})
		if c[2] != "" && (err == nil || played) {
			t.Errorf("%s = %s is found when it is played: %v", c[0], c[1], err)
		}
	}
	if after, _ := json.Marshal(s); string(after) != string(before) {
		t.Errorf("the scenario has changed:\n%s\n%s", before, after)
	}
}

// TestEndlessScenarios: a file without an end is refused when it is longer than any scenario.
func TestEndlessScenarios(t *testing.T) {
	if _, err := loaded("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero: longer than 16 MiB") {
		t.Error(err)
	}
	s, err := Parse("s.toml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/zero", "/dev/full"} {
		if _, err := OpenJournal(name, s); err == nil || !strings.Contains(err.Error(), name+": no plain file") {
			t.Errorf("a journal %s: %v", name, err)
		}
	}
}

// TestJournals: a journal goes on where it was cut off; one of another scenario, and a file that is no journal at all, are left as
// they are.
func TestJournals(t *testing.T) {
	testbed.Computes(t)
	s, err := Parse("s.toml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "journal")
	var last *Journal // one at a time has it
	t.Cleanup(func() { last.Close() })
	open := func() (*Journal, error) {
		if last != nil {
			last.Close()
		}
		j, err := OpenJournal(name, s)
		if err == nil {
			last = j
		}
		return j, err
	}
	j, err := open()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		if err := j.Keep(RunID{}, &Run{Policy: "random", Seed: seed, Jobs: 10}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// Cut off anywhere, what is whole of it is kept, and what comes is written behind that.
	ends := 0
	for cut := range whole {
		if err := os.WriteFile(name, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if cut > 0 && whole[cut-1] == '\n' {
			ends++
		}
		j, err := open()
		if err != nil || len(j.Have) != max(0, ends-1) {
			t.Fatalf("cut at %d: %v, %d runs, want %d", cut, err, len(j.Have), max(0, ends-1))
		}
		if err := j.Keep(RunID{}, &Run{Policy: "hybrid", Seed: 9}); err != nil {
			t.Fatal(err)
		}
		if j, err = open(); err != nil || j.Have[RunID{"hybrid", 9}] == nil || len(j.Have) != max(0, ends-1)+1 {
			t.Fatalf("cut at %d, written to and read again: %v", cut, err)
		}
	}
	for _, text := range []string{"my notes", "my notes\n", `{"scenario":"other"}` + "\n", "{", `{"scenario":"` + strings.Repeat("0", 64), string(whole) + "{}x\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := open()
		now, _ := os.ReadFile(name)
		if text == "{" { // may be the beginning of ours
			continue
		}
		if err == nil || string(now) != text {
			t.Errorf("%.40q: %v, and the file is %.40q", text, err, now)
		}
	}
}
