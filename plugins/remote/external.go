package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// external is a machine reached by the user's own ssh command, for jump hosts,
// Kerberos, smart cards and whatever else its configuration knows. One master
// connection carries everything (ControlMaster, ssh_config(5)).
type external struct {
	opts *Options
	t    Target

	mu  sync.Mutex
	dir string // holds the master's socket; "": no master yet
}

func newExternal(opts *Options, t Target) *external { return &external{opts: opts, t: t} }

// argv is ssh with our options and then args.
func (m *external) argv(args ...string) []string {
	argv := []string{"ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=2",
		// Whatever the configuration says for sessions of people: a login host gets no agent, and runs nothing here.
		"-o", "StrictHostKeyChecking=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no",
		"-o", "RequestTTY=no", "-o", "ControlPath=" + filepath.Join(m.dir, "m"),
		"-o", fmt.Sprintf("ConnectTimeout=%d", int(m.opts.Dial.Seconds()))}
	argv = append(argv, m.config()...)
	if m.t.User != "" {
		argv = append(argv, "-l", m.t.User)
	}
	if m.t.Port != "" {
		argv = append(argv, "-p", m.t.Port)
	}
	return append(argv, args...)
}

// config names the configuration where it is not the one that ssh reads by
// itself: with -F it reads no other, not even the system's.
func (m *external) config() []string {
	if u, err := user.Current(); err == nil && m.opts.SSHConfig == filepath.Join(u.HomeDir, ".ssh", "config") {
		return nil
	}
	if _, err := os.Stat(m.opts.SSHConfig); err != nil {
		return nil
	}
	return []string{"-F", m.opts.SSHConfig}
}

// connect makes the master connection; where it fails, nothing was sent.
func (m *external) connect(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dir != "" {
		if m.command(ctx, m.argv("-O", "check", "--", m.t.Host)).Run() == nil {
			return nil
		}
	} else {
		dir, err := durable.MkdirTemp("grid-ssh-")
		if err != nil {
			return &DialError{err}
		}
		m.dir = dir
	}
	ctx, cancel := context.WithTimeout(ctx, 2*m.opts.Dial)
	defer cancel()
	stderr := &Answer{Max: maxStderr, Quiet: true}
	cmd := m.command(ctx, m.argv("-o", "ControlMaster=yes", "-o", "ControlPersist=300", "-fN", "--", m.t.Host))
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		said := strings.TrimSpace(stderr.String())
		if more := m.askProxy(ctx, said); more != "" {
			said = more
		}
		return &DialError{m.explain(said, err)}
	}
	return nil
}

// askProxy connects once more without a master, for what the jump host or
// proxy has to say: ssh throws that away where the master is to persist.
func (m *external) askProxy(ctx context.Context, said string) string {
	if !strings.Contains(said, "UNKNOWN port") {
		return "" // the connection was the host's own
	}
	stderr := &Answer{Max: maxStderr, Quiet: true}
	// Of an option given twice ssh takes the first.
	argv := slices.Insert(m.argv("-o", "ControlMaster=no", "--", m.t.Host, "true"), 1, "-o", "ControlPath=none")
	cmd := m.command(ctx, argv)
	cmd.Stderr = stderr
	cmd.Run()
	return strings.TrimSpace(stderr.String())
}

func (m *external) explain(said string, err error) error {
	if said = withoutFrame(said); said == "" {
		return err
	}
	kind, hint := plugins.Unavailable, ""
	if strings.Contains(said, "Permission denied") {
		kind, hint, err = plugins.Credential, keyHint, fmt.Errorf("%w: %w", plugins.ErrKeys, err)
	}
	return &plugins.Error{Kind: kind, Op: "ssh", Endpoint: m.t.Host, Said: said, Err: err, Hint: hint}
}

// withoutFrame takes off the frame that ssh draws around its warnings, and
// makes one line of the rest.
func withoutFrame(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		if line = strings.Trim(line, "@ \t\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

func (m *external) command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = m.opts.Environ, "/"
	cmd.WaitDelay = keepAlive / 15
	return cmd
}

// lost is ssh's own exit code when the connection failed.
const lost = 255

func (m *external) Run(ctx context.Context, argv []string, in io.Reader, out io.Writer) error {
	if err := m.connect(ctx); err != nil {
		return err
	}
	cmd := m.command(ctx, m.argv("-o", "ControlMaster=no", "--", m.t.Host, CommandLine(argv)))
	stderr := &Answer{Max: maxStderr, Quiet: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", m.t.Host, context.Cause(ctx))
	}
	said := strings.TrimSpace(stderr.String())
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.Exited() && e.ExitCode() != lost {
		return &ExitError{e.ExitCode(), said}
	}
	if err != nil {
		return fmt.Errorf("ssh to %s: %w: %s", m.t.Host, err, said)
	}
	return nil
}

func (m *external) Files(ctx context.Context) (Files, error) {
	if err := m.connect(ctx); err != nil {
		return nil, err
	}
	cmd := m.command(ctx, m.argv("-o", "ControlMaster=no", "-s", "--", m.t.Host, "sftp"))
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, &DialError{err}
	}
	if err := cmd.Start(); err != nil {
		return nil, &DialError{err}
	}
	end := func() error { in.Close(); return cmd.Wait() }
	return newRemote(ctx, pipe{out, in, end, func() { _ = cmd.Process.Kill() }}, m.opts.Command)
}

func (m *external) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dir == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepAlive)
	defer cancel()
	m.command(ctx, m.argv("-O", "exit", "--", m.t.Host)).Run()
	err := os.RemoveAll(m.dir)
	m.dir = ""
	return err
}
