package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scontrol ping says on its standard output that nobody answers, and nothing on the other.
func TestPingWithoutController(t *testing.T) {
	l := newLab(t)
	for name, says := range map[string]string{"sinfo": "echo slurm 24.11.5", "scontrol": "echo 'Slurmctld(primary) at ctl is DOWN'; exit 1"} {
		l.write(name, "#!/bin/sh\n"+says+"\n")
		if err := os.Chmod(filepath.Join(l.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.Ping(t.Context(), l.url)
	if err == nil || !strings.Contains(err.Error(), "no slurmctld answers") {
		t.Errorf("%v", err)
	}
}
