package scheduler

import (
	"encoding/json"
	"fmt"
	"net/http"
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
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	out.SetWriteDeadline(time.Time{})
	list, end := a.S.hub.subscribe()
	defer end()
	owners := map[string]bool{}
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
			if !p.Admin && !a.his(r, p, e, owners) {
				e = Entry{ID: e.ID, At: e.At, Event: "change"}
			}
			text, err := json.Marshal(e)
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

// his tells whether an entry is of a job of the watcher's.
func (a *API) his(r *http.Request, p Person, e Entry, known map[string]bool) bool {
	if e.Job == "" || p.Subject == "" {
		return false
	}
	mine, ok := known[e.Job]
	if !ok {
		list, err := a.S.Jobs(r.Context(), p, []string{e.Job})
		mine = err == nil && len(list) == 1
		known[e.Job] = mine
	}
	return mine
}
