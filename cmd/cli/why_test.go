package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// TestWhyTellsWhatHelps: the advice for a job that nobody took goes by whose fault that was, and one whose cancellation was asked
// for is not said to be done some time.
func TestWhyTellsWhatHelps(t *testing.T) {
	t.Parallel()
	running := plugins.Status{State: plugins.Running, Native: "at it"}
	for what, c := range map[string]struct {
		l      *liar
		cancel bool
		want   []string
		not    string
	}{
		"the description's": {&liar{no: &plugins.Error{Kind: plugins.Invalid, Op: "submit", Said: "no such queue"}}, false,
			[]string{"cannot be given to such computing elements", "none of another kind", "Mend the description"}, "own fault"},
		"the program's": {&liar{says: plugins.Status{State: plugins.Failed, Native: "FAILED", Reason: "the wall time was used up", Fault: plugins.JobsFault}}, false,
			[]string{"the job's own fault", "Mend the description"}, "elsewhere"},
		"the credential's": {&liar{no: &plugins.Error{Kind: plugins.Credential, Op: "submit", Said: "expired"}}, false,
			[]string{"grid auth doctor", "grid resubmit --same"}, "elsewhere"},
		"the site's": {&liar{no: &plugins.Error{Kind: plugins.Refused, Op: "submit", Said: "full"}}, false, []string{"sends it elsewhere"}, "credential"},
		"nobody's":   {&liar{says: running}, true, []string{"cancellation was asked for", "grid watch"}, "expected to be done"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/true"; WallTime = 600; RetryCount = 0;`), 0o600); err != nil {
			t.Fatal(err)
		}
		atLiarIn(t, dir, c.l, "submit", "j.jdl")
		if c.cancel {
			atLiarIn(t, dir, c.l, "cancel", "--all")
		}
		atLiarIn(t, dir, c.l, "status", "--all")
		_, out, errs := atLiarIn(t, dir, c.l, "why", "--all")
		text := strings.Join(strings.Fields(out), " ")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not said\n%s%s", what, want, out, errs)
			}
		}
		if strings.Contains(text, c.not) {
			t.Errorf("%s: %q is said\n%s", what, c.not, out)
		}
	}
}

// silent never answers a request, and none arrives there.
type silent struct{ liar }

func (*silent) Find(context.Context, glue.Endpoint, []string) (map[string]plugins.Handle, error) {
	return nil, nil
}

func (*silent) SettleTime() time.Duration { return time.Nanosecond }

// TestWhyTellsOfLostRequests: what became of a request that never arrived is said as that, and what to do.
func TestWhyTellsOfLostRequests(t *testing.T) {
	t.Parallel()
	dir, s := t.TempDir(), &silent{liar{no: &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Said: "no answer"}}}
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/true"; WallTime = 600;`), 0o600); err != nil {
		t.Fatal(err)
	}
	backends := liars(&s.liar)
	backends[0].Open = func(plugins.Config) (plugins.Submitter, error) { return s, nil }
	if code, out, errs := oneShotWith(t, dir, backends, "submit", "--info", "liar:den", "j.jdl"); code != 6 {
		t.Fatalf("submit ends with %d\n%s%s", code, out, errs)
	}
	oneShotWith(t, dir, backends, "status", "--all")
	_, out, errs := oneShotWith(t, dir, backends, "why", "--all")
	text := strings.Join(strings.Fields(out), " ")
	if !strings.Contains(text, "where the request never arrived") || !strings.Contains(text, "Send it: grid resubmit") {
		t.Errorf("why says\n%s%s", out, errs)
	}
}
