package agent

import (
	"errors"
	"time"
)

// lately is what was said last and when: a scheduler that is away for an hour is no reason for hundreds of lines.
type lately struct {
	text string
	at   time.Time
}

// is tells whether something is to be said: what is new, and once in a minute.
func (l *lately) is(text string, now time.Time) bool {
	if text == l.text && now.Sub(l.at) < time.Minute && !now.Before(l.at) {
		return false
	}
	l.text, l.at = text, now
	return true
}

// outages are what was said of a batch system and a scheduler that do not answer. When they do again, that is said as well.
type outages struct {
	said           lately
	blind, unheard time.Time // since when that is said; zero: it answers
}

// tell tells what came of a step, in which the batch system answered or not.
func (o *outages) tell(a *Agent, err error, looked bool) {
	now := a.Now()
	if err != nil {
		what := "not published"
		if errors.Is(err, errUnkept) {
			what = "an end of this agent would lose what it has learned"
		}
		if o.said.is(what+err.Error(), now) {
			a.Log.Warn(what, "error", err)
			begins(&o.blind, !looked, now)
			begins(&o.unheard, a.failed > 0, now)
		}
	}
	for _, e := range [...]struct {
		since *time.Time
		there bool
		what  string
	}{{&o.blind, looked, "the batch system answers again"}, {&o.unheard, a.failed == 0, "the scheduler takes what is told again"}} {
		if e.there && !e.since.IsZero() {
			a.Log.Warn(e.what, "after", now.Sub(*e.since).Round(time.Second))
			*e.since = time.Time{}
		}
	}
}

// begins notes since when something is so.
func begins(since *time.Time, so bool, now time.Time) {
	if so && since.IsZero() {
		*since = now
	}
}
