package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/plugins"
)

// lateBell is one whose clock is two hours behind, and which never rings.
type lateBell struct{ bell }

func (b *lateBell) describe() plugins.Backend {
	d := b.bell.describe()
	d.Open = func(plugins.Config) (plugins.Submitter, error) { return b, nil }
	return d
}

func (b *lateBell) Ping(context.Context, string) (plugins.Pong, error) {
	return plugins.Pong{Interface: bellInterface, LetIn: true, ClockAhead: 2 * time.Hour}, nil
}

func (b *lateBell) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	for i, h := range hs {
		out[i] = plugins.Status{Handle: h, State: plugins.Queued}
	}
	return out
}

// Ping tells by how much the clock is off; when it has been set right, no job went anywhere a negative time ago.
func TestClockIsToldOf(t *testing.T) {
	t.Parallel()
	home, tower, ahead := t.TempDir(), &lateBell{bell{rung: map[string]bool{}}}, 2*time.Hour
	run := func(args ...string) string {
		var out bytes.Buffer
		env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &out, Dir: home, Now: func() time.Time { return time.Now().Add(ahead) }, UID: os.Getuid(), Exe: "/nonexistent",
			Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }, Backends: []plugins.Backend{tower.describe()}}
		if code := cli.Main(t.Context(), env, args); code != 0 {
			t.Fatalf("%v: %d\n%s", args, code, out.String())
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	if said := run("ping", "bell:one"); !strings.Contains(said, "this machine's clock is 2 h 0 min ahead of the service's") {
		t.Error(said)
	}
	if err := os.WriteFile(filepath.Join(home, "job.jdl"), []byte(`Executable = "/bin/true";`), 0o600); err != nil {
		t.Fatal(err)
	}
	run("submit", "--info", "bell:one", filepath.Join(home, "job.jdl"))
	ahead = 0
	if said := run("why", "--all"); strings.Contains(said, " -1h") || !strings.Contains(said, "this machine's clock was ahead, or is behind now") {
		t.Error(said)
	}
}
