package local

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gridbroker/plugins"
)

// lock takes an exclusive lock on a file, made if missing. With wait unset it
// returns ok=false when another process has it. The kernel frees the lock
// when the process ends, however it ends.
func lock(path string, wait bool) (f *os.File, ok bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, false, nil
		}
		return nil, false, err
	}
	return f, true, nil
}

// withQueue runs f while no other process changes the queue.
func (s *site) withQueue(f func() error) error {
	l, _, err := lock(filepath.Join(s.dir, "queue.lock"), true)
	if err != nil {
		return err
	}
	defer l.Close()
	return f()
}

// names lists a marker directory; a missing one is empty.
func (s *site) names(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// waiting returns the specs of waiting jobs in order of submission.
func (s *site) waiting() ([]spec, error) {
	ids, err := s.names("queue")
	if err != nil {
		return nil, err
	}
	var specs []spec
	for _, id := range ids {
		var sp spec
		if err := readJSON(filepath.Join(s.job(id), "spec.json"), &sp); errors.Is(err, fs.ErrNotExist) {
			continue // cancelled and cleaned in between
		} else if err != nil {
			return nil, err
		}
		specs = append(specs, sp)
	}
	slices.SortFunc(specs, func(a, b spec) int {
		if c := a.Submitted.Compare(b.Submitted); c != 0 {
			return c
		}
		return compare(a.ID, b.ID)
	})
	return specs, nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// status reads a job's state; a job without one waits.
func (s *site) status(id string) (status, error) {
	var st status
	err := readJSON(filepath.Join(s.job(id), "status.json"), &st)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(s.job(id)); err != nil {
			return st, err
		}
		return status{State: plugins.Queued}, nil
	}
	return st, err
}

// ensureRunner starts a runner unless one has the lock already. A runner only
// lets go of the lock after it has seen an empty queue under queue.lock, so a
// job that is in the queue before this call is never left behind.
func (s *site) ensureRunner() error {
	l, ok, err := lock(filepath.Join(s.dir, "runner.lock"), false)
	if err != nil || !ok {
		return err
	}
	l.Close()
	return s.start(RunnerVerb, s.dir)
}

// start runs a helper verb detached from this process and its terminal.
func (s *site) start(verb, dir string) error {
	argv := append(slices.Clone(s.helper), verb, dir)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // no zombie while this process lives
	return nil
}

// pollEvery is how often runner and supervisor look at the disk.
const pollEvery = 50 * time.Millisecond
