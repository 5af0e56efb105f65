package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// In an older copy of the database a job may be held that was released since, and sent: as it is not sent any more nothing
// would ask whether it is at a site. The leader asks, until all sites have answered.

// found is what a result tells that is of no action: that a job which the copy has as held is at a site. Programs of before take
// no notice of it.
const found verb = "found"

// seeker looks for held jobs at the sites.
type seeker struct {
	*Scheduler
	copied  int64           // when the copy was brought back
	nowhere map[string]bool // by job: no site has it
}

// newSeeker is one that looks for them; nil: no older copy was brought back.
func newSeeker(ctx context.Context, s *Scheduler) (k *seeker, err error) {
	at := int64(0)
	err = s.store.read(ctx, func(h handle) (err error) { at, err = h.reign.restored(ctx); return err })
	if err != nil || at == 0 {
		return nil, err
	}
	return &seeker{s, at, map[string]bool{}}, nil
}

// seek looks for them while the replica leads.
func seek(ctx context.Context, s *Scheduler) error {
	k, err := newSeeker(ctx, s)
	said := map[string]bool{}
	for err != nil || k != nil {
		wait := s.conf.StatusEvery
		if k == nil {
			k, err = newSeeker(ctx, s)
		} else if err = k.round(ctx); err != nil && ctx.Err() == nil {
			if wait = inventoryAge; !said[err.Error()] {
				s.log.Warn("of jobs that are held it is not known yet whether they were released, and sent, since the copy of the database was made", "error", err)
			}
			said[err.Error()] = true
		}
		if !s.pause(ctx, wait) {
			return ctx.Err()
		}
	}
	return nil
}

// held are the jobs to look for, those of one credential together.
func (s *seeker) held() (list []Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem == nil {
		return nil
	}
	for _, e := range s.mem.jobs.waits() {
		if e.OnHold && e.Submitted <= s.copied && !s.nowhere[e.ID] {
			list = append(list, *e.Job)
		}
	}
	slices.SortStableFunc(list, func(a, b Job) int { return a.holder().compare(b.holder()) })
	return list
}

// round asks about all of which it is not known. What goes wrong for one credential keeps no other back.
func (s *seeker) round(ctx context.Context) (err error) {
	for list := s.held(); len(list) > 0 && ctx.Err() == nil; {
		n := 1
		for n < len(list) && list[n].holder() == list[0].holder() {
			n++
		}
		if e := s.ask(ctx, list[:n]); e != nil {
			err = errors.Join(err, fmt.Errorf("jobs of %s: %w", list[0].Owner, e))
		}
		list = list[n:]
	}
	return err
}

// ask asks about jobs of one credential.
func (s *seeker) ask(ctx context.Context, jobs []Job) error {
	by := jobs[0].holder()
	var all authorities
	err := s.store.read(ctx, func(h handle) (err error) {
		all, err = h.wallet.credentials(ctx, []string{by.owner})
		return err
	})
	if err != nil {
		return err
	}
	cred, _ := all.of(by, s.now().Unix())
	reg, release, err := s.asOwner(ctx, by.owner, cred)
	if err != nil {
		return err
	}
	defer release()
	silent := map[string]error{}
	for i := range jobs {
		j := &jobs[i]
		if r := s.find(ctx, j, reg, silent); r != nil {
			if err := s.tell(ctx, r); err != nil {
				return err
			}
		} else if len(silent) == 0 {
			s.nowhere[j.ID] = true
		}
	}
	return errors.Join(slices.Collect(maps.Values(silent))...)
}

// find looks for a job at all sites but the silent ones, and notes which are: by the requests that the copy does not know to be over.
// nil: none has it.
func (s *seeker) find(ctx context.Context, j *Job, reg *plugins.Registry, silent map[string]error) *result {
	ctx, cancel := context.WithTimeout(ctx, actionTime)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(s.conf.Clusters)) {
		to := s.conf.Clusters[name]
		if silent[name] != nil {
			continue
		}
		back, ok := reg.For(to.Interface)
		if !ok {
			silent[name] = fmt.Errorf("%s: no back-end for %s", name, to.Interface)
			continue
		}
		h, most, err := sentAs(ctx, s.Scheduler, j, back, glue.Endpoint{URL: to.Endpoint, Interface: to.Interface}, func(n int) bool { return n > j.Tries })
		if err != nil {
			silent[name] = fmt.Errorf("%s: %w", name, err)
		} else if h.ID != "" {
			return &result{Job: j.ID, Verb: found, Key: string(found) + "/" + j.request(), Cluster: name, Handle: h, Number: most}
		}
	}
	return nil
}

// tell leaves a message that a job was found.
func (s *seeker) tell(ctx context.Context, r *result) error {
	err := s.store.tx(ctx, func(h handle) error {
		h.wake()
		return h.mail.post(ctx, kindResult, r.Key, *r)
	})
	if err == nil {
		s.poke()
	}
	return err
}

// foundAt has a job followed that is at a site though the copy has it as held: its owner has released it since.
func foundAt(w *work, j *Job, r result) {
	if c := w.mem.clusters[r.Cluster]; c == nil || j.State != Waiting || !j.OnHold {
		return
	}
	now := w.now.Unix()
	end := now + int64(j.Wall)
	j.OnHold, j.Past = false, max(j.Past, r.Number)
	give(w, j, &Place{Cluster: r.Cluster, From: now, To: end, Done: end, Chance: 1, Told: 1, Made: now, Turn: true})
	j.State, j.Handle, j.Sent = Sent, r.Handle, now
	w.say(j, r.Cluster, "sent", "found there as %s: it was sent after the copy of the database was made", r.Handle.ID)
}
