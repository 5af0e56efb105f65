package wiki

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"gridbroker/batch"
	"gridbroker/credential"
	"gridbroker/plugins"
)

// Client is the scheduler's side: it asks a resource manager and tells it what
// to start. It is safe for concurrent use; every command is a connection of
// its own, so a broken one does not harm the next.
type Client struct {
	Network string // tcp or unix
	Address string
	TLS     *tls.Config // nil: plain
	Key     Key
	Auth    string        // as whom; empty: root
	Window  time.Duration // an answer's TS may be so far off; 0: Maui's hour
	Timeout time.Duration // of one command, without progress; 0: nine seconds, as Maui
	MaxSize int           // bytes of an answer; 0: MaxReply
	Now     func() time.Time
	Dial    func(ctx context.Context, network, address string) (net.Conn, error) // nil: net

	mu     sync.Mutex
	second int64           // of the last command that changes something
	sent   map[string]bool // in it
}

// mauiWindow is how far off an answer's time may be for Maui.
const mauiWindow = time.Hour

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return credential.ThisMachine(host)
}

// ParseURL reads wiki://host:port (plain), wikis://host:port (TLS) or
// wiki+unix:///path into a client; the rest is left to be set.
func ParseURL(raw string) (*Client, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	c := &Client{Network: "tcp", Address: u.Host, Now: time.Now}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("%s://...: no name or password belongs in the address; the key comes from a file", u.Scheme)
	case u.Scheme == "wiki+unix" && u.Host == "" && len(u.Path) > 1:
		c.Network, c.Address = "unix", u.Path
	case u.Scheme == "wikis" && u.Port() != "":
		c.TLS = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	case u.Scheme != "wiki" || u.Port() == "":
		return nil, fmt.Errorf("%q: want wiki://HOST:PORT, wikis://HOST:PORT or wiki+unix:///PATH", raw)
	}
	return c, nil
}

// Do sends a command and returns the answer. A status below zero is a
// StatusError. An error after the command was sent leaves open whether it
// was carried out: that is plugins.Uncertain.
func (c *Client) Do(ctx context.Context, req *Request) (*Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, c.fail(req, plugins.Unavailable, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	at, err := c.distinct(ctx, req)
	if err != nil {
		return nil, c.fail(req, plugins.Unavailable, err)
	}
	if err := c.send(conn, req, at); err != nil {
		return nil, c.fail(req, plugins.Unavailable, err)
	}
	lost := plugins.Uncertain
	if req.Verb == GetNodes || req.Verb == GetJobs {
		lost = plugins.Unavailable
	}
	m, err := c.receive(conn)
	if err != nil {
		return nil, c.fail(req, lost, err)
	}
	reply, err := ParseReply(m.Data)
	if err != nil {
		return nil, c.fail(req, lost, err)
	}
	if reply.Code < 0 {
		return reply, c.fail(req, plugins.Refused, &StatusError{reply.Code, reply.Text})
	}
	return reply, nil
}

func (c *Client) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return 9 * time.Second
}

func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, c.Network, c.Address)
	if err != nil || c.TLS == nil {
		return conn, err
	}
	secure, err := credential.Secure(ctx, conn, c.TLS)
	if err != nil {
		return nil, err // no Conn that is nil inside an interface
	}
	return secure, nil
}

// distinct waits until a command differs from those sent before: a message
// tells time by the second, and who sees the same one twice must take it for a
// replay. It returns the time to write.
func (c *Client) distinct(ctx context.Context, req *Request) (time.Time, error) {
	if !c.Key.Set() || readOnly(req.Verb) {
		return c.Now(), nil
	}
	text := req.String()
	for {
		now := c.Now()
		c.mu.Lock()
		if now.Unix() != c.second || c.sent == nil {
			c.second, c.sent = now.Unix(), map[string]bool{}
		}
		again := c.sent[text]
		c.sent[text] = true
		c.mu.Unlock()
		if !again {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-time.After(time.Second - time.Duration(now.Nanosecond())):
		}
	}
}

func (c *Client) send(conn net.Conn, req *Request, at time.Time) error {
	body := []byte(req.String())
	if c.Key.Set() {
		auth := c.Auth
		if auth == "" {
			auth = "root"
		}
		body = c.Key.Sign(at, auth, string(body))
	}
	message, err := AppendFrame(nil, '\n', body)
	if err == nil {
		_, err = conn.Write(message)
	}
	return err
}

func (c *Client) receive(conn net.Conn) (Message, error) {
	most := c.MaxSize
	if most <= 0 {
		most = MaxReply
	}
	body, err := ReadFrame(conn, most)
	if err != nil {
		return Message{}, err
	}
	window := c.Window
	if window == 0 {
		window = mauiWindow
	}
	return Rules{Key: c.Key, Window: window, Now: c.Now}.Open(body)
}

// keyHint is what to do about a key that is not the other side's.
const keyHint = "the two sides need the same number in their key files; key_file of [wiki] in the configuration, or --key-file"

// fail makes the error of a command.
func (c *Client) fail(req *Request, kind plugins.Kind, err error) error {
	e := &plugins.Error{Kind: kind, Op: strings.TrimSpace("wiki " + req.Verb + " " + req.Arg), Endpoint: c.Address, Err: err}
	if badChecksum(err) {
		e.Hint = keyHint
		if readOnly(req.Verb) { // of others it may not be known what became of them
			e.Kind = plugins.Credential
		}
	}
	return e
}

// badChecksum tells whether either side did not take the other's checksum.
func badChecksum(err error) bool {
	if e, ok := errors.AsType[*SecurityError](err); ok {
		return e.Code == CodeBadChecksum
	}
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Code == CodeBadChecksum
}

// Nodes asks for the nodes.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	reply, err := c.Do(ctx, &Request{Verb: GetNodes, Arg: "0:ALL"})
	if err != nil {
		return nil, err
	}
	list := make([]Node, len(reply.Records))
	for i := range reply.Records {
		list[i] = nodeOf(&reply.Records[i])
	}
	return list, nil
}

// Jobs asks for the jobs that changed since a time; zero: all of them, ended
// ones that are still listed too.
func (c *Client) Jobs(ctx context.Context, since time.Time) ([]Job, error) {
	arg := "0:ALL"
	if !since.IsZero() {
		arg = number(since.Unix()) + ":ALL"
	}
	reply, err := c.Do(ctx, &Request{Verb: GetJobs, Arg: arg})
	if err != nil {
		return nil, err
	}
	list := make([]Job, len(reply.Records))
	for i := range reply.Records {
		list[i] = jobOf(&reply.Records[i])
	}
	return list, nil
}

// Start starts a job on nodes: one name per task; none: where the resource
// manager likes.
func (c *Client) Start(ctx context.Context, id string, tasks []string) error {
	return c.tell(ctx, StartJob, id, Param{"TASKLIST", strings.Join(tasks, ":")})
}

// Cancel ends a job; why is ADMIN or WALLCLOCK.
func (c *Client) Cancel(ctx context.Context, id, why string) error {
	return c.tell(ctx, CancelJob, id, Param{"TYPE", why})
}

// Suspend and Resume stop a running job and let it go on.
func (c *Client) Suspend(ctx context.Context, id string) error { return c.tell(ctx, SuspendJob, id) }

// Resume lets a suspended job go on.
func (c *Client) Resume(ctx context.Context, id string) error { return c.tell(ctx, ResumeJob, id) }

// errName is a name that would break a command in two.
var errName = errors.New("a name with blanks, quotes or control characters")

// tell sends a command about one job.
func (c *Client) tell(ctx context.Context, verb, id string, params ...Param) error {
	req := &Request{Verb: verb, Arg: id, Params: params}
	for _, text := range append([]string{id}, values(params)...) {
		if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }) || id == "" {
			return c.fail(req, plugins.Invalid, errName)
		}
	}
	_, err := c.Do(ctx, req)
	return err
}

func values(params []Param) (list []string) {
	for _, p := range params {
		list = append(list, p.Value)
	}
	return list
}

// Queue implements plugins.QueueReader.
func (c *Client) Queue(ctx context.Context) (batch.State, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return batch.State{}, err
	}
	jobs, err := c.Jobs(ctx, time.Time{})
	if err != nil {
		return batch.State{}, err
	}
	return StateOf(c.Address, c.Now(), nodes, jobs), nil
}
