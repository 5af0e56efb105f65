package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/credential"
	"gridbroker/forecast/scheduler"
	"gridbroker/foreign"
	"gridbroker/plugins"
)

// schedulerConfig is the scheduler's own configuration file.
type schedulerConfig struct {
	Name         string                `toml:"name"` // of this replica; default: host and process
	Database     string                `toml:"database"`
	KeyFile      string                `toml:"key_file"` // what is kept of users is encrypted with it
	Listen       string                `toml:"listen"`
	Cert         string                `toml:"cert"`
	Key          string                `toml:"key"`
	Spool        string                `toml:"spool"`
	Planner      string                `toml:"planner"` // lookahead or pairwise
	Cycle        duration              `toml:"cycle"`
	Grace        duration              `toml:"grace"`
	TokenGrace   duration              `toml:"token_grace"`
	KeepAtSites  duration              `toml:"keep_at_sites"` // jobs whose output was brought
	Horizon      duration              `toml:"horizon"`
	StatusEvery  duration              `toml:"status_every"`
	MaxBypass    int                   `toml:"max_bypass"`
	Sure         float64               `toml:"sure"` // least chance of a slot for a job that has not waited for patience
	Patience     duration              `toml:"patience"`
	Budget       float64               `toml:"budget"`  // of a new user
	Free         bool                  `toml:"free"`    // budgets do not count
	Public       bool                  `toml:"public"`  // the page shows strangers slots and loads
	Metrics      []string              `toml:"metrics"` // subjects that may read /metrics; "*": everybody
	RequestsPerS float64               `toml:"requests_per_second"`
	AtOnce       int                   `toml:"requests_at_once"`
	OfAddress    int                   `toml:"connections_of_address"`
	Admins       []string              `toml:"admins"`
	Issuers      []string              `toml:"issuers"`
	IssuerVOs    map[string][]string   `toml:"issuer_vos"` // for which an issuer speaks
	Audience     string                `toml:"audience"`
	VOMSDir      string                `toml:"vomsdir"`
	Login        *scheduler.Login      `toml:"login"` // people with a browser sign in there
	Clusters     []clusterConfig       `toml:"cluster"`
	Tokens       []scheduler.TokenUser `toml:"token"`

	path   string // of the file
	places tomlPlaces
}

// place is where a setting stands in the file.
func (c schedulerConfig) place(key string) string { return c.places.of(c.path, key) }

type clusterConfig struct {
	Name     string   `toml:"name"`
	Endpoint string   `toml:"endpoint"`
	Queue    string   `toml:"queue"`
	Agents   []string `toml:"agents"`
}

// schedulerCmd holds the central scheduler.
func schedulerCmd(d *deps) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "scheduler",
		Short: "The central scheduler: gives jobs slots that agents of sites foresee",
		Long: `Scheduler holds the central forecast scheduler. Agents of sites (grid agent run)
publish the slots they foresee; jobs wait in a global queue and go to a site
shortly before their slot. See docs/operators.md.`,
		Example: `  grid scheduler init --file scheduler.toml
  grid scheduler serve --file scheduler.toml`,
	}
	cmd.PersistentFlags().StringVar(&file, "file", "scheduler.toml", "configuration `file` of the scheduler")
	tree := managerCmd(d) // by the name that it had
	tree.Hidden = true
	cmd.AddCommand(tree, schedulerInitCmd(d, &file), schedulerServeCmd(d, &file), schedulerDoctorCmd(d, &file), schedulerDrainCmd(d), schedulerExplainCmd(d), schedulerExportCmd(d, &file))
	return cmd
}

func loadSchedulerConfig(d *deps, file string) (schedulerConfig, error) {
	c := schedulerConfig{Listen: "127.0.0.1:6120", TokenGrace: duration{24 * time.Hour}, KeepAtSites: duration{time.Hour}}
	path := abs(d, file)
	if err := credential.Owned(credentialEnv(d), path); err != nil { // it names administrators
		return c, usageError(err)
	}
	text, err := readNamed(path)
	if err = cmp.Or(err, tooMany(path, text, mostOfScheduler)); err != nil {
		return c, usageError(err)
	}
	if err := (known{reflect.TypeOf(c), func(string) bool { return false }, c}).read(path, text, &c); err != nil {
		return c, usageError(err)
	}
	c.path, c.places = path, readPlaces(text)
	if err := c.check(d.env.Backends); err != nil {
		if f, ok := errors.AsType[*fault](err); ok {
			err = &settingError{c.place(f.key), f.said}
		}
		return c, usageError(err)
	}
	c.beside(filepath.Dir(path))
	if err := databaseSecrets(d, path, c.Database); err != nil {
		return c, err
	}
	if c.Name == "" {
		host, _ := os.Hostname()
		c.Name = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	return c, nil
}

// beside takes the names of files as of the directory in which the configuration lies.
func (c *schedulerConfig) beside(dir string) {
	files := []*string{&c.KeyFile, &c.Cert, &c.Key, &c.Spool, &c.VOMSDir}
	if c.Login != nil {
		files = append(files, &c.Login.SecretFile)
	}
	for _, p := range files {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	if db, ok := strings.CutPrefix(c.Database, "sqlite:"); ok && !filepath.IsAbs(db) {
		c.Database = "sqlite:" + filepath.Join(dir, db)
	}
}

// settings is the scheduler's part of it.
func (c schedulerConfig) settings(backends []plugins.Backend) (scheduler.Config, error) {
	s := scheduler.Config{Name: c.Name, Cycle: c.Cycle.Duration, Grace: c.Grace.Duration, TokenGrace: c.TokenGrace.Duration, KeepAtSites: c.KeepAtSites.Duration, Horizon: c.Horizon.Duration,
		StatusEvery: c.StatusEvery.Duration, MaxBypass: c.MaxBypass, Sure: c.Sure, Patience: c.Patience.Duration, Budget: c.Budget, Free: c.Free, Planner: c.Planner, Spool: c.Spool,
		Clusters: map[string]scheduler.ClusterConfig{}, Alike: c.alike()}
	for _, cl := range c.Clusters {
		by, err := sentBy(backends, cl.Endpoint)
		if err != nil {
			return s, fmt.Errorf("cluster %q: %w", cl.Name, err)
		}
		s.Clusters[cl.Name] = scheduler.ClusterConfig{Agents: cl.Agents, Interface: by.Interfaces[0], AtOnce: !by.Begins, Endpoint: cl.Endpoint, Queue: cl.Queue}
	}
	return s, nil
}

// openSchedulerFile reads a configuration and opens the database that it names.
func openSchedulerFile(d *deps, file string) (schedulerConfig, *scheduler.Store, error) {
	c, err := loadSchedulerConfig(d, file)
	if err != nil {
		return c, nil, err
	}
	key, err := secretText(d, c.KeyFile)
	if err != nil {
		return c, nil, fmt.Errorf("%s: key_file: %w", c.place("key_file"), err)
	}
	seal, err := scheduler.NewSeal(key)
	if err != nil {
		return c, nil, usageError(fmt.Errorf("%s: key_file %s: %w", c.place("key_file"), c.KeyFile, err))
	}
	s, err := scheduler.OpenStore(c.Database, seal)
	if err != nil {
		return c, nil, usageError(fmt.Errorf("%s: %w", c.place("database"), err))
	}
	return c, s, nil
}

// schedulerInitOptions are those of grid scheduler init.
type schedulerInitOptions struct {
	database         string // of a new configuration
	restored, newKey bool
}

func schedulerInitCmd(d *deps, file *string) *cobra.Command {
	var f schedulerInitOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make a configuration, a key and the database, or bring the database up to date",
		Long: `Init writes a configuration file where there is none, with an embedded database
and an administrator's token, makes the key, and brings the database's schema up
to this program's version. It changes nothing that is there.

With --restored it notes that the database is an older copy brought back: jobs
that were sent since are looked for at their sites before they are sent again.
Say it before any replica is started.

The database notes the key that it is used with; all replicas have a copy of that
one. With --new-key it takes the key of this configuration, where the one of
before is lost: users delegate their proxies anew.`,
		Example: `  grid scheduler init --file /etc/grid/scheduler.toml --database postgres://grid@db/grid
  grid scheduler init --file /etc/grid/scheduler.toml --restored`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSchedulerInit(cmd.Context(), d, *file, f) },
	}
	cmd.Flags().StringVar(&f.database, "database", "sqlite:scheduler.db", "for a new configuration: sqlite:`FILE`, or postgres://USER@HOST/NAME")
	cmd.Flags().BoolVar(&f.restored, "restored", false, "the database is an older copy, brought back")
	cmd.Flags().BoolVar(&f.newKey, "new-key", false, "the key of before is lost: what was encrypted with it is given up")
	return cmd
}

// checkKey tells whether this configuration has the key of the database.
func checkKey(ctx context.Context, c schedulerConfig, s *scheduler.Store) error {
	err := scheduler.CheckKey(ctx, s)
	if errors.Is(err, scheduler.ErrOtherKey) {
		return fmt.Errorf("%s: key_file %s: %w; where it is lost: grid scheduler init --new-key", c.place("key_file"), c.KeyFile, err)
	}
	return err
}

func runSchedulerInit(ctx context.Context, d *deps, file string, f schedulerInitOptions) error {
	wrote, err := schedulerFiles(d, file, f.database)
	if err != nil {
		return err
	}
	c, s, err := openSchedulerFile(d, file)
	if err != nil {
		return err
	}
	defer s.Close()
	newer, err := s.Migrate(ctx)
	if err != nil {
		return err
	}
	if f.newKey {
		err = scheduler.TakeKey(ctx, s)
	}
	if err = cmp.Or(err, checkKey(ctx, c, s)); err != nil {
		return err
	}
	if newer {
		sayErr(d, "the database has the %s", schemaWords(newer))
	} else {
		sayErr(d, "the database is up to date")
	}
	if f.restored {
		if err = s.Restored(ctx, d.env.Now()); err == nil {
			sayErr(d, "noted that it is an older copy: jobs that were sent since are looked for at their sites before they are sent again")
		}
	}
	if err == nil && d.json {
		err = printJSON(d, "scheduler.init", initDocument{abs(d, file), scheduler.Redacted(c.Database), wrote})
	}
	return err
}

// schedulerFiles writes what is not there yet, and returns which files.
func schedulerFiles(d *deps, file, database string) (wrote []string, err error) {
	path := abs(d, file)
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	write := func(path, text string) error {
		err := writeNew(path, text, 0o600)
		if err == nil {
			wrote = append(wrote, path)
		}
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		token, beside := scheduler.NewKey(), filepath.Join(dir, "admin.token")
		text := fmt.Sprintf(firstConfig, database, scheduler.HashToken(token))
		if err := write(beside, token+"\n"); err != nil {
			return nil, err
		}
		if err := write(path, text); err != nil { // nobody knows the token yet
			return nil, errors.Join(err, os.Remove(beside))
		}
		sayErr(d, "wrote %s, and the administrator's token to %s", path, beside)
	}
	c, err := loadSchedulerConfig(d, file)
	if err != nil {
		return wrote, err
	}
	switch err = write(c.KeyFile, scheduler.NewKey()+"\n"); {
	case errors.Is(err, os.ErrExist):
		err = nil
	case err != nil:
		err = fmt.Errorf("%s: key_file: %w", c.place("key_file"), err)
	}
	return wrote, err
}

// writeNew writes a file that is not there. Where it cannot be written whole, as on a full disk, there is none: an empty one would
// be taken for what somebody has written.
func writeNew(path, text string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(cmp.Or(err, f.Sync()), f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// firstConfig is a configuration to begin with.
const firstConfig = `# The central scheduler. Every setting: docs/operators.md.
database = %q
key_file = "scheduler.key"
listen = "127.0.0.1:6120"  # beyond this machine it needs cert and key

# Who has admin.token is administrator.
[[token]]
sha256 = %q
subject = "admin"
admin = true

# The sites that may take part, and where their jobs are sent.
# [[cluster]]
# name = "cluster1"
# endpoint = "slurm:"
# agents = ["/DC=org/DC=example/CN=agent.example.org"]
`

func schedulerDrainCmd(d *deps) *cobra.Command {
	var to string
	var open bool
	cmd := &cobra.Command{
		Use:     "drain CLUSTER",
		Short:   "Book nothing more at a cluster",
		Long:    "Drain closes a cluster for new bookings; what is booked or runs there goes on. --open opens it again.",
		Example: "  grid scheduler drain cluster1",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := callScheduler(cmd.Context(), d, to, "drain", "POST", "/v1/clusters/"+url.PathEscape(args[0])+"/drain", map[string]bool{"drain": !open}, nil)
			if err != nil {
				return err
			}
			if d.json {
				return printJSON(d, "scheduler.drain", drainDocument{args[0], !open})
			}
			said := "nothing more is booked there; what is booked or runs goes on"
			if open {
				said = "it is open for bookings"
			}
			sayOut(d, "%s: %s", args[0], said)
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "via", "", "`URL` of the scheduler")
	cmd.Flags().BoolVar(&open, "open", false, "open it again")
	return cmd
}

func schedulerExplainCmd(d *deps) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:     "explain JOB",
		Short:   "Why a job of the global queue has no slot yet",
		Long:    "Explain looks at every slot for one job, by the scheduler's id of it or its owner's, and tells what stands in the way.",
		Example: "  grid scheduler explain s01jd2k3m4n5p6q7r8s9",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var out scheduler.Reasons
			if err := callScheduler(cmd.Context(), d, to, "explain", "GET", "/v1/jobs/"+url.PathEscape(args[0])+"/why", nil, &out); err != nil {
				return err
			}
			if d.json {
				return printJSON(d, "scheduler.explain", out)
			}
			for _, line := range out.Text {
				sayOut(d, "%s", line)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "via", "", "`URL` of the scheduler")
	return cmd
}

func schedulerExportCmd(d *deps, file *string) *cobra.Command {
	return &cobra.Command{
		Use:     "export",
		Short:   "Write the log of all actions as lines of JSON",
		Long:    "Export reads the append-only log from the database, the oldest entry first.",
		Example: "  grid scheduler export --file scheduler.toml > log.jsonl",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, s, err := openSchedulerFile(d, *file)
			if err != nil {
				return err
			}
			defer s.Close()
			if _, err := s.Check(cmd.Context()); err != nil {
				return err
			}
			for last := int64(0); ; {
				list, err := s.Log(cmd.Context(), "", last, 1000)
				if err != nil || len(list) == 0 {
					return err
				}
				for _, e := range list {
					if err := printEntry(d, e); err != nil {
						return err
					}
				}
				last = list[len(list)-1].ID
			}
		},
	}
}

// printEntry prints a line of the log, or what a jq program makes of it.
func printEntry(d *deps, e scheduler.Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if d.query != nil {
		return d.query.print(d, line)
	}
	_, err = d.env.Out.Write(append(foreign.JSON(line), '\n'))
	return err
}
