package cli

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// managerRunOptions are those of grid manager run.
type managerRunOptions struct {
	managerTLS
	via, name, listen string
	count             int
	need              managers.Resources
	tags              []string
	wall, lease       time.Duration
	priority          int
}

func managerRunCmd(d *deps) *cobra.Command {
	var f managerRunOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command where the tree of managers finds room for it",
		Long: `Run is the broker of its jobs: it hands them to a manager, grants the first
system that offers room for each, and starts it there with this user's own
credentials, as "grid run --site SYSTEM" does. A job of which no manager reports
for a while is handed in again; it starts once all the same.

Managers must reach the broker at --name.`,
		Example: `  grid manager run --via https://ce.example.org:7700 --name https://ui.example.org:7800 --cpus 4 --count 20 \
      --cert me.pem --key me.key --ca grid.pem -- ./analyse.sh`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runManagerRun(cmd.Context(), d, f, args) },
	}
	f.register(cmd)
	fl := cmd.Flags()
	fl.SetInterspersed(false)
	fl.StringVar(&f.via, "via", "", "`URL` of the nearest manager")
	fl.StringVar(&f.name, "name", "", "`URL` at which managers reach this broker: https://HOST:PORT")
	fl.StringVar(&f.listen, "listen", "", "listen at `HOST:PORT` (default: host and port of the name)")
	fl.IntVar(&f.count, "count", 1, "`N` jobs of this command")
	fl.IntVar(&f.need.CPUs, "cpus", 1, "`N` cpus of one system")
	fl.IntVar(&f.need.GPUs, "gpus", 0, "`N` GPUs")
	fl.Int64Var(&f.need.Memory, "memory", 0, "`MIB` of memory")
	fl.StringSliceVar(&f.tags, "tag", nil, "a `TAG` the system must have; may be repeated")
	lengthVar(fl, &f.wall, "time", 0, "wall time asked for")
	fl.IntVar(&f.priority, "priority", 0, "`N`: the greater goes first")
	lengthVar(fl, &f.lease, "lease", 20*time.Second, "a job of which nothing is heard for so long is handed in again")
	return cmd
}

func runManagerRun(ctx context.Context, d *deps, f managerRunOptions, argv []string) error {
	f.need.Tags, f.need.Wall = managers.Tags(f.tags...), int64(f.wall/time.Second)
	err := errors.Join(checkManagerURL("--via", f.via), checkManagerURL("--name", f.name), f.need.Check())
	if err == nil && (f.count < 1 || f.count > 100_000 || f.need.CPUs < 1 || f.lease < time.Second) {
		err = errors.New("--count, --cpus or --lease: too small or too great")
	}
	if err != nil {
		return usageError(err)
	}
	own, authorities, err := f.read(d)
	if err != nil {
		return err
	}
	one := own() // for as long as it runs: passports are checked by the certificate of the connection that brings them
	cfg := daemon.TLS(func() *tls.Certificate { return one }, authorities)
	b := &daemon.Broker{Name: f.name, Manager: f.via, Client: daemon.Client(cfg), Own: *one, Lease: f.lease, Log: daemonLog(d)}
	b.Start = func(ctx context.Context, j managers.Job, system string) error {
		fmt.Fprintf(d.env.Err, "%s: at %s\n", j.ID, system)
		return startAt(ctx, d, j, system, argv)
	}
	if f.listen == "" {
		f.listen = f.name[len("https://"):]
	}
	stop, err := serveUntil(ctx, d, f.listen, cfg, b.Handler())
	if err != nil {
		return err
	}
	defer stop()
	jobs, batch := make([]managers.Job, f.count), rand.Text()
	for i := range jobs {
		jobs[i] = managers.Job{ID: managers.ID(batch + "-" + strconv.Itoa(i)), Need: f.need, Priority: f.priority}
	}
	var failed []error
	for id, err := range b.Run(ctx, jobs) {
		failed = append(failed, fmt.Errorf("%s: %w", id, err))
	}
	return errors.Join(failed...)
}

// startAt runs the command as a job at one system, by this very binary.
func startAt(ctx context.Context, d *deps, j managers.Job, system string, argv []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{"run", "--site", system, "--cpus", strconv.Itoa(j.Need.CPUs), "--"}, argv...)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = d.env.Out, d.env.Err, abs(d, ".")
	return cmd.Run()
}
