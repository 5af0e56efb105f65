package jobs_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// herald is a tree that tells of news: of each what news holds, or the error while that is empty.
type herald struct {
	*grower
	news  chan string
	err   error
	mu    sync.Mutex
	asked []string // the marks
}

func (h *herald) News(ctx context.Context, endpoint, mark string) (ids []string, next string, err error) {
	h.mu.Lock()
	h.asked = append(h.asked, endpoint+" "+mark)
	h.mu.Unlock()
	if h.err != nil {
		return nil, "", h.err
	}
	select {
	case id := <-h.news:
		return []string{id}, "after " + id, nil
	case <-time.After(20 * time.Second):
		return nil, mark, nil
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
}

// questions is how many there were.
func (h *herald) questions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.asked)
}

// listening is a job that waits in a tree which tells of news, and looked at once.
func listening(t *testing.T) (*growing, *herald) {
	t.Helper()
	g := newGrowing(t, 1)
	h := &herald{grower: g.tree, news: make(chan string)}
	var err error
	if g.Registry, err = plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: g.site},
		plugins.Opened{Backend: plugins.Backend{Interfaces: []string{treeInterface}}, Submitter: h}); err != nil {
		t.Fatal(err)
	}
	g.site.status = func(plugins.Handle) plugins.Status {
		return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	}
	g.step(t)
	return g, h
}

// Who waits for a job looks as soon as its tree has news of it, however long the pause; news of other jobs wake nobody.
func TestNewsEndAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, h := listening(t)
		g.wait.Pause, g.wait.First = time.Hour, 50*time.Minute
		began, looks := time.Now(), 0
		g.wait.Seen = func([]*jobs.Outcome) { looks++ }
		go func() {
			time.Sleep(7 * time.Minute)
			h.news <- "another's"
			time.Sleep(3 * time.Minute)
			g.tree.system = "two"
			h.news <- g.os[0].Handle.ID
		}()
		if err := g.Wait(t.Context(), g.os, g.wait); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); g.os[0].State != plugins.Done || took < 10*time.Minute || took > 10*time.Minute+5*time.Second || looks > 4 {
			t.Errorf("%s after %v and %d looks", g.os[0].State, took, looks)
		}
		if n := len(h.asked); h.asked[0] != "tree://x " || h.asked[n-1] != "tree://x after "+"another's" && h.asked[n-1] != "tree://x after their-"+g.os[0].ID || n > 40 {
			t.Errorf("asked %d times: %q", n, h.asked)
		}
	})
}

// A job of which a tree tells before it is known that it waits there is not forgotten.
func TestNewsBeforeTheLookEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, h := listening(t)
		heard := jobs.Listen(t.Context(), g.Controller)
		defer heard.End()
		second := *g.os[0].Record
		second.Handle.ID = "second"
		heard.About(g.os)
		h.news <- "second"
		synctest.Wait()
		select {
		case <-heard.News():
			t.Error("told of a job that nobody waits for")
		default:
		}
		heard.About(append(jobs.Outcomes([]*jobs.Record{&second}), g.os...))
		select {
		case <-heard.News():
		default:
			t.Error("it was forgotten")
		}
		heard.About(g.os)
		select {
		case <-heard.News():
			t.Error("it was told again")
		default:
		}
	})
}

// A tree that has no news to give, or cannot be reached, is asked ever more seldom, and nobody is asked where no job waits.
func TestNoNewsAreToBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, h := listening(t)
		h.err = &plugins.Error{Kind: plugins.Refused, Op: "news", Said: "404"}
		heard := jobs.Listen(t.Context(), g.Controller)
		heard.About(g.os)
		time.Sleep(time.Hour)
		if n := h.questions(); n < 50 || n > 75 {
			t.Errorf("asked %d times in an hour", n)
		}
		heard.About(nil)
		time.Sleep(2 * time.Minute)
		before := h.questions()
		time.Sleep(time.Hour)
		if n := h.questions() - before; n > 0 {
			t.Errorf("asked %d times though no job waits", n)
		}
		heard.About(g.os)
		synctest.Wait()
		if h.questions() != before+1 {
			t.Error("not asked when a job waits again")
		}
		heard.End()
	})
}
