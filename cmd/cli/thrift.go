package cli

import (
	"syscall"
	"time"

	"gridbroker/broker/clock"
)

// thrift keeps what looks again and again, for days, to a small part of a processor: 1/thriftShare of the time that
// passes. What it has not used up of thriftSaved is there for hours in which much happens.
type thrift struct {
	at    time.Time     // of the reckoning before; zero: there was none
	left  time.Duration // that may be computed; below 0: too much was
	spent time.Duration // had been computed then
}

const (
	thriftShare = 125 // 0.8 %
	thriftSaved = 15 * time.Minute / thriftShare
)

// least is how long to pause until what has been computed is made up for; spent is the processor time of all the process.
func (t *thrift) least(now time.Time, spent time.Duration) time.Duration {
	if t.at.IsZero() {
		t.left = thriftSaved
	} else {
		t.left += max(0, clock.Passed(t.at, now)) / thriftShare
	}
	t.left = min(t.left, thriftSaved) - (spent - t.spent)
	t.at, t.spent = now, spent
	return max(0, -t.left) * thriftShare
}

// processorTime is what this process has computed, without the programs that it has started; 0 where that is not known.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
