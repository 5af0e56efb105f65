package voms

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"gridbroker/asked"
)

// Request asks for attributes.
type Request struct {
	FQANs    []string      // "/vo/group", "/vo/group/Role=production"; empty: the VO's own
	Lifetime time.Duration // of the attributes; 0: as long as the server gives
	Targets  []string      // hosts to limit them to
}

// Answer is an attribute certificate and what the server remarked.
type Answer struct {
	AC       *AC
	Server   Server
	Warnings []string
}

// Client asks VOMS servers.
type Client struct {
	// Dial connects by TLS with the user's certificate, and verifies the
	// server's chain and host name.
	Dial func(ctx context.Context, network, addr string) (Conn, error)
	// Stagger is how long one server may take before the next is asked as
	// well. 0: 3 s.
	Stagger time.Duration
	// Timeout bounds one attempt at one server. 0: 20 s.
	Timeout time.Duration
}

// Conn is a TLS connection: a *tls.Conn, or what holds one.
type Conn interface {
	net.Conn
	ConnectionState() tls.ConnectionState
}

// ServerError is one server's failure, with its own words where it spoke.
type ServerError struct {
	Server Server
	Code   string // the server's code: "NoSuchUser", "1001"; "" when it did not answer
	Said   string
	Err    error
}

// Error implements error.
func (e *ServerError) Error() string {
	said := e.Said
	if said == "" && e.Err != nil {
		said = e.Err.Error()
	}
	return fmt.Sprintf("VOMS server %s: %s", e.Server, said)
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// Fetch asks the servers in turn: the next one as soon as one has failed, or
// when it has not answered within Stagger. The first success wins and the
// others are dropped. When all fail the error joins one *ServerError each.
func (c *Client) Fetch(ctx context.Context, servers []Server, req Request) (*Answer, error) {
	if len(servers) == 0 {
		return nil, errors.New("no VOMS server to ask")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		answer *Answer
		err    error
	}
	results := make(chan result, len(servers))
	start := func(s Server) {
		answer, err := c.ask(ctx, s, req)
		results <- result{answer, err}
	}
	stagger := time.NewTicker(orDefault(c.Stagger, 3*time.Second))
	defer stagger.Stop()
	started, failed := 1, []error(nil)
	go start(servers[0])
	for len(failed) < len(servers) {
		next := false
		select {
		case r := <-results:
			if r.err == nil {
				return r.answer, nil
			}
			failed, next = append(failed, r.err), true
		case <-stagger.C:
			next = true
		}
		if next && started < len(servers) && ctx.Err() == nil {
			go start(servers[started])
			started++
		} else if ctx.Err() != nil && len(failed) >= started {
			break
		}
	}
	return nil, errors.Join(failed...)
}

func orDefault(d, or time.Duration) time.Duration {
	if d == 0 {
		return or
	}
	return d
}

// ask tries the protocol of VOMS 2 (HTTP), then, when the server has nothing
// to say to that, the older one. Debian's server closes the connection upon
// HTTP; servers before 2.0 know the older protocol only.
func (c *Client) ask(ctx context.Context, s Server, req Request) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, orDefault(c.Timeout, 20*time.Second))
	defer cancel()
	if len(req.FQANs) == 0 {
		req.FQANs = []string{"/" + s.VO}
	}
	answer, err := c.told(ctx, s, req, "HTTP", askREST)
	if errors.Is(err, errNoHTTP) {
		answer, err = c.told(ctx, s, req, "the protocol before VOMS 2", askLegacy)
	}
	if err != nil {
		if se, ok := errors.AsType[*ServerError](err); ok {
			se.Server = s
			return nil, se
		}
		return nil, &ServerError{Server: s, Err: err}
	}
	answer.Server = s
	return answer, nil
}

// told is speak, told to whoever listens, in no words of the server's.
func (c *Client) told(ctx context.Context, s Server, req Request, protocol string, exchange func(net.Conn, Server, Request) (*Answer, error)) (*Answer, error) {
	began := time.Now()
	answer, err := c.speak(ctx, s, req, exchange)
	if asked.Wanted(ctx) {
		came := "done"
		if se, ok := errors.AsType[*ServerError](err); ok && se.Code != "" {
			came = "refused"
		} else if err != nil {
			came = "no answer"
		}
		asked.Tell(ctx, "ask VOMS server %s:%d for %s by %s: %s (%v)", s.Host, s.Port, strings.Join(req.FQANs, " "), protocol, came, time.Since(began).Round(time.Millisecond))
	}
	return answer, err
}

// speak opens one TLS connection and has one exchange.
func (c *Client) speak(ctx context.Context, s Server, req Request, exchange func(net.Conn, Server, Request) (*Answer, error)) (*Answer, error) {
	conn, stop, err := c.connect(ctx, s)
	if err != nil {
		return nil, err
	}
	defer stop()
	answer, err := exchange(conn, s, req)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer, err
}

// connect opens a TLS connection and checks that the server is the one that
// vomses names. Stop closes it, as does the end of the context.
func (c *Client) connect(ctx context.Context, s Server) (conn Conn, stop func(), err error) {
	conn, err = c.Dial(ctx, "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return nil, nil, err
	}
	cancel := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	stop = func() { cancel(); conn.Close() }
	if dn := DN(conn.ConnectionState().PeerCertificates[0].RawSubject); s.DN != "" && !SameDN(dn, s.DN) {
		stop()
		return nil, nil, &ServerError{Server: s, Code: "server-dn", Said: fmt.Sprintf("it shows the certificate of %s, but %s:%d expects %s", dn, s.File, s.Line, s.DN)}
	}
	return conn, stop, nil
}

// Knock opens a connection to a server and checks its certificate and name,
// no more. The error is a *ServerError.
func (c *Client) Knock(ctx context.Context, s Server) error {
	ctx, cancel := context.WithTimeout(ctx, orDefault(c.Timeout, 20*time.Second))
	defer cancel()
	_, stop, err := c.connect(ctx, s)
	if err == nil {
		stop()
		return nil
	}
	if se, ok := errors.AsType[*ServerError](err); ok {
		return se
	}
	return &ServerError{Server: s, Err: err}
}
