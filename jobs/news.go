package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"gridbroker/plugins"
)

// Jobs that wait at a back-end that tells when something is to be done about them are looked at when it does, and not
// with the next look only, which may be a minute away.

const (
	// newsStep is the least time between two questions for news of one endpoint.
	newsStep = 250 * time.Millisecond
	// mostEarly is how many news are kept of jobs that are not known to wait.
	mostEarly = 10_000
)

// Listener waits for what back-ends tell by themselves.
type Listener struct {
	c    *Controller
	ctx  context.Context
	end  context.CancelFunc
	over sync.WaitGroup
	news chan struct{}

	mu    sync.Mutex
	waits map[place]map[string]bool // the jobs there, by their handles' ids
	early map[place][]string        // of whom was told since the look before
	asked map[place]bool            // somebody asks there
}

// Listen listens until End, or the context ends.
func Listen(ctx context.Context, c *Controller) *Listener {
	l := &Listener{c: c, news: make(chan struct{}, 1), asked: map[place]bool{}}
	l.ctx, l.end = context.WithCancel(ctx)
	return l
}

// End ends all questions.
func (l *Listener) End() {
	l.end()
	l.over.Wait()
}

// News tells that it is time for a look.
func (l *Listener) News() <-chan struct{} { return l.news }

// About says what was found at a look: the jobs of which it wants to hear. What was told of them meanwhile counts.
func (l *Listener) About(os []*Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	early := l.early
	l.waits, l.early = map[place]map[string]bool{}, map[place][]string{}
	for _, o := range os {
		if !seeksPlace(o) {
			continue
		}
		p := place{o.Handle.Interface, o.Handle.Endpoint}
		backend, _ := l.c.Registry.For(p.Interface)
		herald, ok := backend.(plugins.Herald)
		if !ok {
			continue
		}
		if l.waits[p] == nil {
			l.waits[p] = map[string]bool{}
		}
		l.waits[p][o.Handle.ID] = true
		if !l.asked[p] {
			l.asked[p] = true
			l.over.Go(func() { l.ask(herald, p) })
		}
	}
	for p, ids := range early {
		l.tell(p, ids)
	}
}

// tell has a look made where some of the jobs are waited for; the mutex is held.
func (l *Listener) tell(p place, ids []string) {
	for _, id := range ids {
		if l.waits[p][id] {
			select {
			case l.news <- struct{}{}:
			default:
			}
			return
		}
	}
}

// ask asks for news of an endpoint for as long as jobs wait there. Where none are to be had it asks ever more seldom.
func (l *Listener) ask(herald plugins.Herald, p place) {
	mark, pause := "", newsStep
	for l.wanted(p) {
		ids, next, err := herald.News(l.ctx, p.Endpoint, mark)
		if err == nil {
			mark, pause = next, newsStep
			l.hear(p, ids)
		} else {
			pause = min(2*pause, lookAgain)
			if e, ok := errors.AsType[*plugins.Error](err); ok {
				pause = max(pause, min(e.RetryIn, lookAgain))
			}
		}
		select {
		case <-l.ctx.Done():
		case <-l.c.Clock.After(pause):
		}
	}
}

// wanted tells whether news of an endpoint are; else nobody asks there any more.
func (l *Listener) wanted(p place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked[p] = l.ctx.Err() == nil && len(l.waits[p]) > 0; !l.asked[p] {
		delete(l.asked, p)
	}
	return l.asked[p]
}

// hear takes in of which jobs an endpoint has told. A job may be told of before it is known to wait there.
func (l *Listener) hear(p place, ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.early[p])+len(ids) <= mostEarly {
		l.early[p] = append(l.early[p], ids...)
	}
	l.tell(p, ids)
}

// Breath is for how long nobody looks after a look that took so long, whatever is told: looks never take up all of the time.
func Breath(took time.Duration) time.Duration { return seldom * took }

// rest waits for the next look: until the pause is over, or there are news.
func rest(ctx context.Context, f *following, heard *Listener, pause time.Duration) error {
	over, began := f.Clock.After(pause), f.now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
		return nil
	case <-heard.News():
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
	case <-f.Clock.After(Breath(f.took) - f.now().Sub(began)):
	}
	return nil
}
