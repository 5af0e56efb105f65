package cli

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/forecast/scheduler"
)

func schedulerDoctorCmd(d *deps, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "What is wrong with the scheduler's configuration, database and agents",
		Long: `Doctor looks at the configuration, the key, the database and its schema, the
ledger, the scheduler's certificate and the authorities' files, the issuers of
tokens and of the login: whether they answer and people can sign in there, and
at every cluster: whether its agent is heard and its priority function is sound.`,
		Example: "  grid scheduler doctor --file scheduler.toml",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSchedulerDoctor(cmd.Context(), d, *file) },
	}
}

func runSchedulerDoctor(ctx context.Context, d *deps, file string) error {
	c, store, err := openSchedulerFile(d, file)
	if err != nil {
		return err
	}
	defer store.Close()
	l := &checklist{d: d, over: ctx.Err}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	say := l.say
	newer, err := store.Check(ctx)
	if err != nil {
		say(false, "database: %v", err)
		return l.end("scheduler.doctor")
	}
	say(true, "database %s, %s", scheduler.Redacted(c.Database), schemaWords(newer))
	if frozen, err := scheduler.ReadOnly(ctx, store); err != nil {
		say(false, "database: %v", err)
	} else if frozen {
		say(false, "the database is read-only: it is a standby, or default_transaction_read_only is on")
	} else if err := checkKey(ctx, c, store); err != nil {
		say(false, "key: %v", err)
	}
	if err := store.Room(); err != nil {
		say(false, "disk of the database: %v", err)
	}
	if allowed, wanted, err := scheduler.Connections(ctx, store); err != nil {
		say(false, "connections to the database: %v", err)
	} else if allowed < wanted {
		say(false, "connections to the database: %d are allowed, a replica may want %d (max_connections, and the limits of the role and of the database)", allowed, wanted)
	}
	doctorClock(ctx, d, store, say)
	doctorAlike(ctx, c, store, say)
	sum, err := store.Audit(ctx)
	if err != nil {
		say(false, "ledger: %v", err)
	} else {
		say(sum == 0, "ledger adds up to %d", sum)
	}
	doctorIssuers(ctx, d, c, say)
	doctorEnds(d, c, say)
	doctorClusters(ctx, d, c, store, say)
	return l.end("scheduler.doctor")
}

// schemaWords tell of a database's schema with which this program works.
func schemaWords(newer bool) string {
	if newer {
		return "schema of the next version, beside whose program this one goes on: run that one"
	}
	return "schema of this program"
}

// doctorClock compares the clock with the database's.
func doctorClock(ctx context.Context, d *deps, store *scheduler.Store, say func(ok bool, format string, args ...any)) {
	ahead, err := scheduler.ClockAhead(ctx, store, d.env.Now)
	if err = cmp.Or(err, scheduler.CheckClock(ahead)); err != nil {
		say(false, "clock: %v", err)
	}
}

// doctorAlike compares the settings with those of the replica that leads.
func doctorAlike(ctx context.Context, c schedulerConfig, store *scheduler.Store, say func(ok bool, format string, args ...any)) {
	leader, unlike, err := scheduler.Unlike(ctx, store, c.alike())
	switch {
	case err != nil:
		say(false, "settings of the replica that leads: %v", err)
	case len(unlike) > 0:
		say(false, "the replica that leads, %s, was started with other settings than these: %s; give all replicas the same, and restart those that were changed", leader, strings.Join(unlike, ", "))
	}
}

// doctorEnds looks when what the scheduler shows and believes by ends.
func doctorEnds(d *deps, c schedulerConfig, say func(ok bool, format string, args ...any)) {
	if c.Cert == "" {
		return
	}
	own, err := hostPair(d, c.Cert, c.Key)
	if err != nil {
		say(false, "certificate: %v", err)
		return
	}
	host := credential.EndOf(own())
	say(!host.Soon(d.env.Now()), "%s", host)
	trust, err := credential.LoadTrust(credentialEnv(d), credential.Options{CAs: credential.GridCA})
	if err != nil {
		say(false, "authorities: %v", err)
		return
	}
	for _, end := range credential.Ends(trust) {
		if end.Soon(d.env.Now()) {
			say(false, "%s", end)
		}
	}
	say(trust.Size() > 0, "%d authorities in %s", trust.Size(), trust.Dir())
	doctorAuthorities(trust, own().Certificate, say)
}

// doctorAuthorities looks at the authorities' files, and whether theirs let the scheduler's own certificate be: users and
// agents refuse it else. One of a public authority, which is not among them, may be as good.
func doctorAuthorities(trust *credential.Trust, own [][]byte, say func(ok bool, format string, args ...any)) {
	for _, f := range trust.Check(nil) {
		if bad := f.Severity == credential.Warning || f.Severity == credential.Problem; bad && f.ID != "trust.ca-expired" && f.ID != "trust.crl-expired" { // these are among those that end
			say(false, "authorities: %v", &f)
		}
	}
	var chain []*x509.Certificate
	for _, der := range own {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			say(false, "certificate: %v", err)
			return
		}
		chain = append(chain, c)
	}
	err := trust.VerifyChain(chain)
	if f, ok := errors.AsType[*credential.Finding](err); ok && f.ID == "trust.unknown-ca" {
		return
	}
	if err != nil {
		say(false, "certificate: %v", err)
	}
}

// doctorIssuers asks those whose word the scheduler goes by.
func doctorIssuers(ctx context.Context, d *deps, c schedulerConfig, say func(ok bool, format string, args ...any)) {
	door := &scheduler.Door{Issuers: c.Issuers, IssuerTrust: issuerTrust(d)}
	for _, name := range c.Issuers {
		if err := door.CheckIssuer(ctx, name); err != nil {
			say(false, "issuers: %s: %v", name, err)
		} else {
			say(true, "issuers: %s answers and has keys", name)
		}
		if len(c.Issuers) > 1 && c.IssuerVOs[name] == nil {
			say(false, "issuers: %s speaks for every VO, also for those of the others: say for which with issuer_vos", name)
		}
	}
	if c.Login == nil {
		return
	}
	if err := door.CheckLogin(ctx, c.Login); err != nil {
		say(false, "login: issuer %s: %v", c.Login.Issuer, err)
		return
	}
	say(true, "login: issuer %s lets people sign in; %s must be registered there", c.Login.Issuer, c.Login.Callback())
}

// doctorClusters looks at what agents told of their clusters. One that is configured no more
// is wrong only while its agent still speaks.
func doctorClusters(ctx context.Context, d *deps, c schedulerConfig, store *scheduler.Store, say func(ok bool, format string, args ...any)) {
	list, err := store.Clusters(ctx, d.env.Now())
	if err != nil {
		say(false, "clusters: %v", err)
		return
	}
	say(true, "%d clusters have been heard of, %d are configured", len(list), len(c.Clusters))
	untaken, err := scheduler.Untaken(ctx, store)
	if err != nil {
		say(false, "what became of jobs that were sent: %v", err)
	}
	heard := map[string]bool{}
	for _, cl := range list {
		heard[cl.Name] = true
		seen := ago(d, time.Unix(cl.Seen, 0))
		if !slices.ContainsFunc(c.Clusters, func(have clusterConfig) bool { return have.Name == cl.Name }) {
			say(!cl.Fresh, "cluster %s is not in the configuration; its agent was heard %s ago", cl.Name, seen)
			continue
		}
		say(cl.Fresh, "cluster %s: schedule made %s ago, good for %ds, %d slots, agent heard %s ago", cl.Name, ago(d, time.Unix(cl.Made, 0)), cl.TTL, cl.Slots, seen)
		if said := untaken[cl.Name]; said != "" {
			say(false, "cluster %s takes no jobs: none of the last three that were sent there; of the last it was said: %s", cl.Name, said)
		}
		if err := scheduler.TryFunction(cl.Site.Function); err != nil {
			say(false, "cluster %s: its priority function: %v", cl.Name, err)
		}
	}
	for _, cl := range c.Clusters {
		switch {
		case len(cl.Agents) == 0:
			say(false, "cluster %s: agents names nobody, so no agent may speak for it", cl.Name)
		case !heard[cl.Name]:
			say(false, "cluster %s: its agent was never heard", cl.Name)
		}
	}
}
