package jobs_test

import (
	"context"
	"strings"
	"testing"

	"gridbroker/jobs"
	"gridbroker/plugins"
)

// TestPostScriptOfSeveral: where a node has become several jobs, its PostScript runs once, when all have ended, however they
// did; how it ends is how the node does: what failed is made good, or tried again with it. Where nothing was begun it does not run.
func TestPostScriptOfSeveral(t *testing.T) {
	for name, c := range map[string]struct {
		exits    []int
		pre      string
		post     string
		more     string
		ran      string
		requests int
		failures string // of before, S.0, S.1, S.post, child
	}{
		"all well":       {[]int{0, 0}, "exit 0", "echo $@ >> log", "", "S 0 0 0:2 2", 3, "-----"},
		"made good":      {[]int{0, 3}, "exit 0", "echo $@ >> log", "", "S 3 0,3 0:1,3:1 2", 3, "-----"},
		"not made good":  {[]int{3, 0}, "exit 0", "echo $@ >> log; exit $2", "", "S 3 0,3 0:1,3:1 2", 2, "--SPC"},
		"not content":    {[]int{0, 0}, "exit 0", "echo $@ >> log; exit 9", "", "S 0 0 0:2 2", 2, "---PC"},
		"tried again":    {[]int{3, 0, 0}, "exit 0", "echo $@ >> log; exit $2", "RetryCount = 1; RetryOnExit = true;", "S 3 0,3 0:1,3:1 2|S 0 0 0:2 2", 4, "-----"},
		"all again":      {[]int{0, 0}, "exit 0", "echo $@ >> log; test $(wc -l < log) = 2", "RetryCount = 1; RetryOnExit = true;", "S 0 0 0:2 2|S 0 0 0:2 2", 5, "-----"},
		"left out":       {nil, "echo that of node B; exit 7", "echo $@ >> log", "SkipAlong = true;", "", 1, "-----"},
		"not left out":   {[]int{0, 0}, "exit 0", "echo $@ >> log", "SkipAlong = true;", "S 0 0 0:2 2", 3, "-----"},
		"nothing begins": {nil, "exit 1", "echo $@ >> log", "", "", 0, "bSSPC"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScriptRig(t, c.exits...)
			script := s.script(t, "pre.sh", c.pre)
			script.Skip = 7
			pre, along := scriptNode(t, "S.pre", script, nil, "NoJob = true;"), ""
			if strings.Contains(c.more, "SkipAlong") {
				along = "SkipAlong = true;"
			}
			post := s.script(t, "post.sh", c.post, "S", "$RETURN", "$EXIT_CODES", "$EXIT_CODE_COUNTS", "$JOB_COUNT")
			rs := s.run(t, pre, scriptNode(t, "S.0", nil, nil, along, "S.pre"), scriptNode(t, "S.1", nil, nil, along, "S.pre"),
				scriptNode(t, "S.post", nil, post, "NoJob = true; AfterAny = true;"+c.more, "S.0", "S.1"), scriptNode(t, "B", nil, nil, "", "S.post"))
			if got := s.said(t, "log"); got != c.ran {
				t.Errorf("ran %s, want %s", got, c.ran)
			}
			if n := len(s.accepted()); n != c.requests {
				t.Errorf("%d jobs were sent, want %d", n, c.requests)
			}
			if post := rs[3].Record; name == "left out" && post.Reason != "the PreScript of node S.pre ended with exit code 7: the job is left out" {
				t.Errorf("S.post is %s: %s", post.State, post.Reason)
			}
			if got := failures(rs); got != c.failures {
				t.Errorf("failed: %s, want %s", got, c.failures)
			}
		})
	}
}

func failures(rs []*jobs.Outcome) string {
	text := []byte("bSSPC")
	for i, o := range rs {
		if !o.Failure() {
			text[i] = '-'
		}
	}
	if string(text[1:3]) == "S-" { // whichever was sent first
		text[1], text[2] = '-', 'S'
	}
	return string(text)
}

// TestSeveralSentAgain: sent again by the user, the jobs that failed go with the PostScript that was not content; where none
// had failed, all do.
func TestSeveralSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		exits []int
		want  int
	}{"one had failed": {[]int{3, 0}, 3}, "none had": {[]int{0, 0}, 4}} {
		s := newScriptRig(t, c.exits...)
		post := s.script(t, "post.sh", "echo x >> log; test $(wc -l < log) = 2", "$RETURN")
		rs := s.run(t, scriptNode(t, "S.0", nil, nil, ""), scriptNode(t, "S.1", nil, nil, ""), scriptNode(t, "S.post", nil, post, "NoJob = true; AfterAny = true;", "S.0", "S.1"))
		if rs[2].State != plugins.Failed {
			t.Fatalf("%s: %s", name, rs[2].State)
		}
		if err := s.Resubmit(context.Background(), rs, jobs.Anew{Discover: always(site("a")), Anywhere: true}); err != nil {
			t.Fatal(err)
		}
		wait(t, s.Controller, rs, site("a"))
		if n := len(s.accepted()); n != c.want || rs[2].Failure() || rs[0].Failure() {
			t.Errorf("%s: %d jobs were sent, want %d; %s %s", name, n, c.want, rs[2].State, rs[2].Reason)
		}
	}
}
