package scheduler

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// events streams what changes, as server-sent events: to a user the log of his
// jobs, to an administrator all of it, to strangers (where the page is public)
// only that something has changed.
func (a *API) events(w http.ResponseWriter, r *http.Request) {
	p, err := person(r.Context())
	if err != nil && !a.Public {
		http.Error(w, ErrStranger.Error(), http.StatusUnauthorized)
		return
	}
	subject := p.Subject
	if err != nil {
		subject = stranger(r)
	}
	if !a.streams.open(subject) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many streams of events", http.StatusTooManyRequests)
		return
	}
	defer a.streams.close(subject)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	out.SetWriteDeadline(time.Time{})
	list, end := a.S.hub.subscribe()
	defer end()
	fmt.Fprint(w, ": hello\n\n")
	out.Flush()
	keep := time.NewTicker(15 * time.Second)
	defer keep.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-keep.C:
			fmt.Fprint(w, ": still here\n\n")
		case e := <-list:
			if !p.Admin && (e.owner == "" || e.owner != p.Subject) {
				e.Entry = Entry{ID: e.ID, At: e.At, Event: "change"}
			}
			text, err := json.Marshal(e.Entry)
			if err != nil {
				return
			}
			fmt.Fprintf(w, "id: %d\nevent: log\ndata: %s\n\n", e.ID, text)
		}
		if out.Flush() != nil {
			return
		}
	}
}

// Streams last: so many may one subject or one stranger's address have, and so
// many all strangers together.
const (
	ownStreams     = 16
	strangeStreams = 256
)

// streams counts the streams of each subject.
type streams struct {
	mu        sync.Mutex
	of        map[string]int
	strangers int
}

// open tells whether a subject may have one more, which close ends.
func (s *streams) open(subject string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]int{}
	}
	strange := isStranger(subject)
	if s.of[subject] >= ownStreams || strange && s.strangers >= strangeStreams {
		return false
	}
	s.of[subject]++
	if strange {
		s.strangers++
	}
	return true
}

func (s *streams) close(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[subject]--; s.of[subject] == 0 {
		delete(s.of, subject)
	}
	if isStranger(subject) {
		s.strangers--
	}
}
