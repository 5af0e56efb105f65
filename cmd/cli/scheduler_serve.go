package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"gridbroker/credential"
	"gridbroker/forecast/scheduler"
	"gridbroker/plugins"
)

func schedulerServeCmd(d *deps, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the scheduler",
		Long: `Serve answers the API and the page, plans while this replica leads, and launches
and follows jobs. Any number of replicas may run on one database. It runs until
it is interrupted.`,
		Example: "  grid scheduler serve --file /etc/grid/scheduler.toml",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSchedulerServe(cmd.Context(), d, *file) },
	}
}

// checkStore tells whether this program and its configuration go with the database.
func checkStore(ctx context.Context, d *deps, c schedulerConfig, store *scheduler.Store) error {
	newer, err := store.Check(ctx)
	if err != nil {
		return err
	}
	if newer {
		sayErr(d, "the database has the %s", schemaWords(newer))
	}
	return checkKey(ctx, c, store)
}

func runSchedulerServe(ctx context.Context, d *deps, file string) error {
	c, store, err := openSchedulerFile(d, file)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := checkStore(ctx, d, c, store); err != nil {
		return err
	}
	opened := &asUsers{a: d, of: map[[sha256.Size]byte]userBackends{}}
	defer opened.close()
	if _, err := opened.registry("", nil); err != nil {
		return err
	}
	conf, err := c.settings(d.env.Backends)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", file, err))
	}
	if conf.Spool != "" {
		if err := ownedDir(d, conf.Spool); err != nil {
			return err
		}
	}
	log := serviceLog(d)
	var own func() *tls.Certificate
	if c.Cert != "" {
		if own, err = hostPair(d, c.Cert, c.Key); err != nil {
			return err
		}
	}
	s := scheduler.New(conf, store, opened.open, d.env.Now, log)
	door := newDoor(d, c, own, conf.Clusters, log)
	if c.Login != nil && c.Login.SecretFile != "" {
		if c.Login.Secret, err = secretText(d, c.Login.SecretFile); err != nil {
			return fmt.Errorf("login: secret_file: %w", err)
		}
	}
	api := &scheduler.API{S: s, Door: door, Log: log, Public: c.Public, Login: c.Login, Metrics: c.Metrics, Rate: c.RequestsPerS, AtOnce: c.AtOnce}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	g.Go(func() error {
		return ends{own: []func() *tls.Certificate{own}, trust: door.Trust}.watch(ctx, d.env.Now, log, scheduler.NoteEnds(s))
	})
	g.Go(func() error { return serveAPI(ctx, d, c, own, api.Handler()) })
	return g.Wait()
}

// serviceLog is a service's log on standard error: warnings, and more with --verbose.
func serviceLog(d *deps) *slog.Logger {
	level := slog.LevelWarn
	if d.verbose > 0 {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(d.env.Err, &slog.HandlerOptions{Level: level}))
}

// newDoor finds out who asks; own is nil where nobody can show a certificate.
func newDoor(d *deps, c schedulerConfig, own func() *tls.Certificate, clusters map[string]scheduler.ClusterConfig, log *slog.Logger) *scheduler.Door {
	door := &scheduler.Door{VOMSDir: credentialEnv(d).VOMSDir(credential.Options{VOMSDir: c.VOMSDir}), Tokens: c.Tokens, Issuers: c.Issuers, VOs: c.IssuerVOs, Audience: c.Audience, Admins: c.Admins, Clusters: clusters, Log: log}
	door.IssuerTrust = issuerTrust(d)
	if own == nil {
		return door
	}
	door.Hosts = append(own().Leaf.DNSNames, own().Leaf.Subject.CommonName)
	door.Trust = credential.Authorities(credentialEnv(d), credential.Options{CAs: credential.GridCA}, func(err error) {
		log.Warn("the grid's certificate authorities cannot be read; those of before are believed, or else no certificates and proxies are", "error", err)
	})
	return door
}

// issuerTrust are the authorities of issuers' certificates: the system's, and the grid's where there are any, as at
// grid auth login.
func issuerTrust(d *deps) func() *credential.Trust {
	return credential.Authorities(credentialEnv(d), credential.Options{}, func(err error) {
		sayErr(d, "issuers are believed by the authorities of before, or else the system's alone: %v", err)
	})
}

// serveAPI listens until the context ends; own is nil where it does so without TLS.
func serveAPI(ctx context.Context, d *deps, c schedulerConfig, own func() *tls.Certificate, h http.Handler) error {
	var secured *tls.Config
	if own != nil {
		secured = credential.ServerConfig(own)
	}
	l, err := listen(ctx, c.Listen, secured != nil)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: complaints(d), TLSConfig: secured}
	serving(d, "scheduler serve", l.Addr().String(), fmt.Sprintf("grid: scheduler %s on %s", c.Name, l.Addr()))
	return serveOn(ctx, srv, l, cmp.Or(c.OfAddress, addressAtOnce))
}

// asUsers opens the back-ends for users, each with one of the credentials that he has delegated,
// and keeps them open.
type asUsers struct {
	a  *deps
	mu sync.Mutex
	of map[[sha256.Size]byte]userBackends // by credential
}

type userBackends struct {
	reg  *plugins.Registry
	used time.Time
}

// maxUsers is for how many credentials back-ends are kept open.
const maxUsers = 256

func (u *asUsers) open(_ context.Context, owner string, cred []byte) (*plugins.Registry, func(), error) {
	reg, err := u.registry(owner, cred)
	return reg, func() {}, err
}

func (u *asUsers) registry(owner string, cred []byte) (*plugins.Registry, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := sha256.Sum256(cred) // of none: the scheduler's own account
	if have, ok := u.of[sum]; ok {
		u.of[sum] = userBackends{have.reg, u.a.env.Now()}
		return have.reg, nil
	}
	c, err := loadConfig(u.a)
	if err != nil {
		return nil, err
	}
	pc := pluginConfig(u.a, c)
	if len(cred) > 0 {
		pc.Credentials = func() (*credential.Set, error) { return delegated(u.a, owner, cred) }
	}
	reg, err := plugins.Open(u.a.env.Backends, pc)
	if err != nil {
		return nil, err
	}
	u.forget()
	u.of[sum] = userBackends{reg, u.a.env.Now()}
	return reg, nil
}

// delegated is a user's own credential with the authorities of this machine.
func delegated(d *deps, owner string, cred []byte) (*credential.Set, error) {
	x, err := credential.ParseX509("the credential delegated by "+owner, cred)
	if err != nil {
		return nil, err
	}
	t, err := credential.LoadTrust(credentialEnv(d), credential.Options{})
	return &credential.Set{X509: x, Trust: t}, err
}

// forget drops the one not used for longest where there are too many. What is
// in use goes on with its connections.
func (u *asUsers) forget() {
	if len(u.of) < maxUsers {
		return
	}
	own := sha256.Sum256(nil)
	oldest := own
	for sum, have := range u.of {
		if oldest == own || sum != own && have.used.Before(u.of[oldest].used) {
			oldest = sum
		}
	}
	delete(u.of, oldest)
}

func (u *asUsers) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, have := range u.of {
		have.reg.Close()
	}
}
