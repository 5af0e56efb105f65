package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// asked is a question for news that is under way.
type asked struct {
	at    time.Time
	w     *httptest.ResponseRecorder
	over  time.Duration // that it took
	end   context.CancelFunc
	ended bool
}

// news asks for a user's.
func news(t *testing.T, f *tree, who string, since int64) *asked {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	q := &asked{at: time.Now(), w: httptest.NewRecorder(), end: end}
	go func() {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s?since=%d", NewsPath, since), nil)
		(&API{Desk: f.Desk}).hold(q.w, r, who)
		q.over, q.ended = time.Since(q.at), true
	}()
	synctest.Wait()
	return q
}

// said is what was answered.
func (q *asked) said(t *testing.T) (n managers.UserNews) {
	t.Helper()
	synctest.Wait()
	if err := json.Unmarshal(q.w.Body.Bytes(), &n); !q.ended || q.w.Code != http.StatusOK || err != nil {
		t.Fatalf("%v after %v: %d %s", q.ended, q.over, q.w.Code, q.w.Body)
	}
	return n
}

// Who waits for news is told of a place at once, once, and of none of another's; who has heard nothing yet, or names a mark of
// another life of the desk, is told of all that are there to be claimed. Without news the answer comes after a while.
func TestNewsComeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, id := one(t, managers.Resources{CPUs: 1})
		synctest.Wait()
		waits, other := news(t, f, "alice", 0), news(t, f, "bob", 0)
		time.Sleep(5 * time.Second)
		f.Answer(daemon.Offer{Job: id, Manager: "https://one", System: "one"})
		n := waits.said(t)
		if waits.over != 5*time.Second || fmt.Sprint(n.Keys) != "[a]" {
			t.Errorf("after %v: %+v", waits.over, n)
		}
		again := news(t, f, "alice", n.Mark)
		late, early := news(t, f, "alice", 0).said(t), news(t, f, "alice", n.Mark+1e9).said(t)
		if fmt.Sprint(late.Keys, early.Keys) != "[a] [a]" || late.Mark != n.Mark {
			t.Errorf("who has not heard: %+v, of another life: %+v", late, early)
		}
		time.Sleep(newsWait)
		if n := other.said(t); other.over != newsWait || len(n.Keys) != 0 {
			t.Errorf("another user after %v: %+v", other.over, n)
		}
		if n := again.said(t); again.over != newsWait || len(n.Keys) != 0 {
			t.Errorf("told twice, after %v: %+v", again.over, n)
		}
		f.claims(t)
		claimed := news(t, f, "alice", 0)
		if claimed.ended {
			t.Errorf("of a place that is claimed: %s", claimed.w.Body)
		}
		f.stop(t) // and nobody is kept waiting
		if n := claimed.said(t); len(n.Keys) != 0 || claimed.over != 0 {
			t.Errorf("as the desk ends, after %v: %+v", claimed.over, n)
		}
	})
}

// Few questions of one user wait, and a thousand of all; who goes makes room, and nothing is kept of those who have gone.
func TestWaitersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := one(t, managers.Resources{CPUs: 1})
		var all []*asked
		for i := range newsAtAll {
			all = append(all, news(t, f, fmt.Sprint("user", i/newsAtOne), 0))
			if i == newsAtOne-1 {
				if q := news(t, f, "user0", 0); q.w.Code != http.StatusTooManyRequests {
					t.Errorf("more than %d of one user wait: %d %s", newsAtOne, q.w.Code, q.w.Body)
				}
			}
		}
		for _, who := range []string{"user0", "alice"} {
			if q := news(t, f, who, 0); q.w.Code != http.StatusTooManyRequests || q.w.Header().Get("Retry-After") != "20" {
				t.Errorf("one more of %s: %d %s", who, q.w.Code, q.w.Body)
			}
		}
		for _, q := range all[newsAtOne-1:] {
			q.end()
		}
		synctest.Wait()
		last := news(t, f, "user0", 0)
		if n := f.Desk.waiters.all; last.ended || n != newsAtOne {
			t.Errorf("when there is room: %d %s; %d wait", last.w.Code, last.w.Body, n)
		}
		f.stop(t)
		synctest.Wait()
		if w := &f.Desk.waiters; w.all != 0 || len(w.of) != 0 {
			t.Errorf("kept: %d, %v", w.all, w.of)
		}
		w := httptest.NewRecorder()
		(&API{Desk: f.Desk}).hold(w, httptest.NewRequest(http.MethodGet, NewsPath+"?since=x", nil), "alice")
		if w.Code != http.StatusBadRequest {
			t.Errorf("no mark: %d", w.Code)
		}
	})
}
