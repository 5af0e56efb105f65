package scheduler

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"gridbroker/forecast/turns"
)

// limiter gives every subject so many requests a second, and a burst. It keeps
// at most a bounded number of subjects.
type limiter struct {
	rate, burst float64
	now         func() time.Time
	mu          sync.Mutex
	of          map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// maxBuckets bounds the subjects kept; beyond it those that are full are
// forgotten.
const maxBuckets = 10_000

// allow takes one request of a subject.
func (l *limiter) allow(subject string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.of == nil {
		l.of = map[string]*bucket{}
	}
	b := l.of[subject]
	if b == nil {
		l.shrink(now)
		b = &bucket{l.burst, now}
		l.of[subject] = b
	}
	b.left = min(l.burst, b.left+now.Sub(b.at).Seconds()*l.rate)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

func (l *limiter) shrink(now time.Time) {
	if len(l.of) < maxBuckets {
		return
	}
	for name, b := range l.of {
		if b.left+now.Sub(b.at).Seconds()*l.rate >= l.burst {
			delete(l.of, name)
		}
	}
}

// stranger names who asks without a credential that is good here, for the bounds
// of strangers: by the address. No subject begins like it, since none has a control
// character.
func stranger(r *http.Request) string { return "\x00" + turns.Address(r.RemoteAddr) }

func isStranger(subject string) bool { return strings.HasPrefix(subject, "\x00") }
