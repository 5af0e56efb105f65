package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
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
	out := http.NewResponseController(w)
	ctx, cancel := context.WithCancel(r.Context())
	closed := a.streams.open(subject, func() { cancel(); out.SetWriteDeadline(time.Now()) })
	if closed == nil {
		cancel()
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many streams of events", http.StatusTooManyRequests)
		return
	}
	defer closed()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	list, end := a.S.hub.subscribe()
	defer end()
	write := func(text string) error {
		out.SetWriteDeadline(time.Now().Add(readerPatience))
		_, err := io.WriteString(w, text)
		err = errors.Join(err, out.Flush())
		out.SetWriteDeadline(time.Time{}) // of an HTTP/2 stream it would end the silence, too
		return err
	}
	stream(ctx, p, list, write)
}

// stream writes what is published until the reader goes, or does not read.
func stream(ctx context.Context, p Person, list <-chan watched, write func(string) error) {
	keep := time.NewTicker(15 * time.Second)
	defer keep.Stop()
	for text := ": hello\n\n"; ; {
		if write(text) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-keep.C:
			text = ": still here\n\n"
		case e := <-list:
			if !p.Admin && (e.owner == "" || e.owner != p.Subject) {
				e.Entry = Entry{ID: e.ID, At: e.At, Event: "change"}
			}
			line, err := json.Marshal(e.Entry)
			if err != nil {
				return
			}
			text = fmt.Sprintf("id: %d\nevent: log\ndata: %s\n\n", e.ID, line)
		}
	}
}

// Streams last: so many may one subject or one stranger's address have, and so
// many all strangers together; and so long may a reader not read.
const (
	ownStreams     = 16
	strangeStreams = 256
	readerPatience = 30 * time.Second
)

// streams are those open, of each subject the oldest first.
type streams struct {
	mu        sync.Mutex
	of        map[string][]*opened
	strangers int
	last      int
}

type opened struct {
	number int
	end    func()
}

// open lets a subject have one more stream: what it returns is to be called when
// that has ended, end ends it before; nil where it may have none. Where
// strangers have all of theirs, the address with the most loses its oldest to one
// that has fewer: a few cannot keep others out.
func (s *streams) open(subject string, end func()) (closed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := len(s.of[subject])
	if own >= ownStreams || isStranger(subject) && s.strangers >= strangeStreams && !s.makeRoom(own) {
		return nil
	}
	if s.of == nil {
		s.of = map[string][]*opened{}
	}
	s.last++
	o := &opened{s.last, end}
	s.of[subject] = append(s.of[subject], o)
	if isStranger(subject) {
		s.strangers++
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(subject, o)
	}
}

// makeRoom ends the oldest stream of the stranger's address with the most, for
// one that has own of them; of addresses with as many the one of the oldest stream.
func (s *streams) makeRoom(own int) bool {
	most := ""
	for name, list := range s.of {
		if !isStranger(name) {
			continue
		}
		if n := len(s.of[most]); len(list) > n || len(list) == n && list[0].number < s.of[most][0].number {
			most = name
		}
	}
	if own > 0 && len(s.of[most]) < own+2 { // else the two would take it from each other without end
		return false
	}
	oldest := s.of[most][0]
	s.drop(most, oldest)
	oldest.end()
	return true
}

// drop forgets a stream that is still counted.
func (s *streams) drop(subject string, o *opened) {
	i := slices.Index(s.of[subject], o)
	if i < 0 {
		return
	}
	if s.of[subject] = slices.Delete(s.of[subject], i, i+1); len(s.of[subject]) == 0 {
		delete(s.of, subject)
	}
	if isStranger(subject) {
		s.strangers--
	}
}
