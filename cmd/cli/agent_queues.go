package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/infosys"
	"gridbroker/plugins"
	"gridbroker/plugins/queuelen"
)

type agentQueuesOptions struct {
	lrms, listen, cert, key string
	maxAge                  time.Duration
}

func agentQueuesCmd(d *deps) *cobra.Command {
	var f agentQueuesOptions
	cmd := &cobra.Command{
		Use:   "queues",
		Short: "Serve the current lengths of a batch system's queues",
		Long: `Queues answers every GET with a JSON document of all queues (how many jobs wait
and run in each), and every POST of a SOAP echo request with the echoResponse of
the published hybrid broker (lrmstype, qlen). However many ask, the batch system
is asked once per --max-age. It runs until it is interrupted.

Without --cert it listens on loopback addresses only; put it behind the site's
web server, or give it a certificate.`,
		Example: `  grid agent queues --lrms slurm:
  grid agent queues --lrms slurm+ssh://login.example.org --listen :6110 --cert host.pem --key host.key
  curl http://127.0.0.1:6110/`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgentQueues(cmd.Context(), d, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.lrms, "lrms", "slurm:", "`URL` of the batch system: "+urlForms(d))
	fl.StringVar(&f.listen, "listen", "127.0.0.1:6110", "`address` to listen on")
	fl.StringVar(&f.cert, "cert", "", "TLS certificate `file` (PEM)")
	fl.StringVar(&f.key, "key", "", "its private key `file`")
	lengthVar(fl, &f.maxAge, "max-age", 5*time.Second, "serve an answer again for this `time`")
	return cmd
}

func runAgentQueues(ctx context.Context, d *deps, f agentQueuesOptions) error {
	read, end, err := queueReader(d, f.lrms)
	if err != nil {
		return usageError(err)
	}
	defer end()
	secured, err := serverTLS(d, f.cert, f.key)
	if err != nil {
		return err
	}
	l, err := listen(ctx, f.listen, secured != nil)
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler:     perAddress(&queuelen.Server{Read: read, MaxAge: f.maxAge, Now: d.env.Now}),
		ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: complaints(d),
		TLSConfig: secured,
	}
	serving(d, "agent queues", l.Addr().String(), fmt.Sprintf("grid: queue lengths of %s on %s", f.lrms, l.Addr()))
	return serveOn(ctx, srv, l, addressAtOnce)
}

// listen opens the port. Without TLS only this machine may ask.
func listen(ctx context.Context, address string, tls bool) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if at, ok := l.Addr().(*net.TCPAddr); !tls && (!ok || !at.IP.IsLoopback()) {
		l.Close()
		return nil, usageError(fmt.Errorf("--listen %s: without --cert and --key only a loopback address", address))
	}
	return l, nil
}

// queueReader opens a batch system, or a source that publishes lengths, by its URL.
func queueReader(d *deps, raw string) (read func(context.Context) (queuelen.Answer, error), end func() error, err error) {
	l, err := openLRMS(d, raw)
	if err != nil {
		return nil, nil, err
	}
	if o, ok := l.back.Submitter.(plugins.QueueOpener); ok {
		q, err := o.QueueReader(raw)
		if err != nil {
			return nil, nil, errors.Join(err, l.reg.Close())
		}
		lrms := l.back.Name
		if named, ok := q.(interface{ LRMS() string }); ok {
			lrms = named.LRMS()
		}
		return func(ctx context.Context) (queuelen.Answer, error) {
			state, err := q.Queue(ctx)
			return queuelen.FromState(state, lrms), err
		}, l.reg.Close, nil
	}
	src, err := opener(d, l.config, l.reg, discovery{}).Open(raw)
	if err != nil {
		return nil, nil, errors.Join(err, l.reg.Close())
	}
	return func(ctx context.Context) (queuelen.Answer, error) { return sourceLengths(ctx, src, d.env.Now()) }, l.reg.Close, nil
}

// sourceLengths counts the queues a source publishes.
func sourceLengths(ctx context.Context, src infosys.Source, now time.Time) (queuelen.Answer, error) {
	rs, err := src.Resources(ctx)
	answer := queuelen.Answer{At: now}
	for _, r := range rs {
		answer.LRMS = r.LRMS
		answer.Queues = append(answer.Queues, queuelen.Queue{Name: r.Queue, Waiting: r.Waiting.V, Running: r.Running.V})
	}
	return answer, err
}
