package cli

import (
	"testing"
	"time"

	"gridbroker/jobs"
	"gridbroker/plugins"
)

// A job began by the clock of where it runs. Where this machine's is another one it has not run for less than no time, or
// since before it was sent.
func TestRunsByAnotherClock(t *testing.T) {
	sent := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	d := &deps{env: Env{Now: func() time.Time { return sent.Add(20 * time.Second) }}}
	for off, want := range map[time.Duration]string{0: "15s", 30 * time.Second: "0s", -10 * time.Minute: "20s"} {
		o := &jobs.Outcome{Record: &jobs.Record{State: plugins.Running, Sent: sent, Started: sent.Add(5*time.Second + off)}}
		if got := ranText(d, o); got != want {
			t.Errorf("a clock that is %v off: it has run for %s, want %s", off, got, want)
		}
	}
	o := &jobs.Outcome{Record: &jobs.Record{State: plugins.Running, Adopted: true, Sent: sent, Started: sent.Add(-time.Hour)}}
	if got := ranText(d, o); got != "1h" {
		t.Errorf("one that was taken over has run for %s", got)
	}
}
