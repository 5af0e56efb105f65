package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"gridbroker/plugins"
)

// shell is a machine reached by the built-in SSH client: one connection, on
// which every command and file session is a channel.
type shell struct {
	conf *sshConfig
	opts *Options

	mu     sync.Mutex
	client *connection
}

// connection is one to the machine.
type connection struct {
	*ssh.Client
	heard *hearing
	ended chan struct{} // closed with it
}

// channel is one of a connection's channels.
type channel struct {
	*ssh.Session
	heard *hearing
}

// open opens a channel. One that is asked for while the connection ends the library
// may have taken off its books before: it is never answered, nor told of the end.
func (c *connection) open() (*ssh.Session, error) {
	type answer struct {
		session *ssh.Session
		err     error
	}
	opened := make(chan answer, 1)
	go func() {
		s, err := c.NewSession()
		opened <- answer{s, err}
	}()
	select {
	case a := <-opened:
		return a.session, a.err
	case <-c.ended:
		return nil, net.ErrClosed
	}
}

// keepAlive is how often an idle connection is tried, and how long an answer
// may take.
const keepAlive = 15 * time.Second

// connect returns the living connection, or makes one.
func (m *shell) connect(ctx context.Context) (*connection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		return m.client, nil
	}
	client, err := m.dial(ctx)
	if err != nil {
		return nil, &DialError{err}
	}
	m.client = client
	go func() { client.Wait(); close(client.ended) }()
	go m.watch(client)
	return client, nil
}

func (m *shell) dial(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, m.opts.Dial)
	defer cancel()
	conf, closeAgent, err := m.conf.clientConfig(ctx)
	if err != nil {
		return nil, err
	}
	defer closeAgent()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.conf.address())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	heard := &hearing{Conn: conn}
	heard.left.Store(maxGreeting)
	c, chans, reqs, err := ssh.NewClientConn(heard, m.conf.address(), conf)
	heard.left.Store(maxGreeting)
	if !stop() || err != nil {
		conn.Close()
		return nil, m.explain(ctx, err)
	}
	return &connection{ssh.NewClient(c, chans, reqs), heard, make(chan struct{})}, nil
}

// keyHint is what to do where a server takes no key.
const keyHint = "is the public key in authorized_keys there?"

func (m *shell) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ssh to %s: %w", m.conf.address(), ctx.Err())
	}
	if e, ok := errors.AsType[*plugins.Error](err); ok {
		return e
	}
	if authFailed(err) {
		return &plugins.Error{Kind: plugins.Credential, Op: "connect", Endpoint: m.conf.address(), Err: fmt.Errorf("%w: %w", plugins.ErrKeys, err),
			Said: "the server accepts none of the keys for user " + m.conf.user, Hint: keyHint}
	}
	return err
}

// watch drops the connection when it ends or no longer answers.
func (m *shell) watch(client *connection) {
	defer m.drop(client)
	for {
		select {
		case <-client.ended:
			return
		case <-time.After(keepAlive):
		}
		answered := make(chan error, 1)
		client.heard.useful(keepAliveBytes)
		go func() {
			_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
			answered <- err
		}()
		select {
		case err := <-answered:
			if err != nil {
				return
			}
		case <-client.ended:
			return
		case <-time.After(keepAlive):
			return
		}
	}
}

func (m *shell) drop(client *connection) {
	client.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client == client {
		m.client = nil
	}
}

func (m *shell) Close() error {
	m.mu.Lock()
	client := m.client
	m.mu.Unlock()
	if client != nil {
		m.drop(client)
	}
	return nil
}

// session opens a channel. A connection that turns out dead is made anew once:
// nothing was sent on it yet.
func (m *shell) session(ctx context.Context) (*channel, error) {
	for try := 0; ; try++ {
		client, err := m.connect(ctx)
		if err != nil {
			return nil, err
		}
		opening, cancel := context.WithTimeoutCause(ctx, m.opts.Dial, ErrSlow)
		stop := context.AfterFunc(opening, func() { m.drop(client) })
		s, err := client.open()
		stop()
		if err == nil {
			cancel()
			client.heard.useful(channelBytes)
			return &channel{s, client.heard}, nil
		}
		err = cmp.Or(context.Cause(opening), err)
		cancel()
		m.drop(client)
		if try > 0 || ctx.Err() != nil {
			return nil, &DialError{fmt.Errorf("ssh to %s: %w", m.conf.address(), err)}
		}
	}
}

func (m *shell) Run(ctx context.Context, argv []string, in io.Reader, out io.Writer) error {
	s, err := m.session(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	stderr := &Answer{Max: maxStderr, Quiet: true}
	s.Stdout, s.Stderr = &usefulWriter{out, s.heard}, stderr
	if in != nil {
		s.Stdin = &usefulReader{in, s.heard}
	}
	err = m.await(ctx, s.Session, func() error { return s.Run(CommandLine(argv)) })
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%s: %w", m.conf.address(), err)
	}
	if err != nil && s.heard.over.Load() {
		err = errTooLong
	}
	if e, ok := errors.AsType[*ssh.ExitError](err); ok && e.Signal() == "" {
		return &ExitError{e.ExitStatus(), strings.TrimSpace(stderr.String())}
	}
	if err != nil {
		return fmt.Errorf("ssh to %s: %w", m.conf.address(), err)
	}
	return nil
}

// await does what waits for the other side's answers, until ctx ends.
func (m *shell) await(ctx context.Context, s *ssh.Session, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// Ask for the end, but do not wait for a host that may be dead.
	go func() { s.Signal(ssh.SIGKILL); s.Close() }()
	select {
	case <-done:
	case <-time.After(time.Second):
		m.Close()
		<-done // every channel of a closed connection ends
	}
	return context.Cause(ctx)
}

func (m *shell) Files(ctx context.Context) (Files, error) {
	s, err := m.session(ctx)
	if err != nil {
		return nil, err
	}
	in, err1 := s.StdinPipe()
	out, err2 := s.StdoutPipe()
	if err = errors.Join(err1, err2); err == nil {
		asking, cancel := context.WithTimeoutCause(ctx, m.opts.Command, ErrSlow)
		err = m.await(asking, s.Session, func() error { return s.RequestSubsystem("sftp") })
		cancel()
	}
	if err != nil {
		s.Close()
		return nil, &DialError{fmt.Errorf("sftp on %s: %w", m.conf.address(), err)}
	}
	return newRemote(ctx, pipe{&usefulReader{out, s.heard}, usefulPipe{in, &usefulWriter{in, s.heard}}, s.Close, func() { m.Close() }}, m.opts.Command)
}
