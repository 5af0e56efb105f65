package testbed_test

import (
	"os/exec"
	"syscall"
	"testing"

	"gridbroker/testdata/testbed"
)

// TestHome: what a test has left in its home ends with it, and the home can be removed.
func TestHome(t *testing.T) {
	var left []*exec.Cmd
	t.Run("leaves", func(t *testing.T) {
		dir := testbed.Home(t)
		there := exec.Command("sleep", "60")
		there.Dir = dir
		left = []*exec.Cmd{there, exec.Command("sh", "-c", "for i in $(seq 3000); do sleep 0.01; echo x >>"+dir+"/$i; done")}
		for _, cmd := range left {
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, cmd := range left {
		_ = cmd.Wait() // how it ended is asked next
		if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() {
			t.Errorf("%v went on: %v", cmd.Args, cmd.ProcessState)
		}
	}
}
