package local

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/durable"
	"gridbroker/glue"
	"gridbroker/plugins"
)

var native = map[plugins.State]string{
	plugins.Queued: "INQUEUE", plugins.Held: "HELD", plugins.Running: "RUNNING", plugins.Done: "FINISHED",
	plugins.Failed: "FAILED", plugins.Cancelled: "KILLED", plugins.Lost: "GONE",
}

// Status implements plugins.Submitter. It also starts a runner where jobs
// wait and none is there, so that a site goes on after a restart of the machine.
func (b *Backend) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	idle, full := map[*site][]int{}, map[*site]string{}
	for i, h := range hs {
		s, st, err := b.settled(h)
		if err != nil {
			out[i] = missing(h, err)
			continue
		}
		if st.State == plugins.Queued {
			idle[s] = append(idle[s], i)
		}
		out[i] = plugins.Status{
			Handle: h, State: st.State, Native: native[st.State], ExitCode: st.Exit, Reason: st.Reason, Fault: st.Fault,
			Started: st.Started, Ended: st.Ended, CPUTime: st.CPU, MaxMemory: st.MaxRSS,
		}
		if st.State == plugins.Running {
			if _, asked := full[s]; !asked {
				full[s] = crammed(s.dir)
			}
			out[i].Reason = full[s]
		}
		if !st.Started.IsZero() && !st.Ended.IsZero() {
			out[i].WallTime = cmp.Or(st.Ran, max(0, st.Ended.Sub(st.Started)))
		}
	}
	for s, waiting := range idle {
		if err := s.ensureRunner(); err != nil {
			for _, i := range waiting {
				out[i].Reason = "nothing starts it: " + err.Error()
			}
		}
	}
	return out
}

// fewBytes is how much has to be free for a job's end to be written down.
const fewBytes = 16 << 10

// crammed tells that the disk of the jobs is full, so that what they write fails, and their end
// comes to be known only when there is room; "": it is not.
func crammed(dir string) string {
	if free, err := plugins.FreeBytes(dir); err != nil || free >= fewBytes {
		return ""
	}
	return "the disk that its files are on is full (" + dir + "): make room; whether it has ended is not known until then"
}

// missing is the status of a job that could not be read.
func missing(h plugins.Handle, err error) plugins.Status {
	st := plugins.Status{Handle: h, State: plugins.Unknown, Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		st.State, st.Native = plugins.Lost, native[plugins.Lost]
		st.Err = noJob("status", h)
	}
	return st
}

// noJob is that a job is not there.
func noJob(op string, h plugins.Handle) error {
	return &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: h.Endpoint, Said: "no such job: " + h.ID, Err: fs.ErrNotExist}
}

// SettleTime implements plugins.Settler: jobs are put here by the process that
// submits them, and nothing goes on when it has ended.
func (b *Backend) SettleTime() time.Duration { return time.Second }

// settled reads a job's state, ending one whose supervisor is gone.
func (b *Backend) settled(h plugins.Handle) (*site, status, error) {
	s, err := b.locate(h)
	if err != nil {
		return nil, status{}, err
	}
	if _, err := os.Stat(s.queued(h.ID)); err == nil {
		theirs, err := copied(s, h.ID)
		if theirs {
			err = errCopied
		}
		return s, status{State: plugins.Queued}, err
	}
	if held, err := isHeld(s, h.ID); held || err != nil {
		return s, status{State: plugins.Held, Reason: "held by the user"}, err
	}
	st, err := s.settle(h.ID)
	if err == nil && st.State == plugins.Queued {
		err = requeue(s, h.ID)
	}
	return s, st, err
}

// isHeld reports whether a job that is not in the queue is held: one that was given to a supervisor
// or has ended all the same is so no more, as where a power cut left two markers of it.
func isHeld(s *site, id string) (bool, error) {
	if !exists(heldAt(s, id)) {
		return false, nil
	}
	st, err := s.status(id)
	if err != nil || st.State == plugins.Queued && !exists(s.running(id)) {
		return err == nil, err
	}
	if err := os.Remove(heldAt(s, id)); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, nil
}

// requeue puts a job back into the queue that is neither there nor started:
// whoever submitted it died between two steps.
func requeue(s *site, id string) error {
	return s.withQueue(func() error {
		st, err := s.status(id)
		if err != nil || st.State != plugins.Queued || exists(s.running(id)) || exists(s.queued(id)) || exists(heldAt(s, id)) {
			return err
		}
		return os.WriteFile(s.queued(id), nil, 0o600)
	})
}

// locate finds the site of a job that exists.
func (b *Backend) locate(h plugins.Handle) (*site, error) {
	s, err := b.site(h.Endpoint)
	if err != nil {
		return nil, err
	}
	if !siteName.MatchString(h.ID) {
		return nil, fs.ErrNotExist
	}
	_, err = os.Stat(s.job(h.ID))
	return s, err
}

// Cancel implements plugins.Submitter.
func (b *Backend) Cancel(ctx context.Context, hs []plugins.Handle) []error {
	errs := make([]error, len(hs))
	at := map[*site][]int{}
	for i, h := range hs {
		s, err := b.locate(h)
		switch {
		case err == nil:
			at[s] = append(at[s], i)
		case !errors.Is(err, fs.ErrNotExist):
			errs[i] = err
		}
	}
	for s, mine := range at {
		for some := range slices.Chunk(mine, cancelledAtOnce) {
			var err error
			if gone := ctx.Err(); gone != nil {
				err = &plugins.Error{Kind: plugins.Unavailable, Op: "cancel", Endpoint: EndpointURL(s.Name), Err: gone}
			} else {
				err = cancelSome(s, hs, some, errs)
			}
			for _, i := range some {
				errs[i] = cmp.Or(errs[i], err)
			}
		}
		s.read.drop()
	}
	return errs
}

// So many jobs are taken out of the queue while nothing is started from it,
// by so many writers: each state is on disk before its job leaves the queue.
const (
	cancelledAtOnce = 128
	cancelWriters   = 16
)

// cancelSome cancels the jobs of a site that have these indexes.
func cancelSome(s *site, hs []plugins.Handle, some []int, errs []error) error {
	return s.withQueue(func() error {
		var g errgroup.Group
		g.SetLimit(cancelWriters)
		for _, i := range some {
			g.Go(func() error {
				errs[i] = cancel(s, hs[i].ID)
				return nil
			})
		}
		return g.Wait()
	})
}

// waitsAt is the marker of a job that waits, or is held; "": it does neither.
func waitsAt(s *site, id string) string {
	for _, at := range []string{s.queued(id), heldAt(s, id)} {
		if exists(at) {
			return at
		}
	}
	return ""
}

// cancel takes a waiting job out of the queue, or leaves word for the
// supervisor of a started one. The caller holds the queue.
func cancel(s *site, id string) error {
	if waits := waitsAt(s, id); waits != "" {
		// The state first: a job that has one is not started, whatever
		// happens to this process before it leaves the queue.
		end := status{State: plugins.Cancelled, Reason: "cancelled by the user before it started", Ended: s.now()}
		if err := writeJSON(filepath.Join(s.job(id), "status.json"), end); err != nil {
			return err
		}
		if err := os.Remove(waits); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	st, err := s.status(id)
	if err != nil || st.State.Final() {
		return err
	}
	if theirs, err := copied(s, id); err != nil {
		return err
	} else if theirs {
		end := status{State: plugins.Cancelled, Reason: "given up by the user in a copy of its files", Ended: s.now()}
		return writeJSON(filepath.Join(s.job(id), "status.json"), end)
	}
	return os.WriteFile(filepath.Join(s.job(id), "cancel"), nil, 0o600)
}

// Clean implements plugins.Cleaner. A job that has not ended is refused.
func (b *Backend) Clean(_ context.Context, hs []plugins.Handle) []error {
	errs := make([]error, len(hs))
	for i, h := range hs {
		s, st, err := b.settled(h)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !st.State.Final() {
			err = &plugins.Error{Kind: plugins.Refused, Op: "clean", Endpoint: h.Endpoint,
				Said: "job " + h.ID + " is " + string(st.State), Hint: "cancel it first"}
		}
		if err == nil {
			os.Remove(s.running(h.ID))
			err = os.RemoveAll(s.job(h.ID))
		}
		errs[i] = err
	}
	return errs
}

// Log implements plugins.Logger: the supervisor's own log.
func (b *Backend) Log(_ context.Context, h plugins.Handle, w io.Writer) error {
	s, err := b.locate(h)
	if err != nil {
		return err
	}
	f, err := durable.Open(filepath.Join(s.job(h.ID), "log")) // a job can put something else there
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not started yet
	} else if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// Peek implements plugins.Peeker.
func (b *Backend) Peek(_ context.Context, h plugins.Handle, name string, offset int64, w io.Writer) (int64, error) {
	s, err := b.locate(h)
	if err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(filepath.Join(s.job(h.ID), "work"))
	if err != nil {
		return 0, err
	}
	defer root.Close()
	f, err := durable.OpenIn(root, name, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, f)
}

// Ping implements plugins.Pinger.
func (b *Backend) Ping(_ context.Context, endpoint string) (plugins.Pong, error) {
	pong := plugins.Pong{Interface: glue.InterfaceLocal, Said: "the site is draining"}
	if endpoint == EndpointURL("") { // all sites
		for _, s := range b.sites {
			pong.LetIn = pong.LetIn || !s.Disabled
		}
	} else {
		s, err := b.site(endpoint)
		if err != nil {
			return plugins.Pong{}, err
		}
		pong.LetIn = !s.Disabled
	}
	if pong.LetIn {
		pong.Said = ""
	}
	return pong, nil
}
