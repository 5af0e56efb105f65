package desk

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/turns"
)

// Users wait for news: a question is answered when a job has got a place, which is to be claimed, or after a while.
const (
	newsWait  = 20 * time.Second // shorter than users' commands wait for an answer
	newsAtOne = 8                // questions of one user
	newsAtAll = 1000             // of all
)

// waiters are those who wait for news.
type waiters struct {
	mu  sync.Mutex
	of  map[string]map[chan struct{}]bool // by subject
	all int
}

// join has a user wait: woken tells that there may be news until he leaves. False: as many wait as may.
func (w *waiters) join(subject string) (woken chan struct{}, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all >= newsAtAll || len(w.of[subject]) >= newsAtOne {
		return nil, false
	}
	if w.of == nil {
		w.of = map[string]map[chan struct{}]bool{}
	}
	if w.of[subject] == nil {
		w.of[subject] = map[chan struct{}]bool{}
	}
	woken = make(chan struct{}, 1)
	w.of[subject][woken] = true
	w.all++
	return woken, true
}

func (w *waiters) leave(subject string, woken chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.of[subject], woken); len(w.of[subject]) == 0 {
		delete(w.of, subject)
	}
	w.all--
}

// wake tells those who wait for news of a user's jobs.
func (w *waiters) wake(subject string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for woken := range w.of[subject] {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}

// News answers GET NewsPath. It is apart from what Handler answers as nothing is worked on meanwhile: neither a user's turns nor
// those of his address are taken up.
func (a *API) News() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := a.who(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		a.hold(w, r, who)
	})
}

// hold answers a user's question when there are news.
func (a *API) hold(w http.ResponseWriter, r *http.Request, who string) {
	since, err := strconv.ParseInt(cmp.Or(r.FormValue("since"), "0"), 10, 64)
	if err != nil {
		http.Error(w, "since: want the mark of an earlier answer", http.StatusBadRequest)
		return
	}
	woken, ok := a.Desk.waiters.join(who)
	if !ok {
		turns.Later(w, int(newsWait/time.Second), "as many questions for news as may be are under way")
		return
	}
	defer a.Desk.waiters.leave(who, woken)
	ctx, cancel := context.WithTimeout(r.Context(), newsWait)
	defer cancel()
	write(w, a.Desk.news(ctx, who, since, woken))
}

// NewsPath is where users wait for news.
const NewsPath = "/v1/jobs/news"

// news are those since a mark, as soon as there are some, or none when the context ends or the desk does.
func (d *Desk) news(ctx context.Context, subject string, since int64, woken <-chan struct{}) managers.UserNews {
	for {
		n := d.placed(subject, since)
		if len(n.Keys) > 0 {
			return n
		}
		select {
		case <-woken:
		case <-ctx.Done():
			return n
		case <-d.over:
			return n
		}
	}
}

// placed are a user's jobs that have got a place since a mark, which nobody has claimed.
func (d *Desk) placed(subject string, since int64) managers.UserNews {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := managers.UserNews{Mark: d.mark, Keys: []string{}}
	if since > d.mark { // the clock was set back before the desk was opened
		since = 0
	}
	var list []*job
	if a := d.users[subject]; a != nil && a.news > since {
		for _, j := range a.jobs {
			if j.offered != nil && j.Claimed == nil && j.Ended == 0 && j.news > since {
				list = append(list, j)
			}
		}
	}
	slices.SortFunc(list, func(a, b *job) int { return cmp.Compare(a.news, b.news) })
	if len(list) > maxListed {
		list = list[:maxListed]
		n.Mark = list[maxListed-1].news
	}
	for _, j := range list {
		n.Keys = append(n.Keys, j.Key)
	}
	return n
}

// grant keeps a place for a job and lets its user know; the mutex is held.
func (d *Desk) grant(j *job, p place) {
	j.offered, j.since = &p, time.Now()
	d.mark++
	j.news, d.users[j.Subject].news = d.mark, d.mark
	d.waiters.wake(j.Subject)
}
