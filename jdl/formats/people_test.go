package formats

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gridbroker/jdl"
)

var update = flag.Bool("update", false, "write what is said of people's descriptions anew")

// peoplesInputs are files of the corpus that are no descriptions of their own.
var peoplesInputs = []string{".txt", ".csv", ".inc", ".conf", ".config", ".json", ".c", "/pro.sh", "/epi.sh", "/run.sh", "/starter.sh", "/analyse.py", "/tail.dag"}

// TestPeople reads descriptions in every language as people write them, and says of each what is found
// in it, what its first and last job are and what every other language says of them: all as in verdicts.txt.
func TestPeople(t *testing.T) {
	dir, err := filepath.Abs("../../testdata/jdl/people")
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*"))
	var all strings.Builder
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.IsDir() || slices.ContainsFunc(peoplesInputs, func(end string) bool { return strings.HasSuffix(path, end) }) {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(strings.ReplaceAll(verdict(path, src, jdl.WithRoot(os.DirFS("/")), jdl.WithDir(dir)), dir, "DIR"))
	}
	golden := filepath.Join(dir, "verdicts.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for part := range strings.SplitSeq(string(want), "== ") {
		wanted[part] = true
	}
	for part := range strings.SplitSeq(all.String(), "== ") {
		if !wanted[part] {
			t.Errorf("no longer as in verdicts.txt:\n%s", part)
		}
		delete(wanted, part)
	}
	for part := range wanted {
		t.Errorf("verdicts.txt has, and it is not so:\n%s", part)
	}
}

// verdict is what is said of one description.
func verdict(path string, src []byte, opts ...jdl.Option) string {
	var b strings.Builder
	fmt.Fprintf(&b, "== %s (%s)\n", filepath.Base(path), Detect(src))
	for _, d := range Lint(path, src, opts...) {
		fmt.Fprintf(&b, "%d:%d %s %s: %s\n", d.Pos.Line, d.Pos.Col, d.Severity, d.Code, d.Msg)
	}
	set, err := ParseJobs(path, src, opts...)
	if err != nil {
		return b.String()
	}
	fmt.Fprintf(&b, "%s of %d\n", set.Kind, len(set.Jobs))
	for i, j := range set.Jobs {
		if i == 0 || i == len(set.Jobs)-1 {
			said(&b, j)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(languages)) {
		translated(&b, f, set)
	}
	return b.String()
}

// said is what a job says, but for what is empty.
func said(b *strings.Builder, j *jdl.Job) {
	has := facts(j)
	maps.Copy(has, words(j))
	has["After"], has["Node"] = strings.Join(j.After, " "), j.Node
	for name, s := range map[string]*jdl.Script{"PreScript": j.Pre, "PostScript": j.Post} {
		if s != nil {
			has[name] = fmt.Sprintf("%s in %s, env %d, again %d, skip %d, files %d, rest %s", s, s.Dir, len(s.Env), s.Again, s.Skip, len(s.Files), s.Rest)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if v := has[name]; v != "" && v != `""` && v != "[]" && v != `[""]` {
			fmt.Fprintf(b, "  %s %s\n", name, v)
		}
	}
}

// translated is what becomes of the jobs in another language: what is left out of them, and why.
func translated(b *strings.Builder, f Format, set *jdl.JobSet) {
	l := languages[f]
	seen := map[string]bool{}
	for _, j := range set.Jobs {
		out := j.BrokerOnly(l.written(j)...)
		if _, err := l.write(j, false); err != nil {
			out = append(out, l.losses(j)...)
			if _, err := l.write(j, true); err != nil {
				fmt.Fprintf(b, "%s: cannot: %v\n", f, err)
				return
			}
		}
		for _, d := range out {
			seen[d.Severity.String()+" "+d.Msg] = true
		}
	}
	fmt.Fprintf(b, "%s: written\n", f)
	for _, text := range slices.Sorted(maps.Keys(seen)) {
		fmt.Fprintf(b, "  %s\n", text)
	}
}
