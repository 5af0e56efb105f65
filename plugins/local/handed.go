package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins"
)

// Handed is a site of which an external scheduler starts the jobs. While it is
// open the site's own runner starts none; the kernel ends that with the process,
// however it ends, and the site goes on by itself. It is safe for concurrent use.
type Handed struct {
	*reader

	mu   sync.Mutex
	held *os.File // handed.lock; nil: not yet
}

// Handed opens the site of a reader for an external scheduler.
func (r *reader) Handed() plugins.QueueReader { return &Handed{reader: r} }

// handedLock is the file whose lock keeps a site's own runner from starting jobs.
func handedLock(s *site) string { return filepath.Join(s.dir, "handed.lock") }

// handed tells whether an external scheduler starts a site's jobs.
func handed(s *site) (bool, error) {
	if _, err := os.Stat(handedLock(s)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	l, free, err := lock(handedLock(s), false)
	if err != nil || !free {
		return !free && err == nil, err
	}
	return false, l.Close()
}

// Take takes the site over, once.
func (h *Handed) Take() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held != nil {
		return nil
	}
	if err := h.site.prepare(); err != nil {
		return h.fail(plugins.Unavailable, "take over", err)
	}
	l, ok, err := lock(handedLock(h.site), false)
	for range 20 { // a runner that only looks has it for a moment
		if ok || err != nil {
			break
		}
		time.Sleep(pollEvery / 10)
		l, ok, err = lock(handedLock(h.site), false)
	}
	switch {
	case err != nil:
		return h.fail(plugins.Unavailable, "take over", err)
	case !ok:
		return h.fail(plugins.Refused, "take over", errors.New("another external scheduler has this site"))
	}
	h.held = l
	return nil
}

// Close gives the site back to its own runner.
func (h *Handed) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		return nil
	}
	err := h.held.Close()
	h.held = nil
	return errors.Join(err, h.site.ensureRunner())
}

// Undivided tells that every job runs on one node: there is only one.
func (h *Handed) Undivided() bool { return true }

// Queue implements plugins.QueueReader.
func (h *Handed) Queue(ctx context.Context) (batch.State, error) {
	if err := h.Take(); err != nil {
		return batch.State{}, err
	}
	return h.reader.Queue(ctx)
}

// Suspended tells whether a job is suspended: none ever is.
func (h *Handed) Suspended(string) bool { return false }

// Start gives a waiting job to a supervisor. A job that does not wait is refused,
// and one for which no slots are free.
func (h *Handed) Start(_ context.Context, id string, tasks []string) error {
	if err := h.Take(); err != nil {
		return err
	}
	s := h.site
	if i := slices.IndexFunc(tasks, func(t string) bool { return t != s.Name }); i >= 0 {
		return h.fail(plugins.Refused, "start", fmt.Errorf("no such node: %.40q, this one is %s", tasks[i], s.Name))
	}
	if !siteName.MatchString(id) {
		return h.fail(plugins.Refused, "start", fmt.Errorf("%.40q is no job", id))
	}
	return s.withQueue(func() error {
		var sp spec
		if _, err := os.Stat(s.queued(id)); err != nil {
			return h.fail(plugins.Refused, "start", fmt.Errorf("job %s does not wait", id))
		}
		if err := s.spec(id, &sp); err != nil {
			return h.fail(plugins.Refused, "start", err)
		}
		used, err := s.used()
		if err != nil {
			return err
		}
		if free := s.Slots - used; sp.Slots > free {
			return h.fail(plugins.Refused, "start", fmt.Errorf("job %s asks for %d slots, %d are free", id, sp.Slots, free))
		}
		return s.startFitting([]spec{sp}, sp.Slots)
	})
}

// Cancel takes a waiting job out of the queue, or ends a running one.
func (h *Handed) Cancel(_ context.Context, id, _ string) error {
	if !siteName.MatchString(id) {
		return h.fail(plugins.Refused, "cancel", fmt.Errorf("%.40q is no job", id))
	}
	err := h.site.withQueue(func() error { return cancel(h.site, id) })
	if errors.Is(err, fs.ErrNotExist) {
		return h.fail(plugins.Refused, "cancel", fmt.Errorf("no such job: %s", id))
	}
	return err
}

// Suspend is refused: the supervisor of a job counts its wall time and knows of no
// pause.
func (h *Handed) Suspend(_ context.Context, id string) error { return h.noSuspension("suspend", id) }

// Resume is refused likewise.
func (h *Handed) Resume(_ context.Context, id string) error { return h.noSuspension("resume", id) }

func (h *Handed) noSuspension(op, id string) error {
	return h.fail(plugins.Refused, op, fmt.Errorf("job %.40q: jobs of this machine are not suspended", id))
}

func (h *Handed) fail(kind plugins.Kind, op string, err error) error {
	return &plugins.Error{Kind: kind, Op: op, Endpoint: EndpointURL(h.site.Name), Err: err}
}
