package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
	"gridbroker/forecast/managers/desk"
)

// managerUsers are the options of a manager's desk for users.
type managerUsers struct {
	listen, ca, cert, key string
	managers              []string // patterns of hosts
	patience              time.Duration
	priority              int
}

func (f *managerUsers) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "users", "", "be the broker of users who show a grid certificate or proxy at `HOST:PORT` (grid submit --via tree://HOST:PORT)")
	fl.StringVar(&f.ca, "users-ca", "", "believe users by the CA certificates in `DIR` (default: X509_CERT_DIR or the usual places)")
	fl.StringVar(&f.cert, "users-cert", "", "the certificate that users are shown, in `FILE` (default: --cert)")
	fl.StringVar(&f.key, "users-key", "", "and its key in `FILE`")
	fl.StringSliceVar(&f.managers, "users-managers", nil, "take places for users' jobs of managers on these `HOSTS` alone, as *.example.org (default: of whoever has a certificate of --ca)")
	lengthVar(fl, &f.patience, "users-patience", 3*time.Minute, "a place that a user does not claim for so long is given back, and a job that nobody asks for as long is offered to nobody")
	fl.IntVar(&f.priority, "users-priority", 0, "`N`: the greatest priority that the job of a user may have")
}

func (f *managerUsers) check() error {
	switch {
	case f.listen == "" && (f.ca != "" || f.cert != "" || f.key != "" || len(f.managers) > 0):
		return errors.New("--users-ca, --users-cert, --users-key and --users-managers are for --users HOST:PORT")
	case (f.cert == "") != (f.key == ""):
		return errors.New("give --users-cert and --users-key, or neither")
	case f.patience < time.Second:
		return errors.New("--users-patience: too short")
	}
	return nil
}

// served is a manager that serves, with what its desk needs of it.
type served struct {
	name, dir string
	own       func() *tls.Certificate
	client    *http.Client
	manager   *daemon.Daemon
	ending    *ends
}

// begin opens the desk, if there is to be one, and begins to answer users. What is returned answers the tree's managers.
func (f *managerUsers) begin(ctx context.Context, d *deps, m served) (h http.Handler, stop func() error, err error) {
	if f.listen == "" {
		return m.manager.Handler(), func() error { return nil }, nil
	}
	users, h, err := f.open(d, m)
	if err != nil {
		return nil, nil, err
	}
	stop, err = f.serve(ctx, d, m, users)
	return h, stop, err
}

// open opens the desk; what answers the tree's managers in its name is added to what the manager answers.
func (f *managerUsers) open(d *deps, m served) (*desk.Desk, http.Handler, error) {
	log := daemonLog(d)
	ended := func(manager string, id managers.ID) {
		daemon.TellEnded(context.Background(), m.client, log, manager, managers.Key{Broker: m.name, ID: id})
	}
	users, err := desk.Open(desk.Config{
		Manager: m.name, Dir: m.dir, Patience: f.patience, Priority: f.priority, Log: log, Ended: ended,
		HandIn: func(jobs []managers.Job) error { return daemon.HandIn(m.manager, m.own(), jobs) },
	})
	if err != nil {
		return nil, nil, err
	}
	daemon.AddFigures(m.manager, users)
	var of func(host string) bool
	if len(f.managers) > 0 {
		of = credential.HostPatterns(f.managers)
	}
	mux, broker := http.NewServeMux(), daemon.BrokerHandler(users.Answer, users.Orders, of)
	mux.Handle("/v1/offer", broker)
	mux.Handle("/v1/report", broker)
	mux.Handle("/", m.manager.Handler())
	return users, mux, nil
}

// deskHost is the HOST:PORT that users type: the host is that of the manager's name where the desk listens on every address.
func deskHost(name string, listens net.Addr) string {
	at, err := netip.ParseAddrPort(listens.String())
	if u, bad := url.Parse(name); err == nil && bad == nil && at.Addr().IsUnspecified() {
		return net.JoinHostPort(u.Hostname(), strconv.Itoa(int(at.Port())))
	}
	return listens.String()
}

// serve answers users until the context ends.
func (f *managerUsers) serve(ctx context.Context, d *deps, m served, users *desk.Desk) (stop func() error, err error) {
	var own func() *tls.Certificate
	if f.cert != "" {
		if own, err = hostPair(d, f.cert, f.key); err != nil {
			return nil, err
		}
	}
	opts := credential.Options{CAs: credential.GridCA}
	if f.ca != "" {
		opts.CertDir = abs(d, f.ca)
	}
	trust := credential.Authorities(credentialEnv(d), opts, func(err error) {
		sayErr(d, "no user is believed by authorities that cannot be read: %v", err)
	})
	if trust() == nil {
		return nil, fmt.Errorf("--users-ca %s: no certificate authorities", cmp.Or(f.ca, credentialEnv(d).CertDir(opts)))
	}
	m.ending.desk(own, trust)
	if own == nil {
		own = m.own
	}
	l, err := listen(ctx, f.listen, true)
	if err != nil {
		return nil, err
	}
	api := &desk.API{Desk: users, Trust: trust}
	answers := http.NewServeMux()
	answers.Handle("/", perAddress(api.Handler()))
	answers.Handle("GET "+desk.NewsPath, api.News())
	srv := &http.Server{Handler: answers, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: complaints(d), TLSConfig: credential.ServerConfig(own)}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- serveOn(ctx, srv, l, addressAtOnce) }()
	go func() { ended <- users.Run(ctx) }()
	sayErr(d, "users hand in jobs at tree://%s", deskHost(m.name, l.Addr()))
	return func() error {
		cancel()
		return errors.Join(<-ended, <-ended)
	}, nil
}
