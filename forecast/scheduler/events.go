package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"gridbroker/forecast/turns"
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
	ctx, cancel := a.while(r.Context(), p)
	closed := a.streams.open(subject, func() { cancel(); out.SetWriteDeadline(time.Now()) })
	if closed == nil {
		cancel()
		turns.Later(w, 60, "too many streams of events")
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

// while is for as long as what somebody has shown is good.
func (a *API) while(ctx context.Context, p Person) (context.Context, context.CancelFunc) {
	if p.Expires.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, p.Expires.Sub(a.S.now()))
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
		case e, goesOn := <-list:
			if !goesOn {
				return
			}
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
