package agent

import "time"

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
