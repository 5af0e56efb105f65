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
	last map[string]string // what was told of a booking, by its request
}

func (s follower) run(ctx context.Context) error {
	for s.pause(ctx, s.conf.StatusEvery) {
		for owner, list := range s.atSites() {
			if err := s.ask(ctx, owner, list); err != nil && ctx.Err() == nil {
				s.log.Warn("status", "owner", owner, "error", err)
			}
		}
	}
	return ctx.Err()
}

// atSites lists the jobs that are at sites, by owner and endpoint, as copies.
func (s follower) atSites() map[string]map[plugins.Handle][]Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]map[plugins.Handle][]Job{}
	if s.mem == nil {
		return all
	}
	for _, j := range s.mem.pick(func(j *Job) bool { return j.State == Sent || j.State == Running }) {
		if all[j.Owner] == nil {
			all[j.Owner] = map[plugins.Handle][]Job{}
		}
		at := plugins.Handle{Interface: j.Handle.Interface, Endpoint: j.Handle.Endpoint}
		all[j.Owner][at] = append(all[j.Owner][at], *j)
	}
	return all
}

// ask asks about the jobs of one owner, one request for each endpoint.
func (s follower) ask(ctx context.Context, owner string, list map[plugins.Handle][]Job) error {
	reg, release, err := s.asOwner(ctx, owner)
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
			hs[i] = jobs[i].Handle
		}
		asking, cancel := context.WithTimeout(ctx, lease)
		states := back.Status(asking, hs)
		cancel()
		if err := s.tell(ctx, jobs, states); err != nil {
			return err
		}
	}
	return nil
}

// tell leaves a message for each job that has changed.
func (s follower) tell(ctx context.Context, jobs []Job, states []plugins.Status) error {
	var news []*seen
	var marks []string
	for i, st := range states {
		if st.State == plugins.Unknown {
			continue
		}
		v := seenOf(&jobs[i], st)
		mark := fmt.Sprint(v.State, v.Native, v.Started)
		if s.last[v.Request] != mark {
			news, marks = append(news, v), append(marks, mark)
		}
	}
	if len(news) == 0 {
		return nil
	}
	err := s.store.tx(ctx, func(h handle) error {
		for i, v := range news {
			if err := h.post(ctx, kindSeen, "seen/"+v.Request+"/"+marks[i], v); err != nil {
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
