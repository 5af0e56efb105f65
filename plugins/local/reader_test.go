package local_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/plugins"
)

// TestHeldJobIsRead: who reads the queue is told of jobs that their owners hold, and of each job once: one that was started
// after those that wait were listed is among both.
func TestHeldJobIsRead(t *testing.T) {
	b, dir := oneSlot(t)
	hs := submit(t, b, request("a", "first", shell("sleep 600")), request("a", "held", shell("exit 0")), request("a", "later", shell("exit 0")))
	defer func() { told(t, b.Cancel, hs...) }()
	wait(t, b, hs[0], is(plugins.Running))
	told(t, b.Hold, hs[1])
	writeFile(t, filepath.Join(dir, "queue", hs[0].ID), "") // as it was a moment ago
	writeFile(t, filepath.Join(dir, "held", hs[0].ID), "")  // what a power cut may leave
	q, err := b.QueueReader("local:a")
	check(t, err)
	s, err := q.Queue(t.Context())
	check(t, err)
	var got []string
	for _, j := range s.Jobs {
		got = append(got, fmt.Sprint(strings.HasPrefix(j.ID, hs[0].ID), !j.Started.IsZero(), j.Held))
	}
	if said := strings.Join(got, ", "); said != "false false false, false false true, true true false" {
		t.Errorf("%s", said)
	}
}
