package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// here is this machine. Commands get a cleaned environment, so that no
// credential of the caller reaches the jobs.
type here struct {
	env  []string
	more func(context.Context) []string // see System.Env
}

// keptEnv are the names, and with a final * the prefixes, that every batch
// system's commands and jobs may see of the caller's environment.
var keptEnv = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "LD_LIBRARY_PATH"}

// keepEnv takes what commands here may see; more are the batch system's own names.
func keepEnv(environ, more []string) []string {
	var kept []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if anyName(name, keptEnv) || anyName(name, more) {
			kept = append(kept, kv)
		}
	}
	return kept
}

// anyName reports whether a name is one of the list, or begins as one with a
// final * does.
func anyName(name string, list []string) bool {
	return slices.ContainsFunc(list, func(k string) bool {
		prefix, ok := strings.CutSuffix(k, "*")
		return name == k || ok && strings.HasPrefix(name, prefix)
	})
}

// drained is how long what a command has written may take to be read after its end, where
// it is read as it comes; one that was told to end is killed with all that it started.
const drained = 10 * time.Second

func (h here) Run(ctx context.Context, argv []string, in io.Reader, out io.Writer) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	stderr := &Answer{Max: maxStderr, Quiet: true}
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = h.env, in, out, stderr, "/"
	if h.more != nil {
		cmd.Env = slices.Concat(h.env, h.more(ctx)) // of two of a name the last counts
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drained
	start := cmd.Start
	if dirs, ok := ctx.Value(writesKey{}).([]string); ok {
		start = func() error { return confined(dirs, cmd.Start) }
	}
	if err := start(); err != nil {
		return &DialError{err}
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", argv[0], context.Cause(ctx))
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.Exited() {
		return &ExitError{e.ExitCode(), strings.TrimSpace(stderr.String())}
	}
	return err
}

// writesKey is for the directories that commands of a context write to alone.
type writesKey struct{}

// WritesBelow has the commands of a context that run on this machine change files below some directories of it alone: what
// they write, and where, is told them by others. Where the kernel cannot see to that they do not run (ErrUnconfined).
func WritesBelow(ctx context.Context, dirs []string) context.Context {
	return context.WithValue(ctx, writesKey{}, dirs)
}

func (h here) Files(context.Context) (Files, error) { return disk{}, nil }

func (h here) Close() error { return nil }

// disk is the files of this machine.
type disk struct{}

func (disk) Put(path string, mode fs.FileMode, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

func (disk) Get(dir, name string, offset int64) (io.ReadCloser, int64, error) {
	jobs, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil, 0, err
	}
	path, err := within(jobs, filepath.EvalSymlinks, dir, name)
	if err != nil {
		return nil, 0, err
	}
	f, err := openBelow(filepath.Join(jobs, filepath.Base(dir)), path)
	if errors.Is(err, durable.ErrNotRegular) {
		err = errOdd(filepath.Join(dir, name))
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	return opened(f, info, err, offset)
}

// openBelow opens a file below a job's directory by its real name. Links that have taken
// the place of a directory on the way since it was resolved lead nowhere else.
func openBelow(dir, real string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := strings.TrimPrefix(real, dir+"/")
	f, err := durable.OpenIn(root, name, os.O_RDONLY|syscall.O_NOFOLLOW)
	if _, plain := errors.AsType[syscall.Errno](err); err != nil && !plain && !errors.Is(err, durable.ErrNotRegular) {
		return nil, errOut(name)
	}
	return f, err
}

func (disk) List(dir string) ([]File, error) {
	var found []File
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(at, dir+"/")
		switch {
		case err != nil && at == dir:
			return err
		case errors.Is(err, fs.ErrNotExist): // it has gone meanwhile
		case err != nil:
			found = append(found, File{Name: name, Err: err})
		case d.IsDir() && at != dir && plugins.TooDeep(name):
			found = append(found, File{Name: name, Err: errDeep(name)})
			return fs.SkipDir
		default:
			if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() { // a link to a file counts as the file
				found = append(found, fileOf(name, info))
			}
		}
		if len(found) > maxFiles {
			return errTooLong
		}
		return nil
	})
	return found, err
}

func (disk) Close() error { return nil }
