package slurm

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gridbroker/plugins"
)

//go:embed runner.sh
var runnerText string

//go:embed job.sh
var jobText string

// scriptName names a fixed script by its text, so that two versions of the
// program can use one site.
func scriptName(kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	return kind + "-" + hex.EncodeToString(sum[:8]) + ".sh"
}

// noScript is the exit code of a shell that was told to run a missing file
// (POSIX.1-2017, XCU sh, EXIT STATUS).
const noScript = 127

// runner runs a verb of runner.sh. The script is put in place when the shell
// says it is not there.
func (s *site) runner(ctx context.Context, in io.ReadSeeker, out io.Writer, verb string, args ...string) error {
	argv := append([]string{"sh", s.dir(".bin", scriptName("runner", runnerText)), s.base, verb}, args...)
	run := func() error {
		var r io.Reader
		if in != nil {
			if _, err := in.Seek(0, io.SeekStart); err != nil {
				return err
			}
			r = in
		}
		return s.machine.run(ctx, argv, r, out)
	}
	before := s.installs.Load()
	err := run()
	// dash says 2 for a script that is not there, bash and POSIX 127.
	if e, ok := errors.AsType[*exitError](err); ok && (e.code == noScript || e.code == 2) {
		if perr := s.install(ctx); perr != nil {
			return &dialError{perr}
		}
		if s.installs.Load() != before { // it was missing; a command's own 2 is not repeated
			return run()
		}
	}
	return err
}

// install puts the fixed scripts in place and counts that where one was missing.
func (s *site) install(ctx context.Context) error {
	s.installing.Lock()
	defer s.installing.Unlock()
	fs, err := s.machine.files(ctx)
	if err != nil {
		return err
	}
	defer fs.Close()
	for kind, text := range map[string]string{"job": jobText, "runner": runnerText} {
		name := s.dir(".bin", scriptName(kind, text))
		if r, size, err := fs.get(name, 0); err == nil {
			r.Close()
			if size == int64(len(text)) {
				continue
			}
		}
		if err := fs.put(name, 0o700, strings.NewReader(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.installs.Add(1)
	}
	return nil
}

// command runs one of Slurm's commands with a deadline of its own.
func (s *site) command(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Command, errSlow)
	defer cancel()
	out := &capped{max: maxAnswer}
	err := s.runner(ctx, nil, out, "exec", argv...)
	if err != nil {
		return "", s.fail(argv[0], err)
	}
	return out.String(), nil
}

// verb runs a short verb of runner.sh over a list of our ids.
func (s *site) verb(ctx context.Context, verb string, ids []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Command, errSlow)
	defer cancel()
	out := &capped{max: maxAnswer}
	in := strings.NewReader(strings.Join(ids, "\n") + "\n")
	if err := s.runner(ctx, in, out, verb); err != nil {
		return "", s.fail(verb, err)
	}
	return out.String(), nil
}

var errSlow = fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded)

// fail wraps what went wrong at the site. A command that said no is refused,
// all else is unavailable; whether a submission may have arrived is decided
// by its caller.
func (s *site) fail(op string, err error) error {
	e := &plugins.Error{Kind: plugins.Unavailable, Op: op, Endpoint: s.url, Err: err}
	if p, ok := errors.AsType[*plugins.Error](err); ok {
		e.Kind, e.Said, e.Hint = p.Kind, p.Said, p.Hint
	}
	if x, ok := errors.AsType[*exitError](err); ok {
		e.Said = x.Error()
		if x.code == noScript {
			e.Hint = "is Slurm installed there and on the PATH of a non-interactive shell?"
		}
	}
	return e
}
