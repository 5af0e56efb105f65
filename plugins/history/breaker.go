package history

import (
	"fmt"
	"math"
	"time"
)

// Operations that have a breaker each.
const (
	opSubmit = "submit" // the CE refuses or does not answer; per host
	opRun    = "run"    // jobs fail fast there; per resource
)

// Numbers of the breaker.
const (
	firstBan   = time.Minute      // after a single failure: it may be chance
	secondBan  = 6 * time.Minute  // GridWay's first ban, 0.1 of an hour
	longestBan = time.Hour        // GridWay: 3600 (1 - exp(-t/650)) s
	banScale   = 650.0            // seconds
	inARow     = 3                // fast failures that make a black hole
	fastRun    = time.Minute      // a failure after at most this is fast,
	fastPart   = 0.1              // or after this part of the usual run time
	trialTime  = 15 * time.Minute // how long a canary job may take to come back
	blameFor   = time.Hour        // how long a kind of task is remembered to fail elsewhere
)

// breaker stands between the broker and one operation of a resource. The zero
// breaker lets everything through.
type breaker struct {
	failures           int       // in a row
	first, last, until time.Time // until is zero where no ban was spoken yet
	trial              time.Time // when the canary was sent; zero: none is out
	reason             string
	op                 string
}

// fail counts a failure and bans once threshold of them came in a row. The ban
// grows with the time since the first one (GridWay's formula); a failing
// canary therefore earns a longer ban than the one before.
func (b breaker) fail(now time.Time, threshold int, reason string) breaker {
	if b.failures == 0 {
		b.first = now
	}
	b.failures++
	b.last, b.reason, b.trial = now, reason, time.Time{}
	if b.failures < threshold {
		return b
	}
	b.until = now.Add(banFor(b.failures-threshold, now.Sub(b.first)))
	return b
}

// banFor is the length of a ban after earlier bans of a row that began t ago.
func banFor(earlier int, t time.Duration) time.Duration {
	if earlier == 0 {
		return firstBan
	}
	grown := time.Duration(longestBan.Seconds() * (1 - math.Exp(-t.Seconds()/banScale)) * float64(time.Second))
	return max(secondBan, grown)
}

// state tells until when nothing may be sent, and whether one canary may.
func (b breaker) state(now time.Time) (until time.Time, reason string, canary bool) {
	switch { // what lies too far ahead is of a clock that was set back since
	case b.until.IsZero():
		return time.Time{}, "", false
	case b.until.After(now) && b.until.Sub(now) <= longestBan:
		return b.until, fmt.Sprintf("%s (%d in a row)", b.reason, b.failures), false
	case !b.trial.IsZero() && now.Sub(b.trial).Abs() < trialTime:
		return b.trial.Add(trialTime), "one job is on trial there after: " + b.reason, false
	}
	return time.Time{}, "", true
}

// onTrial reports whether the next job is a canary.
func (b breaker) onTrial(now time.Time) bool {
	_, _, canary := b.state(now)
	return canary
}
