package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// managerServeOptions are those of grid manager serve.
type managerServeOptions struct {
	managerTLS
	users                             managerUsers
	name, listen, parent, system, dir string
	metrics                           string
	total                             managers.Resources
	tags                              []string
	wall, interval, maxAge, beat      time.Duration
}

func managerServeCmd(d *deps) *cobra.Command {
	var f managerServeOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a manager of the tree, of a system or of a domain",
		Long: `Serve runs one manager. With --system it has a system's resources to give away;
without it is a domain's. With --parent it joins a tree; when the parent is gone
it finds another place in the tree by what the parent had told it. Links are
HTTP/2 over TLS; both sides show certificates of the authorities in --ca.

The name is the URL at which the others reach this manager. The directory keeps
assignments over crashes; it belongs to one process. Figures for Prometheus are told
at --metrics, to this machine alone unless that names another address.

With --users the manager is the broker of ordinary users, too: they hand in jobs from
anywhere with their grid proxy (grid submit --via tree://HOST:PORT), and start each where
the tree has found room. Jobs and claims are kept in the directory. What a user sees and
ends are his own jobs, by the subject of his certificate.`,
		Example: `  grid manager serve --name https://root.example.org:7700 --dir /var/lib/grid/manager --cert host.pem --key host.key --ca grid.pem
  grid manager serve --name https://ce.example.org:7700 --parent https://root.example.org:7700 --system ce.example.org --cpus 128 \
      --dir /var/lib/grid/manager --cert host.pem --key host.key --ca grid.pem
  grid manager serve --name https://root.example.org:7700 --users :7701 --users-ca /etc/grid-security/certificates \
      --dir /var/lib/grid/manager --cert host.pem --key host.key --ca grid.pem`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runManagerServe(cmd.Context(), d, f) },
	}
	f.register(cmd)
	f.users.register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.name, "name", "", "`URL` at which others reach this manager: https://HOST:PORT")
	fl.StringVar(&f.listen, "listen", "", "listen at `HOST:PORT` (default: host and port of the name)")
	metricsFlag(cmd, &f.metrics, managerMetrics)
	fl.StringVar(&f.parent, "parent", "", "`URL` of the parent; without one the manager is root")
	fl.StringVar(&f.system, "system", "", "`NAME` of the system, by which brokers choose the resource: what \"grid run --site NAME\" takes")
	fl.StringVar(&f.dir, "dir", "", "`DIR` of the manager's own")
	fl.IntVar(&f.total.CPUs, "cpus", 0, "`N` cpus of the system")
	fl.IntVar(&f.total.GPUs, "gpus", 0, "`N` GPUs of the system")
	fl.Int64Var(&f.total.Memory, "memory", 0, "`MIB` of the system's memory")
	fl.StringSliceVar(&f.tags, "tag", nil, "a `TAG` that jobs may ask for; may be repeated")
	lengthVar(fl, &f.wall, "wall", 0, "longest wall time of a job; 0: no limit")
	lengthVar(fl, &f.interval, "interval", time.Second, "least time between two changes on a link")
	lengthVar(fl, &f.maxAge, "max-age", time.Hour, "a job that waits longer has a system drained for it; 0: never")
	lengthVar(fl, &f.beat, "beat", 2*time.Second, "between signs of life on a link; four without one end it")
	return cmd
}

func (f *managerServeOptions) check() error {
	if err := checkManagerURL("--name", f.name); err != nil {
		return err
	}
	if f.parent != "" {
		if err := checkManagerURL("--parent", f.parent); err != nil {
			return err
		}
	}
	f.total.Tags, f.total.Wall = managers.Tags(f.tags...), int64(f.wall/time.Second)
	switch {
	case f.dir == "":
		return errors.New("no directory: give --dir DIR")
	case f.parent == f.name:
		return fmt.Errorf("--parent %s: a manager is not its own parent", f.parent)
	case (f.system == "") != (f.total.CPUs == 0):
		return errors.New("a system has a name and cpus: give --system and --cpus, or neither for a domain")
	case f.beat < 50*time.Millisecond || f.interval < 0 || f.maxAge < 0:
		return errors.New("--beat, --interval or --max-age: too short")
	}
	return cmp.Or(f.users.check(), f.total.Check())
}

// daemon is the manager's configuration.
func (f *managerServeOptions) daemon(d *deps, client *http.Client, authorities func() daemon.Authorities) daemon.Config {
	rules := managers.Serving()
	rules.Interval, rules.MaxAge = f.interval.Milliseconds(), f.maxAge.Milliseconds()
	return daemon.Config{
		Name: f.name, Parent: f.parent, System: f.system, Total: f.total, Rules: rules, Dir: abs(d, f.dir),
		Client: client, Authorities: authorities, Beat: f.beat, Log: daemonLog(d),
	}
}

func runManagerServe(ctx context.Context, d *deps, f managerServeOptions) error {
	if err := f.check(); err != nil {
		return usageError(err)
	}
	listen, err := listenAt(f.name, f.listen)
	if err != nil {
		return usageError(err)
	}
	if err := ownedDir(d, abs(d, f.dir)); err != nil {
		return err
	}
	own, authorities, err := f.read(d)
	if err != nil {
		return err
	}
	ending, err := managerEnds(d, f.managerTLS, own)
	if err != nil {
		return err
	}
	cfg := daemon.TLS(own, authorities)
	client := daemon.Client(cfg)
	manager, err := daemon.New(ctx, f.daemon(d, client, authorities))
	if err != nil {
		return err
	}
	h, stopUsers, err := f.users.begin(ctx, d, served{f.name, abs(d, f.dir), own, client, manager, &ending})
	if err != nil {
		return err
	}
	stop, err := serveUntil(ctx, d, listen, cfg, h)
	if err != nil {
		return errors.Join(err, stopUsers())
	}
	defer stop()
	if err := serveMetrics(ctx, d, f.metrics, managerMetrics, manager.Figures()); err != nil {
		return errors.Join(err, stopUsers())
	}
	serving(d, "manager serve", listen, fmt.Sprintf("manager %s listens at %s", f.name, listen))
	go ending.watch(ctx, d.env.Now, daemonLog(d), daemon.NoteEnds(manager))
	manager.Run()
	return stopUsers()
}
