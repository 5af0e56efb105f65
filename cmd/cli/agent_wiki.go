package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/batch/maui"
	"gridbroker/plugins"
	"gridbroker/plugins/wiki"
)

type wikiServeOptions struct {
	lrms, resources, workload, journal string
	listen, cert, key, keyFile         string
	insecure, control                  bool
}

// agentWikiCmd holds what speaks WIKI as a resource manager.
func agentWikiCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use: "wiki", Short: "Speak WIKI, the interface of the Maui scheduler",
		Long:    "Wiki holds the resource manager's side of WIKI, the interface by which the Maui scheduler runs clusters.",
		Example: "  grid agent wiki serve --lrms slurm: --key-file wiki.key",
	}
	cmd.AddCommand(agentWikiServeCmd(d))
	return cmd
}

func agentWikiServeCmd(d *deps) *cobra.Command {
	var f wikiServeOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Present a cluster to a WIKI scheduler such as Maui",
		Long: `Serve presents a cluster to an external scheduler that speaks WIKI: Maui, Moab, or
grid agent schedule. The cluster is either a batch system (--lrms), or a simulated
one. A batch system is shown but not changed; with --control the scheduler starts and
ends jobs there. Of Slurm and HTCondor these are the jobs that their owners hold
(sbatch --hold; hold = true in a submit description), which it suspends and resumes
too; the rest is shown as held. Of local: they are all that wait: the site starts
none itself as long as this runs, and none can be suspended. A simulated cluster has the nodes of a
resource trace of Maui's and the jobs of a workload trace, whose first job comes
when the server starts and whose jobs run for their time once the scheduler starts
them. With --journal the simulated jobs outlive a crash.

The key that signs every message is read from --key-file, which only its owner
may read. The signature is no security: it listens on loopback or on a Unix
socket (unix:PATH); elsewhere it wants a TLS certificate or --insecure.`,
		Example: `  grid agent wiki serve --lrms slurm: --key-file wiki.key
  grid agent wiki serve --lrms condor: --control --key-file wiki.key
  grid agent wiki serve --resources resource.trace --workload workload.trace --listen unix:/run/wiki.sock`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runWikiServe(cmd.Context(), d, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.lrms, "lrms", "", "`URL` of a batch system to show: "+queueForms(d))
	fl.BoolVar(&f.control, "control", false, "let the scheduler start and end jobs of --lrms")
	fl.StringVar(&f.resources, "resources", "", "simulate the nodes of this resource trace `FILE`")
	fl.StringVar(&f.workload, "workload", "", "with the jobs of this workload trace `FILE`")
	fl.StringVar(&f.journal, "journal", "", "keep the simulated jobs in `FILE`")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:7321", "`address` to listen on, or unix:PATH")
	fl.StringVar(&f.keyFile, "key-file", "", "`FILE` with the number that signs messages")
	fl.StringVar(&f.cert, "cert", "", "TLS certificate `file` (PEM)")
	fl.StringVar(&f.key, "key", "", "its private key `file`")
	fl.BoolVar(&f.insecure, "insecure", false, "listen on any address without TLS")
	return cmd
}

func runWikiServe(ctx context.Context, d *deps, f wikiServeOptions) error {
	s := &wiki.Server{Auth: "grid", Now: d.env.Now, Began: d.env.Now(), Log: func(from net.Addr, err error) {
		sayErr(d, "wiki: %v: %v", from, err)
	}}
	var err error
	if s.Key, err = wikiKey(d, f.keyFile); err != nil {
		return usageError(err)
	}
	end, err := wikiManager(d, s, f)
	if err != nil {
		return err
	}
	defer end()
	l, err := wikiListen(ctx, d, f)
	if err != nil {
		return err
	}
	if !s.Key.Set() {
		sayErr(d, "warning: without --key-file everybody who can connect may give commands")
	}
	serving(d, "agent wiki serve", l.Addr().String(), fmt.Sprintf("grid: WIKI on %s", l.Addr()))
	return s.Serve(ctx, l)
}

// wikiKey reads the key, or asks for none.
func wikiKey(d *deps, path string) (wiki.Key, error) {
	if path == "" {
		return wiki.Key{}, nil
	}
	return wiki.ReadKey(abs(d, path))
}

// wikiListen opens the socket where it is safe.
func wikiListen(ctx context.Context, d *deps, f wikiServeOptions) (net.Listener, error) {
	network, address := "tcp", f.listen
	if path, ok := strings.CutPrefix(f.listen, "unix:"); ok {
		network, address = "unix", abs(d, path)
		if info, err := os.Lstat(address); err == nil && info.Mode()&os.ModeSocket != 0 {
			c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, address)
			switch {
			case err == nil:
				c.Close()
			case errors.Is(err, syscall.ECONNREFUSED): // one that has too many callers says something else
				os.Remove(address) // of a server that is no more
			}
		}
	}
	if (f.cert == "") != (f.key == "") {
		return nil, usageError(fmt.Errorf("--cert and --key go together"))
	}
	if why := wiki.Insecure(network, address, f.cert != ""); why != "" {
		if !f.insecure {
			return nil, usageError(fmt.Errorf("--listen %s: %s, or --insecure", f.listen, why))
		}
		sayErr(d, "warning: %s", why)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if network == "unix" {
		os.Chmod(address, 0o600)
	}
	secured, err := serverTLS(d, f.cert, f.key)
	switch {
	case err != nil:
		return nil, errors.Join(err, l.Close())
	case secured == nil:
		return l, nil
	}
	return tls.NewListener(l, secured), nil
}

// wikiManager opens the cluster to present.
func wikiManager(d *deps, s *wiki.Server, f wikiServeOptions) (end func() error, err error) {
	switch {
	case (f.lrms == "") == (f.resources == ""):
		return nil, usageError(fmt.Errorf("give either --lrms URL or --resources FILE"))
	case f.lrms != "" && (f.workload != "" || f.journal != ""):
		return nil, usageError(fmt.Errorf("--workload and --journal are for --resources"))
	case f.control && f.lrms == "":
		return nil, usageError(fmt.Errorf("--control is for --lrms"))
	case f.lrms == "":
		c, err := simulatedCluster(d, f)
		if err != nil {
			return nil, usageError(err)
		}
		s.Manager = c
		return c.Close, nil
	}
	q, done, err := lrmsReader(d, f.lrms)
	if err != nil {
		return nil, usageError(err)
	}
	if f.control {
		if q, err = handed(q, f.lrms); err != nil {
			return nil, errors.Join(err, done())
		}
	}
	s.Manager = &wiki.Presented{Reader: q}
	return func() error {
		if c, ok := q.(io.Closer); ok {
			return errors.Join(c.Close(), done())
		}
		return done()
	}, nil
}

// handed is a batch system that starts jobs when it is told to.
func handed(q plugins.QueueReader, rawURL string) (plugins.QueueReader, error) {
	if h, ok := q.(interface{ Handed() plugins.QueueReader }); ok {
		q = h.Handed()
		if t, ok := q.(interface{ Take() error }); ok {
			return q, t.Take()
		}
		return q, nil
	}
	return nil, usageError(fmt.Errorf("--control: %s starts its jobs itself", rawURL))
}

// simulatedCluster sets the cluster of the traces up, or goes on with that of
// the journal.
func simulatedCluster(d *deps, f wikiServeOptions) (*wiki.Cluster, error) {
	traced, err := readTraceFile(abs(d, f.resources), maui.ReadResources)
	if err != nil {
		return nil, err
	}
	nodes := make([]wiki.Node, len(traced))
	for i, n := range traced {
		nodes[i] = wiki.Node{Node: n.Node, Free: -1}
	}
	c := wiki.NewCluster(nodes, d.env.Now)
	if f.journal != "" {
		if err := os.MkdirAll(filepath.Dir(abs(d, f.journal)), 0o700); err != nil {
			return nil, err
		}
		n, err := c.Journal(abs(d, f.journal))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			sayErr(d, "going on with %d jobs of %s", n, f.journal)
			return c, nil
		}
	}
	if f.workload == "" {
		return c, nil
	}
	jobs, err := readTraceFile(abs(d, f.workload), maui.ReadWorkload)
	if err != nil {
		return nil, err
	}
	return c, submitTraced(c, jobs, d.env.Now())
}

// submitTraced puts the jobs of a trace in the queue, the first at a time.
func submitTraced(c *wiki.Cluster, jobs []maui.TraceJob, at time.Time) error {
	slices.SortStableFunc(jobs, func(a, b maui.TraceJob) int { return int(a.Queued - b.Queued) })
	for i := range jobs {
		j, run := jobs[i].Job, jobs[i].Ended-jobs[i].Started
		if run <= 0 {
			continue
		}
		j.Queued += at.Unix() - jobs[0].Queued
		j.State, j.Started, j.TaskList, j.Partitions = maui.JobIdle, 0, nil, nil
		if err := c.Submit(wiki.Job{Job: j}, time.Duration(min(run, longestTask))*time.Second); err != nil {
			return err
		}
	}
	return nil
}
