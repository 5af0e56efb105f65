package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"gridbroker/jobs"
	"gridbroker/plugins"
)

// screenJobs are two sweeps, a DAG and a job by itself, in all states.
func screenJobs(now time.Time) []*jobs.Outcome {
	var rs []*jobs.Record
	add := func(parent, name string, state plugins.State, more func(*jobs.Record)) {
		r := &jobs.Record{ID: fmt.Sprintf("1m80f0ftgax%04d", len(rs)), Name: name, Parent: parent, State: state,
			At: "ce.example.org/long", Sent: now.Add(-time.Hour), Predicted: 5400, Created: now.Add(-time.Hour)}
		if more != nil {
			more(r)
		}
		rs = append(rs, r)
	}
	one, zero := 1, 0
	for i := range 60 {
		state := []plugins.State{plugins.Done, plugins.Done, plugins.Running, plugins.Queued}[i%4]
		add("1m80fsweepaaaaa", fmt.Sprintf("scan-%d", i), state, func(r *jobs.Record) {
			r.Started = now.Add(-time.Duration(i) * time.Minute)
			if state == plugins.Done {
				r.ExitCode, r.Ended = &zero, now
			}
		})
	}
	add("1m80fsweepbbbbb", "naïve-日本語-name-that-is-long", plugins.Failed, func(r *jobs.Record) { r.Reason = "reached its wall time limit of 2h" })
	add("1m80fsweepbbbbb", "exit", plugins.Done, func(r *jobs.Record) { r.ExitCode = &one })
	add("", "alone", plugins.Held, func(r *jobs.Record) { r.Reason = "held by the administrator" })
	return jobs.Outcomes(rs)
}

func dagJobs(now time.Time) []*jobs.Outcome {
	var rs []*jobs.Record
	for i, name := range []string{"generate", "simulate", "digitise", "reconstruct"} {
		r := &jobs.Record{ID: fmt.Sprintf("1m80f0fdag%05d", i), Name: name, Parent: "1m80fdagcccccc", State: plugins.Intended}
		if i > 0 {
			r.After = []string{rs[i-1].ID}
		}
		rs = append(rs, r)
	}
	rs[0].State = plugins.Running
	return jobs.Outcomes(rs)
}

// The live view fits any terminal: golden text at three sizes, with and without colours, and never a line too wide or
// one too many at any size.
func TestScreens(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	a := &deps{env: Env{Now: func() time.Time { return now }, Getenv: func(string) string { return "" }}}
	messages := []string{"11:59:01  scan-4 done at ce.example.org/long exit code 0", "11:59:58  exit done at ce.example.org/long exit code 1"}
	for name, os := range map[string][]*jobs.Outcome{"sweeps": screenJobs(now), "dag": dagJobs(now), "mixed": append(screenJobs(now), dagJobs(now)...)} {
		s := newScreen(a, os, now.Add(-time.Hour), 0, messages)
		for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 50}} {
			golden(t, fmt.Sprintf("screen-%s-%dx%d", name, size[0], size[1]), s.draw(size[0], size[1]))
		}
		for width := 40; width < 130; width += 7 {
			for height := 6; height < 40; height += 3 {
				lines := s.draw(width, height)
				if len(lines) >= height {
					t.Errorf("%s: %d lines in a terminal of %dx%d", name, len(lines), width, height)
				}
				for _, l := range lines {
					if w := runewidth.StringWidth(l); w > width {
						t.Errorf("%s: %d columns in a terminal of %dx%d: %q", name, w, width, height, l)
					}
				}
			}
		}
	}
	a.env.Terminal = true
	s := newScreen(a, screenJobs(now), now.Add(-time.Hour), 0, nil)
	for _, l := range s.draw(80, 24) {
		if displayed(l) > 80 || strings.Count(l, "\x1b[") != 2*strings.Count(l, "\x1b[0m") {
			t.Errorf("%q", l)
		}
	}
}

// TestJobGroupsHaveBars: jobs that share a JobGroup and nothing else have a bar of their own, beside those of no group.
func TestJobGroupsHaveBars(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	d := &deps{env: Env{Now: func() time.Time { return now }, Getenv: func(string) string { return "" }}}
	var os []*jobs.Outcome
	for i, group := range []string{"prod7", "", "prod7", "prod8"} {
		os = append(os, &jobs.Outcome{Record: &jobs.Record{ID: fmt.Sprint(i), Name: "job", ParentName: group}})
	}
	totals := map[string]int{}
	for _, g := range newScreen(d, os, now, 0, nil).groups {
		totals[g.name] += g.total
	}
	if want := map[string]int{"prod7": 2, "jobs": 1, "prod8": 1}; !maps.Equal(totals, want) {
		t.Errorf("%v, want %v", totals, want)
	}
}

// TestBars: whatever the shares of the phases are, a bar is one narrower than its screen, and a phase of few jobs among thousands
// has its letter.
func TestBars(t *testing.T) {
	s := &screen{style: func(_ style, text string) string { return text }}
	for _, phase := range [][phases]int{{14, 0, 0, 4986, 0}, {1, 1, 1, 1, 4996}, {4996, 1, 1, 1, 1}, {0, 0, 1, 0, 99999}, {1, 0, 99998, 0, 1}, {0, 0, 0, 0, 1}, {3, 3, 3, 3, 3}} {
		g := screenGroup{name: "scan", phase: phase}
		for _, n := range phase {
			g.total += n
		}
		for width := 40; width < 200; width++ {
			line := s.bar(g, width)
			if len(line) != width-1 {
				t.Errorf("%v: %d columns of %d: %s", phase, len(line), width, line)
			}
			for p, n := range phase {
				if n > 0 && !strings.Contains(line[17:], phaseLook[p].letter) {
					t.Errorf("%v: nothing of %d %s in %s", phase, n, phaseLook[p].word, line)
				}
			}
		}
	}
}

// TestScreenOfPlainTerminals: on a terminal that shows no more than ASCII nothing else is drawn.
func TestScreenOfPlainTerminals(t *testing.T) {
	for locale, plain := range map[string]bool{"": false, "C": true, "POSIX": true, "C.UTF-8": false, "de_DE.utf8": false, "de_DE.ISO-8859-1": true} {
		d := &deps{env: Env{Now: time.Now, Getenv: func(name string) string { return map[string]string{"LANG": locale}[name] }, Out: io.Discard}}
		s := newScreen(d, nil, time.Now(), 0, []string{strings.Repeat("a long message ", 20)})
		text := strings.Join(s.draw(60, 15), "\n")
		if strings.Contains(text, "…") == plain || strings.Contains(text, "~") != plain {
			t.Errorf("LANG=%s:\n%s", locale, text)
		}
	}
}

// golden compares lines with a file of testdata; UPDATE_GOLDEN writes it anew.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	got := strings.Join(lines, "\n") + "\n"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s (%v):\n%s", name, err, got)
	}
}

// TestNamesAreToldApart: where a name is cut its end stays, by which the jobs of a sweep differ.
func TestNamesAreToldApart(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"a-rather-long-name-of-a-sweep-17", 16, "a-rather…weep-17"}, {"a-rather-long-name-of-a-sweep-17", 15, "a-rathe…weep-17"},
		{"short", 16, "short"}, {"abcdef", 5, "ab…ef"}, {"日本語の名前です", 9, "日本…です"}, {"abc", 2, "a…"},
	} {
		if got := middle(c.name, c.width); got != c.want {
			t.Errorf("%s in %d: %q, want %q", c.name, c.width, got, c.want)
		}
	}
}

// TestTimeLeft: when jobs will have ended is said where there is ground for it, and then alone: a forecast of each job that
// is left, or the pace of three that have ended meanwhile.
func TestTimeLeft(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	a := &deps{env: Env{Now: func() time.Time { return now }, Getenv: func(string) string { return "" }}}
	job := func(state plugins.State, predicted float64, guessed bool) *jobs.Record {
		return &jobs.Record{ID: "1m80f0ftgaxaaaa", State: state, Sent: now.Add(-time.Minute), Predicted: predicted, Guessed: guessed}
	}
	running, done := plugins.Running, plugins.Done
	for name, c := range map[string]struct {
		rs   []*jobs.Record
		want time.Duration
	}{
		"foretold":            {[]*jobs.Record{job(running, 3660, false), job(running, 1860, false)}, time.Hour},
		"guessed":             {[]*jobs.Record{job(running, 3660, true)}, 0},
		"one of them guessed": {[]*jobs.Record{job(running, 3660, false), job(running, 60, true)}, 0},
		"one not sent":        {[]*jobs.Record{job(running, 3660, false), {ID: "1m80f0ftgaxaaab", State: plugins.Intended}}, 0},
		"two have ended":      {[]*jobs.Record{job(done, 60, true), job(done, 60, true), job(running, 3660, true)}, 0},
		"three have ended":    {[]*jobs.Record{job(done, 60, true), job(done, 60, true), job(done, 60, true), job(running, 3660, true)}, 20 * time.Second},
		"late":                {[]*jobs.Record{job(running, 30, false)}, 0},
	} {
		if got := timeLeft(a, jobs.Outcomes(c.rs), now.Add(-time.Minute), 0); got != c.want {
			t.Errorf("%s: %v left, want %v", name, got, c.want)
		}
	}
}
