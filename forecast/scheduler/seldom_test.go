package scheduler

import (
	"errors"
	"testing"
	"time"
)

// A trouble that lasts is told once in a minute, another one at once.
func TestTroubleIsToldSeldom(t *testing.T) {
	s, now, told := seldom{}, time.Unix(1_800_000_000, 0), 0
	for range 10 * 60 { // ten minutes, five times a second
		for range 5 {
			if s.is(errors.New("refused"), now) {
				told++
			}
		}
		now = now.Add(time.Second)
	}
	if told != 10 {
		t.Errorf("told %d times in ten minutes", told)
	}
	told = 0
	for range 60 { // two by turns
		for _, text := range []string{"full here", "full there"} {
			if s.is(errors.New(text), now) {
				told++
			}
		}
		now = now.Add(time.Second)
	}
	if told != 2 {
		t.Errorf("two troubles are told %d times in a minute", told)
	}
	if !s.is(errors.New("starting up"), now) || s.is(errors.New("starting up"), now) || !s.is(errors.New("refused"), now) {
		t.Error("another trouble is not told once, at once")
	}
}
