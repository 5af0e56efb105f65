package history

import (
	"testing"
	"time"
)

// A ban and a trial of the time before the clock was set back by hours end all
// the same: nobody is shut out until the clock has come there again.
func TestBansWhenTheClockIsSetBack(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var b breaker
	for range 5 {
		b = b.fail(now, 1, "no answer")
	}
	if until, _, _ := b.state(now.Add(time.Minute)); until.IsZero() {
		t.Fatal("no ban")
	}
	if until, _, canary := b.state(now.Add(-10 * time.Hour)); !until.IsZero() || !canary {
		t.Errorf("banned until %v", until)
	}
	b.trial = now
	if until, _, _ := b.state(now.Add(7 * time.Minute)); until.IsZero() {
		t.Error("no trial")
	}
	if until, _, canary := b.state(now.Add(-10 * time.Hour)); !until.IsZero() || !canary {
		t.Errorf("on trial until %v", until)
	}
}
