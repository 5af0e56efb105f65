package cli

import (
	"testing"
	"time"
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
