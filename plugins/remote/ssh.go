package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"gridbroker/plugins"
)

// shell is a machine reached by the built-in SSH client: one connection, on
// which every command and file session is a channel.
type shell struct {
	conf *sshConfig
	opts *Options

	mu     sync.Mutex
	client *ssh.Client
}

// keepAlive is how often an idle connection is tried, and how long an answer
// may take.
const keepAlive = 15 * time.Second

// connect returns the living connection, or makes one.
func (m *shell) connect(ctx context.Context) (*ssh.Client, error) {
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
	go m.watch(client)
	return client, nil
}

func (m *shell) dial(ctx context.Context) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, m.opts.Dial)
	defer cancel()
	conf, closeAgent, err := m.conf.clientConfig()
	if err != nil {
		return nil, err
	}
	defer closeAgent()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.conf.address())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	c, chans, reqs, err := ssh.NewClientConn(conn, m.conf.address(), conf)
	if !stop() || err != nil {
		conn.Close()
		return nil, m.explain(ctx, err)
	}
	return ssh.NewClient(c, chans, reqs), nil
}

func (m *shell) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ssh to %s: %w", m.conf.address(), ctx.Err())
	}
	if e, ok := errors.AsType[*plugins.Error](err); ok {
		return e
	}
	if authFailed(err) {
		return &plugins.Error{Kind: plugins.Credential, Op: "connect", Endpoint: m.conf.address(), Err: err,
			Said: "the server accepts none of the keys for user " + m.conf.user, Hint: "is the public key in authorized_keys there?"}
	}
	return err
}

// watch drops the connection when it ends or no longer answers.
func (m *shell) watch(client *ssh.Client) {
	ended := make(chan struct{})
	go func() { client.Wait(); close(ended) }()
	defer m.drop(client)
	for {
		select {
		case <-ended:
			return
		case <-time.After(keepAlive):
		}
		answered := make(chan error, 1)
		go func() {
			_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
			answered <- err
		}()
		select {
		case err := <-answered:
			if err != nil {
				return
			}
		case <-ended:
			return
		case <-time.After(keepAlive):
			return
		}
	}
}

func (m *shell) drop(client *ssh.Client) {
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
func (m *shell) session(ctx context.Context) (*ssh.Session, error) {
	for try := 0; ; try++ {
		client, err := m.connect(ctx)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { m.drop(client) })
		s, err := client.NewSession()
		stop()
		if err == nil {
			return s, nil
		}
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
	s.Stdin, s.Stdout, s.Stderr = in, out, stderr
	if err := s.Start(commandLine(argv)); err != nil {
		return fmt.Errorf("ssh to %s: %w", m.conf.address(), err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Wait() }()
	select {
	case err = <-done:
	case <-ctx.Done():
		// Ask for the end, but do not wait for a host that may be dead.
		go func() { s.Signal(ssh.SIGKILL); s.Close() }()
		select {
		case <-done:
		case <-time.After(time.Second):
			m.Close()
			<-done // every channel of a closed connection ends
		}
		return fmt.Errorf("%s: %w", m.conf.address(), context.Cause(ctx))
	}
	if e, ok := errors.AsType[*ssh.ExitError](err); ok && e.Signal() == "" {
		return &ExitError{e.ExitStatus(), strings.TrimSpace(stderr.String())}
	}
	if err != nil {
		return fmt.Errorf("ssh to %s: %w", m.conf.address(), err)
	}
	return nil
}

func (m *shell) Files(ctx context.Context) (Files, error) {
	s, err := m.session(ctx)
	if err != nil {
		return nil, err
	}
	in, err1 := s.StdinPipe()
	out, err2 := s.StdoutPipe()
	if err := errors.Join(err1, err2, s.RequestSubsystem("sftp")); err != nil {
		s.Close()
		return nil, &DialError{fmt.Errorf("sftp on %s: %w", m.conf.address(), err)}
	}
	return newRemote(ctx, out, in, s.Close)
}

// newRemote speaks SFTP over two pipes. The end of ctx ends the session.
func newRemote(ctx context.Context, out io.Reader, in io.WriteCloser, end func() error) (Files, error) {
	stop := context.AfterFunc(ctx, func() { in.Close(); end() })
	client, err := sftp.NewClientPipe(out, in)
	if err != nil {
		stop()
		end()
		return nil, &DialError{fmt.Errorf("sftp: %w", err)}
	}
	return &remoteFiles{client, func() error { stop(); client.Close(); return end() }}, nil
}
