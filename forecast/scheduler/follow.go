package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gridbroker/plugins"
)

// follower asks the sites about their jobs. What has changed is a message.
type follower struct {
	*Scheduler
	last map[string]mark // what was told of a booking, by its request
}

// mark is what tells two states of a job at its site apart.
type mark struct {
	state   plugins.State
	native  string
	started int64
}

func (s follower) run(ctx context.Context) error {
	for s.pause(ctx, s.conf.StatusEvery) {
		err := s.round(ctx, func(owner string, err error) error {
			if ctx.Err() == nil {
				s.log.Warn("status", "owner", owner, "error", err)
			}
			return ctx.Err()
		})
		if err != nil && ctx.Err() == nil {
			s.log.Warn("status", "error", err)
		}
	}
	return ctx.Err()
}

// holdersAtOnce is of how many the credentials are read together.
const holdersAtOnce = 200

// round asks about the jobs of every owner and VO, one after the other; failed is told of
// the owners of those of which it fails, and may end the round.
func (s follower) round(ctx context.Context, failed func(owner string, err error) error) error {
	all := s.atSites()
	s.forget(all)
	for some := range slices.Chunk(slices.SortedFunc(maps.Keys(all), holder.compare), holdersAtOnce) {
		kept, err := s.kept(ctx, some)
		if err != nil {
			return err
		}
		for _, by := range some {
			cred, _ := kept.of(by, s.now().Unix())
			if err := s.ask(ctx, cred, by.owner, all[by]); err != nil {
				if err := failed(by.owner, err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// kept reads what some have delegated.
func (s follower) kept(ctx context.Context, some []holder) (all authorities, err error) {
	var owners []string
	for _, by := range some {
		owners = append(owners, by.owner)
	}
	err = s.store.read(ctx, func(h handle) error {
		all, err = credentials(ctx, h, slices.Compact(owners))
		return err
	})
	return all, err
}

// forget drops what was told of bookings that are over, once these are the most.
func (s follower) forget(all map[holder]map[plugins.Handle][]placed) {
	n := 0
	for _, list := range all {
		for _, jobs := range list {
			n += len(jobs)
		}
	}
	if len(s.last) <= 2*n+1000 {
		return
	}
	there := make(map[string]bool, n)
	for _, list := range all {
		for _, jobs := range list {
			for i := range jobs {
				there[jobs[i].request] = true
			}
		}
	}
	maps.DeleteFunc(s.last, func(request string, _ mark) bool { return !there[request] })
}

// placed is a job at a site.
type placed struct {
	job, request string
	handle       plugins.Handle
}

// atSites lists the jobs that are at sites, by whose credentials they are asked about with, and endpoint.
func (s follower) atSites() map[holder]map[plugins.Handle][]placed {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[holder]map[plugins.Handle][]placed{}
	if s.mem == nil {
		return all
	}
	for _, j := range s.mem.pick(func(j *Job) bool { return j.State == Sent || j.State == Running }) {
		by := j.holder()
		if all[by] == nil {
			all[by] = map[plugins.Handle][]placed{}
		}
		at := plugins.Handle{Interface: j.Handle.Interface, Endpoint: j.Handle.Endpoint}
		all[by][at] = append(all[by][at], placed{j.ID, j.request(), j.Handle})
	}
	return all
}

// ask asks about jobs of one owner, one request for each endpoint.
func (s follower) ask(ctx context.Context, cred authority, owner string, list map[plugins.Handle][]placed) error {
	reg, release, err := s.asOwner(ctx, owner, cred)
	if err != nil {
		return err
	}
	defer release()
	byURL := func(a, b plugins.Handle) int { return strings.Compare(a.Endpoint, b.Endpoint) }
	for _, at := range slices.SortedFunc(maps.Keys(list), byURL) {
		jobs := list[at]
		back, ok := reg.For(at.Interface)
		if !ok {
			return fmt.Errorf("no back-end for %s", at.Interface)
		}
		hs := make([]plugins.Handle, len(jobs))
		for i := range jobs {
			hs[i] = jobs[i].handle
		}
		asking, cancel := context.WithTimeout(ctx, actionTime)
		states := back.Status(asking, hs)
		cancel()
		if err := s.tell(ctx, jobs, states); err != nil {
			return err
		}
	}
	return nil
}

// tell leaves a message for each job that has changed.
func (s follower) tell(ctx context.Context, jobs []placed, states []plugins.Status) error {
	var news []*seen
	var marks []mark
	for i, st := range states {
		if st.State == plugins.Unknown {
			continue
		}
		is := mark{st.State, st.Native, unix(st.Started)}
		if s.last[jobs[i].request] != is {
			news, marks = append(news, seenOf(jobs[i].job, jobs[i].request, st)), append(marks, is)
		}
	}
	if len(news) == 0 {
		return nil
	}
	err := s.store.tx(ctx, func(h handle) error {
		for i, v := range news {
			if err := h.post(ctx, kindSeen, "seen/"+v.Request+"/"+fmt.Sprint(marks[i].state, marks[i].native, marks[i].started), v); err != nil {
				return err
			}
		}
		h.wake()
		return nil
	})
	if err != nil {
		return err
	}
	for i, v := range news {
		s.last[v.Request] = marks[i]
	}
	s.poke()
	return nil
}
