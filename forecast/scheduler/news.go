package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"gridbroker/forecast/turns"
)

// newsPath is where users wait for news of their jobs.
const newsPath = "/v1/jobs/news"

// newsWait is how long a question for news is held: less than users' commands wait for an answer.
const newsWait = 20 * time.Second

// maxNews bounds the jobs of one answer, and farBack the entries of the log that are read for it: who asks from
// farther back looks at his jobs anyway.
const (
	maxNews = 1000
	farBack = 100_000
)

// News are jobs of a user that have ended since a mark, and the mark to ask from the next time.
type News struct {
	Mark int64    `json:"mark"`
	Jobs []string `json:"jobs"`
}

// reporter answers questions for news.
type reporter struct{ *API }

// news answers a user's question when a job of his has ended, or after a while. It is one of his streams of events.
func (a reporter) news(w http.ResponseWriter, r *http.Request) {
	p, err := person(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	since, err := strconv.ParseInt(cmp.Or(r.FormValue("since"), "0"), 10, 64)
	if err != nil {
		http.Error(w, "since: want the mark of an earlier answer", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), newsWait)
	defer cancel()
	closed := a.streams.open(p.Subject, cancel)
	if closed == nil {
		turns.Later(w, int(newsWait/time.Second), "as many questions for news and streams of events as may be are open")
		return
	}
	defer closed()
	n, err := newsOf(ctx, a.S, p.Subject, since)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		is, _ := ailment(err)
		http.Error(w, is, http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(n)
}

// newsOf waits for ends of a user's jobs since a mark until the context ends; of 0 it is since now. What ended before, and
// before the log was being read for whoever listens, is in the table.
func newsOf(ctx context.Context, s *Scheduler, owner string, since int64) (News, error) {
	list, end := s.hub.subscribe()
	defer end()
	read := func(since int64) (News, error) { return ended(context.WithoutCancel(ctx), s.store, owner, since) }
	n, err := read(since)
	relayed := time.After(2 * relayPause)
	for err == nil && len(n.Jobs) == 0 {
		select {
		case <-ctx.Done():
			return n, nil
		case <-relayed:
			n, err = read(n.Mark)
		case e, goesOn := <-list:
			if !goesOn {
				return n, nil
			}
			if e.owner == owner && State(e.Event).Final() { // which may have been told before, or come late
				n = News{Mark: max(n.Mark, e.ID), Jobs: []string{e.Job}}
			}
		}
	}
	return n, err
}

// ended are a user's jobs that have ended since a mark, by the log. Of 0, and of a mark that is another database's, there are
// none, and the next mark is the last entry's.
func ended(ctx context.Context, s *Store, owner string, since int64) (n News, err error) {
	ctx, cancel := context.WithTimeout(ctx, newsWait)
	defer cancel()
	n.Jobs = []string{}
	err = s.read(ctx, func(h handle) error {
		err := h.rows(ctx, func(scan func(...any) error) error { return scan(&n.Mark) }, "select coalesce(max(id), 0) from log")
		if err != nil || since <= 0 || since > n.Mark {
			return err
		}
		return h.rows(ctx, func(scan func(...any) error) error {
			var id int64
			var job string
			err := scan(&id, &job)
			if n.Jobs = append(n.Jobs, job); len(n.Jobs) == maxNews {
				n.Mark = id
			}
			return err
		}, `select l.id, l.job from log l join queue q on q.id = l.job where l.id > $1 and q.owner = $2
			and l.event in ('done', 'failed', 'cancelled') order by l.id limit $3`, max(since, n.Mark-farBack), owner, maxNews)
	})
	return n, err
}
