package cli

import (
	"testing"
	"time"

	"gridbroker/jobs"
)

func TestLengths(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "2h30m": 150 * time.Minute, "3d": 72 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour,
		"24:00": 24 * time.Hour, "1:30:00": 90 * time.Minute, "0:05": 5 * time.Minute, "168:00": 168 * time.Hour,
		"": -1, "x": -1, "-2h": -1, "-1d": -1, "d": -1, "1:60": -1, "1:2:3:4": -1, "1:-5": -1, "5": -1, "1e300d": -1, "NaNd": -1,
	} {
		got, err := parseLength(text)
		if want < 0 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}

// A time that is ahead, as the clock was set back since, is said to be that.
func TestTimesAhead(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	d := &deps{env: Env{Now: func() time.Time { return now }}}
	for from, want := range map[time.Duration]string{-time.Hour: "1h ago", 24*time.Hour - time.Minute: "in 23h59m", 0: "0s ago", 100 * time.Millisecond: "0s ago"} {
		o := &jobs.Outcome{Record: &jobs.Record{Submitted: now.Add(from)}}
		for _, c := range jobColumns() {
			if got := c.text(d, o); c.name == "submitted" && got != want {
				t.Errorf("%v from now: %q, want %q", from, got, want)
			}
		}
	}
}
