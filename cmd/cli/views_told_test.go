package cli_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// club is a liar's den of which one VO has a view of its own.
type club struct{ liar }

func (c *club) Source(u *url.URL) (plugins.Source, error) { return members{den(u.String())}, nil }

type members struct{ den }

func (m members) Resources(ctx context.Context) ([]glue.Resource, error) {
	rs, err := m.den.Resources(ctx)
	view := rs[0]
	view.ID, view.ViewOf, view.Access = rs[0].ID+"#club", "club", []string{"VO:club"}
	return append(rs, view), err
}

// TestProbePassesViewsOfOthersOver: a view of a queue that a VO has is told apart from the whole, and is no failure of the
// site to those whom it does not let in.
func TestProbePassesViewsOfOthersOver(t *testing.T) {
	t.Parallel()
	c := &club{liar{no: &plugins.Error{Kind: plugins.Refused, Op: "submit", Said: "no"}}}
	backends := []plugins.Backend{{Name: "liar", Schemes: []string{"liar"}, URLs: []string{"liar:DEN"}, Interfaces: []string{liarInterface},
		Open: func(plugins.Config) (plugins.Submitter, error) { return c, nil }}}
	code, out, errs := oneShotWith(t, t.TempDir(), backends, "probe", "--info", "liar:den", "den")
	if code != 1 || strings.Count(out, "den ") != 1 || strings.Contains(out, "[club]") || !strings.Contains(out, "failed at submit") {
		t.Errorf("probed by nobody: code %d\n%s%s", code, out, errs)
	}
	_, out, errs = oneShotWith(t, t.TempDir(), backends, "probe", "--vo", "club", "--info", "liar:den", "den")
	if !strings.Contains(out, "den [club]  failed at submit") {
		t.Errorf("probed by a member:\n%s%s", out, errs)
	}
}

// TestCatOfWhatIsNotThereYet: a job that waits has written nothing, which is told.
func TestCatOfWhatIsNotThereYet(t *testing.T) {
	t.Parallel()
	dir, l := t.TempDir(), &liar{says: plugins.Status{State: plugins.Queued, Native: "waiting"}}
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/true"; StdOutput = "out.txt";`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := atLiarIn(t, dir, l, "submit", "j.jdl"); code != 0 {
		t.Fatal(errs)
	}
	code, out, errs := atLiarIn(t, dir, l, "cat", "--all")
	if code != 0 || out != "" || !strings.Contains(errs, "out.txt is not there yet: job ") || !strings.Contains(errs, " is accepted") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
}

// TestNumbersOfSites: who types what a site calls a job is told which job that is.
func TestNumbersOfSites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &numbering{liar{says: plugins.Status{State: plugins.Queued, Native: "waiting"}}}
	backends := []plugins.Backend{{Name: "liar", Schemes: []string{"liar"}, URLs: []string{"liar:DEN"}, Interfaces: []string{liarInterface},
		Open: func(plugins.Config) (plugins.Submitter, error) { return c, nil }}}
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/true";`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, errs := oneShotWith(t, dir, backends, "submit", "--info", "liar:den", "j.jdl")
	id, _, _ := strings.Cut(out, " ")
	for _, typed := range []string{"4711-x", "https://den.example.org/rest/1.0/jobs/4711-x"} {
		code, out, said := oneShotWith(t, dir, backends, "why", typed)
		if code != 2 || !strings.Contains(said, "no job "+typed+" (at its site "+id+" is called that)") {
			t.Errorf("why %s: code %d\n%s%s\nafter %s", typed, code, out, said, errs)
		}
	}
}

// numbering is a liar that gives jobs numbers of its own.
type numbering struct{ liar }

func (n *numbering) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	out := n.liar.Submit(ctx, reqs, p)
	for i := range out {
		out[i].Handle.ID = "4711-x"
	}
	return out
}
