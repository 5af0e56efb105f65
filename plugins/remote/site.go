package remote

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gridbroker/asked"
	"gridbroker/plugins"
)

//go:embed runner.sh
var runnerText string

//go:embed steps.sh
var stepsText string

// System is what one batch system adds to the common part.
type System struct {
	Name      string   // as users call it: "Slurm"
	Interface string   // of its endpoints, as glue names it
	KeptEnv   []string // names of the caller's environment that its commands here may see; a final * is a prefix
	// Env is what commands on this machine see besides, made anew for each,
	// as NAME=VALUE; it wins. Nil: nothing.
	Env func(ctx context.Context) []string
	// Send is text of a POSIX shell that defines send_one, see runner.sh.
	Send string
	// Job is what the batch system runs on the node, after the functions
	// of steps.sh.
	Job string
	// Work is where a job's files lie when it has ended, relative to its
	// directory.
	Work string
}

// Site is one cluster as one user reaches it.
type Site struct {
	URL     string
	Base    string // the directory of our jobs there
	Machine Machine
	Options *Options
	System  *System

	runnerText, jobText string
	nodes               Nodes
}

// defaultBase is where jobs live when the URL names no directory: below the
// home directory, which clusters share with their nodes.
const defaultBase = ".grid-jobs"

// Open makes the site of a URL. Nothing is dialled until it is needed.
func Open(opts *Options, sys *System, raw string, t Target) (*Site, error) {
	s := &Site{URL: raw, Base: t.Base, Options: opts, System: sys, nodes: t.Nodes,
		runnerText: "#!/bin/sh\n" + sys.Send + runnerText, jobText: "#!/bin/sh\n" + stepsText + sys.Job}
	if s.Base == "" || s.Base == "/" {
		s.Base = defaultBase
		if t.Host == "" {
			s.Base = filepath.Join(opts.Home, defaultBase)
		}
	}
	if t.Host == "" {
		s.Machine = here{env: keepEnv(opts.Environ, sys.KeptEnv), more: sys.Env}
		return s, nil
	}
	conf, err := readSSHConfig(opts, t)
	if err != nil {
		return nil, err
	}
	if t.External || conf.needsCommand() {
		s.Machine = newExternal(opts, t)
	} else {
		s.Machine = &shell{conf: conf, opts: opts}
	}
	return s, nil
}

// Close ends the site's connections. Jobs are not touched.
func (s *Site) Close() error { return s.Machine.Close() }

// Dir names a file below the site's directory.
func (s *Site) Dir(parts ...string) string {
	return path.Join(append([]string{s.Base}, parts...)...)
}

// noCommand is the exit code of a shell that did not find a command, unsafeBase
// that of runner.sh where others could have written to the directory of our jobs.
const (
	noCommand  = 127
	unsafeBase = 77
)

// reader is the command that runs what stands at the head of standard input,
// if it arrived whole; the rest is the script's own standard input. It has no
// words of others and no line breaks: it holds for any shell a user may have.
func reader(script string) string {
	return fmt.Sprintf(`s=$(head -c %d) && [ ${#s} = %d ] && eval "$s"`, len(script), len(strings.TrimRight(script, "\n")))
}

// Runner runs a verb of runner.sh, which is sent along: nothing that lies at
// the site is run because of its name.
func (s *Site) Runner(ctx context.Context, in io.Reader, out io.Writer, verb string, args ...string) error {
	argv := append([]string{"sh", "-c", reader(s.runnerText), "runner.sh", s.Base, verb}, args...)
	text := io.Reader(strings.NewReader(s.runnerText))
	if in != nil {
		text = io.MultiReader(text, in)
	}
	began := time.Now()
	err := s.Machine.Run(ctx, argv, text, out)
	if asked.Wanted(ctx) {
		asked.Tell(ctx, "at %s %s: %s (%v)", plugins.Redacted(s.URL), strings.Join(append([]string{verb}, args...), " "), ended(err), time.Since(began).Round(time.Millisecond))
	}
	return err
}

// ended tells what came of a command, in no words of the host's: they may have
// secrets in them that it was shown.
func ended(err error) string {
	code, ended := errors.AsType[*ExitError](err)
	_, undialled := errors.AsType[*DialError](err)
	switch {
	case err == nil:
		return "done"
	case ended:
		return fmt.Sprintf("exit code %d", code.Code)
	case undialled:
		return "not reached"
	}
	return "no answer"
}

// tellFile tells what was done with a file over a session of files, and whether it was.
func tellFile(ctx context.Context, s *Site, verb, name string, began time.Time, err error) {
	if !asked.Wanted(ctx) {
		return
	}
	came := "done"
	if err != nil {
		came = "not done"
	}
	asked.Tell(ctx, "at %s %s %s: %s (%v)", plugins.Redacted(s.URL), verb, name, came, time.Since(began).Round(time.Millisecond))
}

// ready makes sure that the directory of our jobs is the user's alone before
// files are put there.
func (s *Site) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Options.Command, ErrSlow)
	defer cancel()
	return s.Runner(ctx, nil, io.Discard, "check")
}

// Command runs one of the batch system's commands with a deadline of its own.
func (s *Site) Command(ctx context.Context, argv ...string) (string, error) {
	return s.Ask(ctx, "", argv...)
}

// Ask is Command with a standard input.
func (s *Site) Ask(ctx context.Context, in string, argv ...string) (string, error) {
	out := &Answer{Max: maxText}
	var r io.Reader
	if in != "" {
		r = strings.NewReader(in)
	}
	if err := hear(ctx, s, r, out, "exec", argv...); err != nil {
		return "", s.Fail(argv[0], err)
	}
	return out.String(), nil
}

// Verb runs a short verb of runner.sh over a list of our ids.
func (s *Site) Verb(ctx context.Context, verb string, ids []string) (string, error) {
	out := &Answer{Max: maxText}
	in := strings.NewReader(strings.Join(ids, "\n") + "\n")
	if err := hear(ctx, s, in, out, verb); err != nil {
		return "", s.Fail(verb, err)
	}
	return out.String(), nil
}

// ErrSlow is a command that did not answer in time.
var ErrSlow = fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded)

// Fail wraps what went wrong at the site. A command that said no is refused,
// all else is unavailable; whether a submission may have arrived is decided
// by its caller.
func (s *Site) Fail(op string, err error) error {
	e := &plugins.Error{Kind: plugins.Unavailable, Op: op, Endpoint: s.URL, Err: err}
	if p, ok := errors.AsType[*plugins.Error](err); ok {
		e.Kind, e.Said, e.Hint = p.Kind, p.Said, p.Hint
	}
	if x, ok := errors.AsType[*ExitError](err); ok {
		e.Said = x.Error()
		switch x.Code {
		case noCommand:
			if _, said, ok := strings.Cut(e.Said, ": exec: "); ok { // without the place in the shell's text
				e.Said = said
			}
			e.Hint = absent(s)
		case unsafeBase:
			e.Hint = "name a directory that is yours and that nobody else can write to, or mend it: chmod go-w"
		}
	}
	return e
}

// notSubmitted is Fail for jobs that were surely not submitted. A site that will not use the directory of jobs refuses them: its host is
// well, and has other directories.
func notSubmitted(s *Site, op string, err error) error {
	failed := s.Fail(op, err)
	x, exited := errors.AsType[*ExitError](err)
	if e, ok := errors.AsType[*plugins.Error](failed); ok && exited && x.Code == unsafeBase {
		e.Kind = plugins.Refused
	}
	return failed
}

// absent is what may be the matter where a command is not found.
func absent(s *Site) string {
	if _, local := s.Machine.(here); local {
		return "is " + s.System.Name + " installed on this machine, and are its commands on your PATH?"
	}
	return "is " + s.System.Name + " installed there and on the PATH of a non-interactive shell?"
}

// SplitHandle cuts a handle of the form LRMS-ID/OUR-ID; lrms are the bytes an
// id of the batch system may hold.
func SplitHandle(h plugins.Handle, lrms string) (lrmsID, id string, ok bool) {
	lrmsID, id, _ = strings.Cut(h.ID, "/")
	ok = lrmsID != "" && strings.Trim(lrmsID, lrms) == "" && ValidID(id)
	return lrmsID, id, ok
}
