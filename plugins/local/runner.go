package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gridbroker/plugins"
)

// RunSite is the runner: it starts waiting jobs while slots are free and
// returns when the queue is empty. It returns at once when another runner has
// the site.
func RunSite(ctx context.Context, dir string, helper []string, now func() time.Time) error {
	s := &site{dir: dir, helper: helper, now: now}
	l, ok, err := lock(filepath.Join(dir, "runner.lock"), false)
	if err != nil || !ok {
		return err
	}
	defer l.Close()
	for {
		// site.json is read anew: a later submission may have changed the slots.
		if err := readJSON(filepath.Join(dir, "site.json"), &s.Site); err != nil {
			return err
		}
		done, err := s.pass(l)
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// pass starts what fits. With an empty queue it gives up the runner's lock
// while it still holds the queue's, and reports done.
func (s *site) pass(runnerLock *os.File) (done bool, err error) {
	err = s.withQueue(func() error {
		used, err := s.used()
		if err != nil {
			return err
		}
		specs, err := s.waiting()
		if err != nil {
			return err
		}
		if len(specs) == 0 {
			done = true
			return runnerLock.Close()
		}
		if theirs, err := handed(s); theirs || err != nil {
			return err // who starts jobs is an external scheduler
		}
		return s.startFitting(specs, s.Slots-used)
	})
	return done, err
}

// startFitting starts jobs in order of submission; the first that does not
// fit holds back those behind it, so that wide jobs are not starved.
func (s *site) startFitting(specs []spec, free int) error {
	for _, sp := range specs {
		if sp.Slots > free && sp.Slots <= s.Slots {
			return nil
		}
		if err := os.Rename(s.queued(sp.ID), s.running(sp.ID)); err != nil {
			return err
		}
		if err := s.start(SupervisorVerb, s.job(sp.ID)); err != nil {
			return fmt.Errorf("start job %s: %w", sp.ID, err)
		}
		free -= sp.Slots
	}
	return nil
}

// used counts the slots of jobs that have been started, and takes the ended
// ones off the list. A job whose supervisor never began is given to a new one.
func (s *site) used() (slots int, err error) {
	ids, err := s.names("running")
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		var sp spec
		if err := s.spec(id, &sp); err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // else it was cleaned
				if err := s.condemn(id, err); err != nil {
					return 0, err
				}
			}
			os.Remove(s.running(id))
			continue
		}
		st, err := s.settle(id)
		if errors.Is(err, errCopied) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if st.State.Final() {
			os.Remove(s.running(id))
			continue
		}
		slots += sp.Slots
	}
	return slots, nil
}

// settle returns the state of a started job. One whose supervisor has died is
// ended here: what it left running is killed and the job is failed.
func (s *site) settle(id string) (status, error) {
	st, err := s.status(id)
	_, bad := errors.AsType[*damaged](err)
	if err != nil && !bad || st.State.Final() {
		return st, err
	}
	if theirs, err := copied(s, id); err != nil || theirs {
		return st, cmp.Or(err, errCopied)
	}
	l, ok, err := lock(filepath.Join(s.job(id), "lock"), false)
	if err != nil || !ok {
		if bad {
			st.State = plugins.Running
		}
		return st, err // its supervisor lives
	}
	defer l.Close()
	st, err = s.status(id)
	if _, bad := errors.AsType[*damaged](err); bad { // and nobody is there to write it again
		killTagged(id)
		if err := s.condemn(id, err); err != nil {
			return st, err
		}
		return s.status(id)
	}
	if err != nil || st.State.Final() {
		return st, err
	}
	if st.State == plugins.Queued { // marked as running, but no supervisor came
		return st, s.revive(id)
	}
	killTagged(id)
	st.State, st.Ended = plugins.Failed, s.now()
	st.Reason = "the job's supervisor was killed, or this machine was restarted"
	return st, writeJSON(filepath.Join(s.job(id), "status.json"), st)
}

// revive starts a supervisor for a job that was marked as running some time
// ago and has none. A supervisor that is merely slow to come is harmless:
// only one of the two gets the job's lock.
func (s *site) revive(id string) error {
	info, err := os.Stat(s.running(id))
	if err != nil || s.now().Sub(info.ModTime()) < 5*time.Second {
		return nil
	}
	if err := os.Chtimes(s.running(id), s.now(), s.now()); err != nil {
		return err
	}
	return s.start(SupervisorVerb, s.job(id))
}
