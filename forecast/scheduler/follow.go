package scheduler

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"gridbroker/plugins"
)

// follower asks the sites about their jobs. What has changed is a message.
type follower struct {
	*Scheduler
	last  map[string]mark   // what was told of a booking, by its request
	found *findings         // the same of those at the sites, in the order in which they are asked about
	early map[string]*early // by cluster: whose turn comes sooner
	woken map[string]bool   // by request: those that their sites were told to look at
}

func newFollower(s *Scheduler) follower {
	return follower{s, map[string]mark{}, &findings{}, map[string]*early{}, map[string]bool{}}
}

// mark is what tells two states of a job at its site apart.
type mark struct {
	state   plugins.State
	native  string
	started int64
}

// key is that of the message about a booking's job. A long word is not in it as it is: PostgreSQL has no keys of
// some thousand bytes.
func (m *mark) key(request string) string {
	word := m.native
	if len(word) > maxWord {
		word = fmt.Sprintf("%x", sha256.Sum256([]byte(word)))
	}
	return "seen/" + request + "/" + fmt.Sprint(m.state, word, m.started)
}

// maxWord is how long words for states are as a rule at most, in bytes.
const maxWord = 100

func (s follower) run(ctx context.Context) error {
	failed := func(owner string, err error) error {
		if ctx.Err() == nil {
			s.log.Warn("how the jobs of a user are cannot be asked", "owner", owner, "error", err)
		}
		return ctx.Err()
	}
	next := time.Now().Add(s.conf.StatusEvery)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case name := <-s.stirred:
			s.note(name, time.Now())
			continue
		case <-time.After(time.Until(s.soonest(next))):
		}
		only := s.due(time.Now())
		if !time.Now().Before(next) {
			next, only = time.Now().Add(s.conf.StatusEvery), nil
		}
		if err := s.round(ctx, only, failed); err != nil && ctx.Err() == nil {
			s.log.Warn("how jobs are was not taken down", "error", err)
		}
	}
}

// holdersAtOnce is of how many the credentials are read together.
const holdersAtOnce = 200

// round asks about the jobs of every owner and VO, one after the other, at some clusters, nil: all; failed is told of
// the owners of those of which it fails, and may end the round.
func (s follower) round(ctx context.Context, only map[string]bool, failed func(owner string, err error) error) error {
	all := s.atSites(only)
	if s.found.begin(only == nil); only == nil {
		s.forget(all)
	}
	each := slices.Collect(stretches(all, func(a, b *placed) bool { return a.by == b.by }))
	for some := range slices.Chunk(each, holdersAtOnce) {
		kept, err := s.kept(ctx, some)
		if err != nil {
			return err
		}
		for _, jobs := range some {
			by := jobs[0].by
			cred, _ := kept.of(by, s.now().Unix())
			if err := s.ask(ctx, cred, by.owner, jobs); err != nil {
				if err := failed(by.owner, err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// kept reads what some have delegated.
func (s follower) kept(ctx context.Context, some [][]*placed) (all authorities, err error) {
	owners := make([]string, 0, len(some))
	for _, jobs := range some {
		owners = append(owners, jobs[0].by.owner)
	}
	err = s.store.read(ctx, func(h handle) error {
		all, err = h.wallet.credentials(ctx, slices.Compact(owners))
		return err
	})
	return all, err
}

// forget drops what was told of bookings that are over, once these are the most.
func (s follower) forget(all []*placed) {
	if max(len(s.last), len(s.woken)) <= 2*len(all)+1000 {
		return
	}
	there := make(map[string]bool, len(all))
	for i := range all {
		there[all[i].request] = true
	}
	maps.DeleteFunc(s.last, func(request string, _ mark) bool { return !there[request] })
	maps.DeleteFunc(s.woken, func(request string, _ bool) bool { return !there[request] })
}

// atSite tells whether both are at one site.
func (p *placed) atSite(o *placed) bool {
	return p.handle.Endpoint == o.handle.Endpoint && p.handle.Interface == o.handle.Interface
}

// stretches are those of a list that belong together and stand together.
func stretches(list []*placed, same func(a, b *placed) bool) iter.Seq[[]*placed] {
	return func(yield func([]*placed) bool) {
		for len(list) > 0 {
			n := 1
			for n < len(list) && same(list[0], list[n]) {
				n++
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// atSites lists the jobs that are at some sites, nil: at all, in the order in which they are asked about.
func (s follower) atSites(only map[string]bool) []*placed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem == nil {
		return nil
	}
	s.mem.jobs.settle()
	all := slices.Clone(s.mem.jobs.atSites)
	if only != nil {
		all = slices.DeleteFunc(all, func(p *placed) bool { return !only[p.cluster] })
	}
	return all
}

// ask asks about jobs of one owner, one request for each endpoint. What goes wrong with the answer of one keeps no other back.
func (s follower) ask(ctx context.Context, cred authority, owner string, list []*placed) error {
	reg, release, err := s.asOwner(ctx, owner, cred)
	if err != nil {
		return err
	}
	defer release()
	for jobs := range stretches(list, (*placed).atSite) {
		back, ok := reg.For(jobs[0].handle.Interface)
		if !ok {
			err = errors.Join(err, fmt.Errorf("no back-end for %s", jobs[0].handle.Interface))
			continue
		}
		hs := make([]plugins.Handle, len(jobs))
		for i := range jobs {
			hs[i] = jobs[i].handle
		}
		asking, cancel := context.WithTimeout(ctx, actionTime)
		states := back.Status(asking, hs)
		s.wake(asking, back, jobs, states)
		cancel()
		if e := s.tell(ctx, jobs, states); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", jobs[0].cluster, e))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return err
}

// wake has a site look at the jobs that still wait though their slots have begun, at each once.
func (s follower) wake(ctx context.Context, back plugins.Submitter, jobs []*placed, states []plugins.Status) {
	waker, can := back.(plugins.Waker)
	if !can {
		return
	}
	var asleep []plugins.Handle
	for i, st := range states {
		p := jobs[i]
		if st.State != plugins.Queued || p.from == 0 || p.from >= s.now().Unix() || s.woken[p.request] {
			continue
		}
		s.woken[p.request] = true
		asleep = append(asleep, p.handle)
	}
	if len(asleep) == 0 {
		return
	}
	if err := errors.Join(waker.Wake(ctx, asleep)...); err != nil {
		s.log.Warn("a site was not told that jobs may begin", "cluster", jobs[0].cluster, "error", err)
	}
}

// tell leaves a message for each job that has changed.
func (s follower) tell(ctx context.Context, jobs []*placed, states []plugins.Status) error {
	var news []*seen
	var marks []mark
	changed, before := map[string]bool{}, len(s.found.is)
	for i := range states {
		st, p := &states[i], jobs[i]
		if st.State == plugins.Unknown {
			continue
		}
		is := mark{st.State, plain(st.Native), unix(st.Started)}
		was, known := s.found.of(p)
		if !known {
			was = s.last[p.request]
		}
		if s.found.add(p, is); was != is {
			news, marks = append(news, seenOf(p.job, p.request, *st)), append(marks, is)
			changed[p.cluster] = true
		}
	}
	if len(news) == 0 {
		return nil
	}
	err := s.store.tx(ctx, func(h handle) error {
		for i, v := range news {
			if err := h.mail.post(ctx, kindSeen, marks[i].key(v.Request), *v); err != nil {
				return err
			}
		}
		h.wake()
		return nil
	})
	if err != nil {
		s.found.is = s.found.is[:before]
		return err
	}
	for i, v := range news {
		s.last[v.Request] = marks[i]
	}
	for name := range changed {
		s.newsOf(name)
	}
	s.poke()
	return nil
}
