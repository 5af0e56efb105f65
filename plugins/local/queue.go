package local

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gridbroker/plugins"
)

// lockFile locks a file, made if missing, in a way of flock(2). The kernel frees the lock when the file is closed or
// the process ends, however it ends.
func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), how)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lock takes an exclusive lock on a file. With wait unset it returns ok=false when another process has it.
func lock(path string, wait bool) (f *os.File, ok bool, err error) {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	f, err = lockFile(path, how)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, nil
	}
	return f, err == nil, err
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
	copied, err := isCopy(s)
	if err != nil {
		return nil, err
	}
	var specs []spec
	for _, id := range ids {
		var sp spec
		if err := s.spec(id, &sp); errors.Is(err, fs.ErrNotExist) {
			os.Remove(s.queued(id)) // cancelled and cleaned in between
			continue
		} else if err != nil {
			if err := s.condemn(id, err); err != nil {
				return nil, err
			}
			os.Remove(s.queued(id))
			continue
		}
		if copied {
			if theirs, err := fromElsewhere(s, id, &sp); err != nil {
				return nil, err
			} else if theirs {
				continue
			}
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

// spec reads what a job is. A job whose directory is there without it is
// damaged; one without a directory is not there.
func (s *site) spec(id string, sp *spec) error {
	path := filepath.Join(s.job(id), "spec.json")
	err := readJSON(path, sp)
	if _, gone := os.Stat(s.job(id)); errors.Is(err, fs.ErrNotExist) && gone == nil {
		return &damaged{path, errors.New("it is missing")}
	}
	return err
}

// condemn ends a job whose files do not tell what it is, with the reason. A
// file that cannot be read for another reason is no verdict.
func (s *site) condemn(id string, why error) error {
	if _, bad := errors.AsType[*damaged](why); !bad {
		return why
	}
	return writeJSON(filepath.Join(s.job(id), "status.json"), status{State: plugins.Failed, Ended: s.now(), Reason: why.Error()})
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
	return detached(append(slices.Clone(s.helper), verb, dir)...)
}

// detached starts a program in a session of its own, which goes on when this process ends.
func detached(argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", helperEnv(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// What this process got from its caller, a lock of a script for example,
	// is not for helpers and jobs, which outlive it.
	keepFiles()
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // no zombie while this process lives
	return nil
}

// helperKeeps are the names, and with a final * the prefixes, of the caller's
// environment that runner and supervisors see: no credentials are among them.
var helperKeeps = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*", "GRID_*", "GOCOVERDIR"}

func helperEnv(environ []string) []string {
	kept := []string{}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		for _, k := range helperKeeps {
			if prefix, ok := strings.CutSuffix(k, "*"); name == k || ok && strings.HasPrefix(name, prefix) {
				kept = append(kept, kv)
			}
		}
	}
	return kept
}

// pollEvery is how often runner and supervisor look at the disk.
const pollEvery = 50 * time.Millisecond
