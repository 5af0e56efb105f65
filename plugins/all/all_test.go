package all

import (
	"testing"
	"time"

	"gridbroker/plugins"
)

// What help and completion offer for --lrms is what can be read.
func TestQueuesAreThoseThatCanBeRead(t *testing.T) {
	reg, err := plugins.Open(Backends(), plugins.Config{Home: t.TempDir(), StateDir: t.TempDir(), Now: time.Now, Settings: func(string, any) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	for _, b := range reg.All() {
		if _, can := b.Submitter.(plugins.QueueOpener); can != b.Queues {
			t.Errorf("%s: its queues can be read: %v; it says %v", b.Name, can, b.Queues)
		}
	}
}
