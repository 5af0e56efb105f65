package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// managerRunOptions are those of grid manager run.
type managerRunOptions struct {
	managerTLS
	via, name, listen string
	description       string
	count             int
	need              managers.Resources
	tags              []string
	wall, lease       time.Duration
	priority          int
}

func managerRunCmd(d *deps) *cobra.Command {
	var f managerRunOptions
	cmd := &cobra.Command{
		Use:   "run [flags] {--jdl FILE | -- COMMAND [ARG...]}",
		Short: "Run a command, or the jobs of a description, where the tree of managers finds room",
		Long: `Run is the broker of its jobs: it hands them to a manager, grants the first
system that offers room for each, and starts it there with this user's own
credentials, as "grid run --site SYSTEM" does. A job of which no manager reports
for a while is handed in again; it starts once all the same. A job that does not fit
into any system waits until one that is large enough joins the tree.

With --jdl the jobs are those of a description, in any of the languages: each asks the
tree for the slots, GPUs, memory, wall time and tags that the description asks for, and
is submitted to the system that has room as "grid submit --wait --site SYSTEM" does.
Its id is printed, and "grid output" brings what it leaves. A DAG is refused.

Managers must reach the broker at --name, whose host is in the certificate.

An interrupt (Ctrl-C) withdraws the jobs that have not started and waits for the others;
the next one ends the command at once, and what runs at sites goes on.`,
		Example: `  grid manager run --via https://ce.example.org:7700 --name https://ui.example.org:7800 --cpus 4 --count 20 \
      --cert me.pem --key me.key --ca grid.pem -- ./analyse.sh
  grid manager run --via https://ce.example.org:7700 --name https://ui.example.org:7800 \
      --cert me.pem --key me.key --ca grid.pem --jdl sweep.jdl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.exclusive(cmd, args); err != nil {
				return usageError(err)
			}
			return runManagerRun(cmd.Context(), d, f, args)
		},
	}
	f.register(cmd)
	fl := cmd.Flags()
	otherProgram(cmd)
	fl.StringVar(&f.via, "via", "", "`URL` of the nearest manager")
	fl.StringVar(&f.name, "name", "", "`URL` at which managers reach this broker: https://HOST:PORT")
	fl.StringVar(&f.listen, "listen", "", "listen at `HOST:PORT` (default: host and port of the name)")
	fl.StringVar(&f.description, "jdl", "", "the jobs of the description in `FILE`, instead of a command")
	fl.IntVar(&f.count, "count", 1, "`N` jobs of this command")
	fl.IntVar(&f.need.CPUs, "cpus", 1, "`N` cpus of one system")
	fl.IntVar(&f.need.GPUs, "gpus", 0, "`N` GPUs")
	fl.Int64Var(&f.need.Memory, "memory", 0, "`MIB` of memory of the whole job")
	fl.StringSliceVar(&f.tags, "tag", nil, "a `TAG` the system must have; may be repeated")
	lengthVar(fl, &f.wall, "time", 0, "wall time asked for")
	fl.IntVar(&f.priority, "priority", 0, "`N`: the greater goes first")
	lengthVar(fl, &f.lease, "lease", 20*time.Second, "a job of which nothing is heard for so long is handed in again")
	return cmd
}

func runManagerRun(ctx context.Context, d *deps, f managerRunOptions, argv []string) error {
	f.need.Tags, f.need.Wall = managers.Tags(f.tags...), int64(f.wall/time.Second)
	list, err := f.toHandIn(d, argv)
	if err != nil {
		return err
	}
	err = errors.Join(checkManagerURL("--via", f.via), checkManagerURL("--name", f.name), f.need.Check())
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
	var said atomic.Bool
	documents := together(d.env.Out)
	b.Start = func(ctx context.Context, j managers.Job, system string) error {
		say(d, d.env.Err, "%s: at %s\n", j.ID, system)
		told, err := startAt(ctx, d, list[j.ID], j.Need, system, documents)
		if told {
			said.Store(true)
		}
		return err
	}
	listen, err := listenAt(f.name, f.listen)
	if err != nil {
		return usageError(err)
	}
	stop, err := serveUntil(context.WithoutCancel(ctx), d, listen, cfg, b.Handler()) // managers are answered to the end
	if err != nil {
		return err
	}
	defer stop()
	defer context.AfterFunc(ctx, func() { sayInterrupted(ctx, d) })()
	var jobs []managers.Job
	for _, id := range slices.Sorted(maps.Keys(list)) {
		jobs = append(jobs, managers.Job{ID: id, Need: list[id].need, Priority: f.priority})
	}
	failed := b.Run(ctx, jobs)
	d.said = said.Load()
	return brokerFailures(failed, len(jobs))
}

// sayInterrupted lets whoever is at the terminal wait for the jobs that run, for as long as they take.
func sayInterrupted(ctx context.Context, d *deps) {
	if _, ok := errors.AsType[terminated](context.Cause(ctx)); !ok && d.env.Release != nil {
		sayErr(d, "jobs that have not started are withdrawn, the others are waited for; interrupt again to end at once")
		d.env.Release()
	}
}

// brokerFailures names the jobs that failed, those with one reason at once.
func brokerFailures(failed map[managers.ID]error, of int) error {
	byReason := map[string][]managers.ID{}
	for id, err := range failed {
		byReason[err.Error()] = append(byReason[err.Error()], id)
	}
	var errs []error
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		ids := byReason[reason]
		err := failed[ids[0]]
		switch {
		case errors.Is(err, context.Canceled):
			err = interrupted{fmt.Sprintf("%d of %d jobs had not started and are withdrawn", len(ids), of)}
		case len(ids) > 1:
			err = fmt.Errorf("%d of %d jobs failed, %s among them: %w", len(ids), of, slices.Min(ids), err)
		default:
			err = fmt.Errorf("%s: %w", ids[0], err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// startAt starts a job at one system, by this very binary: what it prints is shown as it comes, or what it tells in documents,
// if it told any, when it has ended.
func startAt(ctx context.Context, d *deps, h handedJob, need managers.Resources, system string, documents io.Writer) (told bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, self, h.siteArgs(d, need, system)...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = d.env.Out, d.env.Err, abs(d, ".")
	if h.argv == nil {
		cmd.Stdin = strings.NewReader(h.jdl)
	}
	if !d.json {
		return false, cmd.Run()
	}
	var text bytes.Buffer
	cmd.Stdout = &text
	if err = cmd.Run(); text.Len() == 0 {
		return false, err
	}
	_, wrong := documents.Write(text.Bytes())
	return true, cmp.Or(err, wrong)
}

// siteArgs are the arguments that start a job at one system, a command with all that it asked the tree for;
// what a tag of a command means is known to managers alone.
func (h handedJob) siteArgs(d *deps, need managers.Resources, system string) (args []string) {
	for _, g := range []struct{ flag, value string }{{"--config", d.config}, {"--state-dir", d.state}} {
		if g.value != "" {
			args = append(args, g.flag, g.value)
		}
	}
	if d.json {
		args = append(args, "--json")
	}
	if h.argv == nil {
		return append(args, "submit", "--via", "", "--wait", "--site", system, "-")
	}
	args = append(args, "run", "--site", system, "--cpus", strconv.Itoa(need.CPUs))
	if need.GPUs > 0 {
		args = append(args, "--gpu", strconv.Itoa(need.GPUs))
	}
	if need.Memory > 0 { // of the job, and there it is said of each slot
		args = append(args, "--mem", fmt.Sprintf("%dMiB", (need.Memory+int64(need.CPUs)-1)/int64(need.CPUs)))
	}
	if need.Wall > 0 {
		args = append(args, "--time", fmt.Sprintf("%ds", need.Wall))
	}
	return append(append(args, "--"), h.argv...)
}
