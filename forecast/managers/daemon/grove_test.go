package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/managers"
)

// network joins hosts of one process, so that all of them can be in virtual time: TLS and HTTP/2
// are as ever, beneath them are pipes.
type network struct {
	mu    sync.Mutex
	hosts map[string]*host
}

// host is where connections to an address arrive.
type host struct {
	net      *network
	addr     string
	arrivals chan net.Conn
	conns    []net.Conn // of both directions; closed ones may be among them
	gone     bool
}

func (n *network) listen(addr string) *host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := &host{net: n, addr: addr, arrivals: make(chan net.Conn, 1000)}
	n.hosts[addr] = h
	return h
}

// Accept implements net.Listener.
func (h *host) Accept() (net.Conn, error) {
	if c, ok := <-h.arrivals; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Addr implements net.Listener.
func (h *host) Addr() net.Addr { return &net.UnixAddr{Name: h.addr} }

// Close implements net.Listener: as a process that is killed, nothing more comes from here.
func (h *host) Close() error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if !h.gone {
		h.gone = true
		close(h.arrivals)
	}
	return errors.Join(h.cut())
}

// cut ends all connections of a host, as a network that is away for a moment.
func (h *host) cut() (err error) {
	for _, c := range h.conns {
		err = errors.Join(err, c.Close())
	}
	h.conns = nil
	return err
}

// dialer is how a host reaches others.
func (h *host) dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(_ context.Context, _, addr string) (net.Conn, error) {
		h.net.mu.Lock()
		defer h.net.mu.Unlock()
		to := h.net.hosts[addr]
		if to == nil || to.gone || h.gone {
			return nil, fmt.Errorf("%s: connection refused", addr)
		}
		here, there := net.Pipe()
		h.conns, to.conns = append(h.conns, here), append(to.conns, there)
		to.arrivals <- there
		return here, nil
	}
}

// grove is a tree of managers in this process.
type grove struct {
	trunk
	net     *network
	running []*rooted // nil: killed
}

// rooted is a manager that runs.
type rooted struct {
	*Daemon
	host   *host
	server *http.Server
	cancel context.CancelFunc
	ended  chan struct{}
}

func newGrove(t *testing.T, ca *authority, parents, cpus []int) *grove {
	t.Helper()
	f := &grove{trunk: trunk{t: t}, net: &network{hosts: map[string]*host{}}, running: make([]*rooted, len(parents))}
	f.state = func(i int) (State, error) {
		if f.running[i] == nil {
			return State{}, errors.New("it does not run")
		}
		return f.running[i].State(), nil
	}
	for i := range parents {
		f.plant(ca, fmt.Sprint("127.0.0.1:", 7700+i), parents[i], cpus[i], 2*time.Second)
	}
	t.Cleanup(func() {
		for i := range f.running {
			f.kill(i)
		}
	})
	return f
}

// member returns a client and a server of the network's.
func (n *network) member(t *testing.T, addr string, ca, cert, key []byte) (*host, *http.Client, func(http.Handler) *http.Server) {
	t.Helper()
	cfg, err := tlsConfig(ca, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	cfg.SessionTicketsDisabled = true // a server that writes while its client does would wait for ever: pipes keep nothing
	h := n.listen(addr)
	client := client(cfg, h.dialer())
	return h, client, func(handler http.Handler) *http.Server {
		s := Server(cfg, handler)
		s.ErrorLog = log.New(io.Discard, "", 0) // connections that are cut are no news
		go s.ServeTLS(h, "", "")
		return s
	}
}

func (f *grove) start(i int) {
	f.t.Helper()
	c := f.configs[i]
	out, err := os.OpenFile(f.logOf(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	r := &rooted{ended: make(chan struct{})}
	var client *http.Client
	var serve func(http.Handler) *http.Server
	cfg, err := tlsConfig(c.CA, c.Cert, c.Key)
	if err != nil {
		f.t.Fatal(err)
	}
	r.host, client, serve = f.net.member(f.t, c.Listen, c.CA, c.Cert, c.Key)
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.Daemon, err = New(ctx, Config{
		Name: c.Name, Parent: c.Parent, System: c.System, Total: managers.Resources{CPUs: c.CPUs}, Rules: testRules(), Dir: c.Dir,
		Client: client, Authorities: believed(cfg), Beat: c.Beat, Log: slog.New(slog.NewTextHandler(out, nil)),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	r.server = serve(r.Handler())
	go func() {
		defer close(r.ended)
		defer out.Close()
		r.Run()
		client.CloseIdleConnections()
	}()
	f.running[i] = r
}

// kill ends a manager without a word to anybody.
func (f *grove) kill(i int) {
	if r := f.running[i]; r != nil {
		r.host.Close()
		r.cancel()
		r.server.Close()
		<-r.ended
		f.running[i] = nil
	}
}

// interrupt ends a manager's connections.
func (f *grove) interrupt(i int) {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	if r := f.running[i]; r != nil {
		r.host.cut()
	}
}

// broker returns one that hands its jobs to a manager, and what ran.
func (f *grove) broker(ca *authority, manager int) (*Broker, *record) {
	f.t.Helper()
	cert, key := ca.issue(f.t)
	cfg, err := tlsConfig(ca.cert.Raw, cert, key)
	if err != nil {
		f.t.Fatal(err)
	}
	_, client, serve := f.net.member(f.t, "127.0.0.1:7600", ca.cert.Raw, cert, key)
	b, ran := newBroker("127.0.0.1:7600", f.configs[manager].Name, client, cfg.Certificates[0])
	s := serve(b.Handler())
	f.t.Cleanup(func() { s.Close(); client.CloseIdleConnections() })
	return b, ran
}

// trunk is what trees of processes and of this process have in common.
type trunk struct {
	t       *testing.T
	configs []processConfig
	state   func(i int) (State, error)
}

// plant adds a manager; its parent is the number of another, or -1.
func (f *trunk) plant(ca *authority, addr string, parent, cpus int, beat time.Duration) {
	i := len(f.configs)
	c := processConfig{Listen: addr, Name: "https://" + addr, CPUs: cpus, CA: ca.cert.Raw, Beat: beat, Dir: filepath.Join(f.t.TempDir(), "state")}
	c.Cert, c.Key = ca.issue(f.t)
	if cpus > 0 {
		c.System = fmt.Sprintf("system-%d", i)
	}
	if parent >= 0 {
		c.Parent = f.configs[parent].Name
	}
	f.configs = append(f.configs, c)
}

// newBroker returns a broker whose jobs take less than a second, and what ran.
func newBroker(addr, manager string, client *http.Client, own tls.Certificate) (*Broker, *record) {
	ran := &record{by: map[managers.ID][]string{}}
	b := &Broker{Name: "https://" + addr, Manager: manager, Client: client, Own: own, Lease: 4 * time.Second}
	b.Start = func(_ context.Context, j managers.Job, system string) error {
		ran.mu.Lock()
		ran.by[j.ID] = append(ran.by[j.ID], system)
		ran.mu.Unlock()
		time.Sleep(time.Duration(300+rand.IntN(700)) * time.Millisecond)
		return nil
	}
	return b, ran
}
