package cli

import (
	"testing"
	"time"
)

// TestThrift: a follower whose looks cost much makes them as often as it likes in an hour in which much happens, and takes
// less than a hundredth of a processor over a day.
func TestThrift(t *testing.T) {
	for _, look := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond} {
		var th thrift
		const usual = 3 * time.Second
		now, spent := time.Unix(1_800_000_000, 0), 50*time.Millisecond
		began, first, longest := now, 0, time.Duration(0)
		for now.Sub(began) < 24*time.Hour {
			spent += look
			least := th.least(now, spent)
			if longest = max(longest, least); least == 0 && now.Sub(began) < time.Minute {
				first++
			}
			now = now.Add(look + max(usual, least))
		}
		if share := float64(spent) / float64(now.Sub(began)); share >= 0.01 {
			t.Errorf("looks of %v: %.4f of a processor", look, share)
		}
		if first < 15 {
			t.Errorf("looks of %v: %d in the first minute", look, first)
		}
		if most := thriftShare*look + time.Second; longest > most {
			t.Errorf("looks of %v: a pause of %v", look, longest)
		}
	}
	var th thrift
	now := time.Unix(1_800_000_000, 0)
	th.least(now, 0)
	if least := th.least(now.Add(-24*time.Hour), time.Second); least != 0 {
		t.Errorf("after the clock was set back it pauses for %v", least)
	}
}
