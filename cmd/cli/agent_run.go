package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/batch"
	"gridbroker/credential"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/scheduler"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

type agentRunOptions struct {
	lrms, scheduler, cluster, queue, start, partition, function, policy string
	gridmap, listen, cert, key, tokenFile, memory                       string
	ttl, poll, maxGuest, horizon                                        time.Duration
	speed                                                               float64
	names, outOfTurn                                                    bool
	beside                                                              bool
	turns, spare                                                        int
	vos                                                                 []string
}

func agentRunCmd(d *deps) *cobra.Command {
	var f agentRunOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Follow a batch system and publish the slots foreseen to a central scheduler",
		Long: `Run looks at the batch system about once a second, foresees its schedule, and
publishes to the scheduler what has changed: the free time of every node with
the chance that it holds, the local schedule, queue lengths, and what the site
offers. It needs no rights but those to look; with --start reservation it makes
the reservations that the scheduler books and needs those of an operator. See
docs/operators.md, and try grid agent doctor first.

With --listen it tells brokers when jobs would start (POST /forecast), queue
lengths (/queues) and slots (/slots) from its model, and its figures (/metrics);
without --scheduler it does only that. Starts are told with quantiles that it
learns from each local job that starts (docs/forecasts.md).
What it learned and published it keeps in a file, and goes on from there.

It shows the certificate at hand (X509_USER_CERT, X509_USER_PROXY; over https alone),
or the token of --token-file.`,
		Example: `  grid agent run --lrms slurm: --cluster cluster1 --scheduler https://scheduler.example.org:6120 --ttl 10m
  grid agent run --lrms slurm: --cluster cluster1 --listen 127.0.0.1:6111
  grid agent run --lrms local: --cluster here --scheduler http://127.0.0.1:6120 --start plain --token-file agent.token`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgent(cmd.Context(), d, f) },
	}
	agentFlags(d, cmd, &f)
	return cmd
}

func agentFlags(d *deps, cmd *cobra.Command, f *agentRunOptions) {
	fl := cmd.Flags()
	fl.StringVar(&f.lrms, "lrms", "slurm:", "`URL` of the batch system: "+queueForms(d))
	fl.StringVar(&f.scheduler, "scheduler", "", "`URL` of the scheduler's API, or those of its replicas with commas between (default: nothing is published, see --listen)")
	fl.StringVar(&f.cluster, "cluster", "", "`name` of this cluster at the scheduler")
	fl.StringVar(&f.queue, "queue", "", "offer nodes of this `queue` only")
	fl.StringVar(&f.start, "start", "", "`way` in which guests get their slots: plain, begin, partition, reservation (default begin; plain where jobs cannot be told when to begin)")
	fl.StringVar(&f.partition, "partition", "", "the guests' `partition`, with --start partition")
	fl.StringVar(&f.function, "function", "", "priority function: an `expression` of priority, procs, wall, hour, waiting ... (default: priority)")
	fl.StringVar(&f.policy, "policy", autoPolicy, "the batch system's own `policy`, as grid sim queue names it; auto: what it says, else what fits what is seen to start")
	fl.StringVar(&f.gridmap, "gridmap", "", "grid-mapfile, a `file`, of who may run here (default: everybody)")
	fl.StringSliceVar(&f.vos, "vo", nil, "`VO` or FQAN whose members may run here; may be repeated")
	lengthVar(fl, &f.ttl, "ttl", 2*time.Minute, "for how long a schedule may be used")
	lengthVar(fl, &f.maxGuest, "max-guest", 0, "longest `time` of a guest; 0: no limit")
	fl.IntVar(&f.turns, "turns", 0, "`N` guests may wait in the queue for their turn among the local jobs, where no slot is as good (with --start plain and begin; 0: none, guests have slots alone)")
	fl.BoolVar(&f.beside, "beside", false, "guests may begin in what is free also while local jobs wait for room there (with --start partition they may in any case)")
	fl.IntVar(&f.spare, "spare", agent.DefaultSpare, "keep free `PERCENT` of the processors for local jobs that come (with --start partition none: guests give way)")
	lengthVar(fl, &f.poll, "poll", time.Second, "at least this `time` between two looks")
	lengthVar(fl, &f.horizon, "horizon", 6*time.Hour, "publish slots so far ahead")
	fl.Float64Var(&f.speed, "speed", 1, "`speed` of the nodes, relative to others")
	fl.BoolVar(&f.names, "names", false, "publish the names of local users")
	fl.BoolVar(&f.outOfTurn, "out-of-turn", false, "guests may take turns of local jobs of lower priority")
	fl.StringVar(&f.tokenFile, "token-file", "", "show the token in this `file`")
	fl.StringVar(&f.listen, "listen", "", "serve forecasts, queue lengths, slots and figures on this `address`")
	fl.StringVar(&f.memory, "memory", "", "keep what was learned and published in this `file` (default: agent-CLUSTER.json beside the job records)")
	fl.StringVar(&f.cert, "cert", "", "TLS certificate `file` for --listen")
	fl.StringVar(&f.key, "key", "", "its private key `file`")
}

// site is what is published of the site besides its nodes.
func (f agentRunOptions) site(backends []plugins.Backend, users []string) (s wire.Site, err error) {
	if f.start, err = startWay(backends, f.lrms, f.start); err != nil {
		return s, err
	}
	s = wire.Site{Start: wire.Way(f.start), Partition: f.partition, MaxGuest: int64(f.maxGuest / time.Second), Function: f.function,
		Users: users, VOs: f.vos, Speed: f.speed, OutOfTurn: f.outOfTurn, Queue: f.queue, Endpoint: f.lrms, Agent: version()}
	s.LRMS, _, _ = strings.Cut(f.lrms, ":")
	s.LRMS = strings.TrimSuffix(s.LRMS, "+ssh")
	switch s.Start {
	case wire.Plain, wire.Begin, wire.Reservation:
	case wire.Partition:
		if f.partition == "" {
			return s, errors.New("--start partition: name it with --partition")
		}
	default:
		return s, fmt.Errorf("--start %s: say plain, begin, partition or reservation", f.start)
	}
	if f.turns < 0 || f.turns > 1<<20 {
		return s, fmt.Errorf("--turns %d: say 0 to %d", f.turns, 1<<20)
	}
	if f.turns > 0 && s.Start != wire.Plain && s.Start != wire.Begin {
		return s, fmt.Errorf("--turns %d: with --start %s guests do not wait among local jobs", f.turns, s.Start)
	}
	if f.spare < 0 || f.spare > 100 {
		return s, fmt.Errorf("--spare %d: say 0 to 100", f.spare)
	}
	if f.ttl < time.Second || f.ttl > 24*time.Hour {
		return s, fmt.Errorf("--ttl %v: say 1s to 24h", f.ttl)
	}
	if err := scheduler.CheckFunction(f.function); err != nil {
		return s, fmt.Errorf("--function %q: want an expression whose value is a number: %w", f.function, err)
	}
	return s, nil
}

// startWay is the way in which guests get their slots, of those that there are with a batch system. One that is only read, and
// whose jobs another back-end sends, has all.
func startWay(backends []plugins.Backend, lrms, named string) (string, error) {
	scheme, _, _ := strings.Cut(lrms, ":")
	plain := slices.ContainsFunc(backends, func(b plugins.Backend) bool {
		return slices.Contains(b.Schemes, strings.ToLower(scheme)) && !b.Begins && !b.ReadOnly
	})
	switch {
	case named == "" && plain:
		return string(wire.Plain), nil
	case named == "":
		return string(wire.Begin), nil
	case plain && (named == string(wire.Begin) || named == string(wire.Partition)):
		return "", fmt.Errorf("--start %s: jobs cannot be told when to begin at %s; say plain", named, lrms)
	}
	return named, nil
}

// newAgent makes an agent of the flags; end closes what it uses.
func newAgent(d *deps, f agentRunOptions) (ag *agent.Agent, end func() error, err error) {
	users, err := gridmap(d, f.gridmap)
	if err != nil {
		return nil, nil, usageError(err)
	}
	site, err := f.site(d.env.Backends, users)
	if err != nil {
		return nil, nil, usageError(err)
	}
	if f.cluster == "" || f.scheduler == "" && f.listen == "" {
		return nil, nil, usageError(errors.New("name the cluster, and the scheduler or, to answer brokers alone, an address: --cluster NAME with --scheduler URL or --listen ADDRESS"))
	}
	reader, end, err := lrmsReader(d, f.lrms)
	if err != nil {
		return nil, nil, usageError(err)
	}
	var client *http.Client // nil: nothing is told to a scheduler
	base := ""
	if f.scheduler != "" {
		client, base, err = agentClient(d, f.scheduler, f.tokenFile != "")
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	policy, err := f.local()
	if err != nil {
		return nil, nil, errors.Join(usageError(err), end())
	}
	level := slog.LevelWarn
	if d.verbose > 0 {
		level = slog.LevelInfo
	}
	ag = &agent.Agent{
		Conf:   agent.Config{Cluster: f.cluster, Scheduler: base, Queue: f.queue, TTL: f.ttl, Poll: f.poll, Horizon: f.horizon, Site: site, Names: f.names, Turns: f.turns, Beside: f.beside, Spare: f.spare},
		Reader: reader, Forecast: &batch.Forecaster{Policy: policy, Belief: batch.Estimate{}, Errors: &batch.Errors{}}, HTTP: client, Now: d.env.Now,
		Log: slog.New(slog.NewTextHandler(d.env.Err, &slog.HandlerOptions{Level: level})),
	}
	if ag.Token, err = f.token(d); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	ag.Account, _ = reader.(agent.Accountant)
	f.govern(ag, reader)
	if site.Start == wire.Reservation {
		var can bool
		if ag.Reserve, can = reader.(plugins.Reserver); !can {
			err = errors.Join(usageError(fmt.Errorf("--start reservation: none can be made at %s", f.lrms)), end())
		}
	}
	return ag, end, err
}

// token reads the token file anew at each call; nil without one.
func (f agentRunOptions) token(d *deps) (read func() (string, error), err error) {
	if f.tokenFile != "" {
		read = func() (string, error) { return secretText(d, abs(d, f.tokenFile)) }
		_, err = read()
	}
	return read, err
}

// autoPolicy is the policy that the batch system tells, or that is found out.
const autoPolicy = "auto"

// local is the policy that an agent begins with.
func (f agentRunOptions) local() (batch.Policy, error) {
	p := batch.Policy{Name: f.policy}
	if f.policy == autoPolicy {
		p = agent.Candidates()[0]
	}
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("--policy: %w; or auto", err)
	}
	return p, nil
}

// govern says whence an agent knows the policy: one that is named stays, but for
// the parameters of slurm.
func (f agentRunOptions) govern(ag *agent.Agent, reader plugins.QueueReader) {
	rules, tells := reader.(plugins.RulesReader)
	if tells && (f.policy == autoPolicy || f.policy == "slurm") {
		ag.Rules = rules
	}
	ag.Infer = !tells && f.policy == autoPolicy
}

// agentMemory is the file that an agent keeps its memory in.
func agentMemory(d *deps, f agentRunOptions) (string, error) {
	if f.memory != "" {
		return abs(d, f.memory), credential.OwnedPlace(credentialEnv(d), abs(d, f.memory))
	}
	c, err := loadConfig(d)
	if err != nil {
		return "", err
	}
	dir := stateDir(d, c)
	name := strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' {
			return '_'
		}
		return r
	}, f.cluster)
	return filepath.Join(dir, "agent-"+name+".json"), ownedDir(d, dir)
}

// lrms is a batch system that an agent looks at.
type lrms struct {
	config config
	reg    *plugins.Registry // to be closed
	back   plugins.Opened
}

// openLRMS finds the back-end for a batch system's URL.
func openLRMS(d *deps, raw string) (*lrms, error) {
	c, err := loadConfig(d)
	if err != nil {
		return nil, err
	}
	reg, err := openBackends(d, c)
	if err != nil {
		return nil, err
	}
	back, ok := reg.ForURL(raw)
	if !ok {
		return nil, errors.Join(usageError(fmt.Errorf("--lrms %s: no such kind of batch system (%s)", raw, urlForms(d))), reg.Close())
	}
	return &lrms{config: c, reg: reg, back: back}, nil
}

// lrmsReader opens a batch system for looking at its jobs.
func lrmsReader(d *deps, raw string) (plugins.QueueReader, func() error, error) {
	l, err := openLRMS(d, raw)
	if err != nil {
		return nil, nil, err
	}
	o, ok := l.back.Submitter.(plugins.QueueOpener)
	if !ok {
		return nil, nil, errors.Join(usageError(fmt.Errorf("--lrms %s: no batch system whose queue can be read (%s)", raw, queueForms(d))), l.reg.Close())
	}
	q, err := o.QueueReader(raw)
	if err != nil {
		return nil, nil, errors.Join(err, l.reg.Close())
	}
	return q, l.reg.Close, nil
}

// agentClient speaks to the scheduler with the credential at hand, beside a token where there is one.
// The URLs of several replicas have commas between them, as those that it returns.
func agentClient(d *deps, raw string, token bool) (*http.Client, string, error) {
	t := credential.Wary(&http.Transport{IdleConnTimeout: 2 * time.Minute})
	var bases []string
	shown := true
	for one := range strings.SplitSeq(raw, ",") {
		u, err := url.Parse(strings.Replace(strings.Replace(strings.TrimSpace(one), "grid+http://", "http://", 1), "grid://", "https://", 1))
		if err != nil {
			return nil, "", usageError(err)
		}
		certificate := false
		switch {
		case u.Scheme == "https" && u.Host != "":
			set, err := trusting(credentialSet(d))
			if err != nil {
				return nil, "", err
			}
			certificate = set.X509 != nil
			t.DialTLSContext = (&presented{d: d, set: set}).dial
		case u.Scheme != "http" || !credential.ThisMachine(u.Hostname()):
			return nil, "", usageError(fmt.Errorf("--scheduler %s: want https://host:port, or http:// on this machine; several replicas with commas between", raw))
		}
		shown = shown && (token || certificate)
		bases = append(bases, u.Scheme+"://"+u.Host)
	}
	if !shown {
		return nil, "", &exitError{exitCredential, fmt.Errorf("--scheduler %s: it would not listen to an agent that does not show who it is: name a token's file with --token-file, or, over https, a certificate with X509_USER_CERT and X509_USER_KEY", raw)}
	}
	return &http.Client{Transport: t, Timeout: time.Minute, CheckRedirect: noRedirect}, strings.Join(bases, ","), nil
}

// presented is what an agent shows at each new connection: the credential that is there by then, for it
// runs longer than any is good for. Where there is none that can be read it is that of before.
type presented struct {
	d   *deps
	mu  sync.Mutex
	set *credential.Set
}

func (s *presented) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.now().DialTLS(ctx, network, addr)
}

func (s *presented) now() *credential.Dialer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if set, err := trusting(credentialSet(s.d)); err == nil && (set.X509 != nil || s.set.X509 == nil) {
		s.set = set
	}
	return s.set.Dialer(unexpired(s.d, s.set.X509))
}

// gridmap reads the subjects of a grid-mapfile: "subject" account.
func gridmap(d *deps, path string) (users []string, err error) {
	if path == "" {
		return nil, nil
	}
	text, err := readNamed(abs(d, path))
	if err != nil {
		return nil, err
	}
	for s, n := bufio.NewScanner(bytes.NewReader(text)), 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		subject, _, ok := strings.Cut(strings.TrimPrefix(line, `"`), `"`)
		if !ok || line[0] != '"' {
			return nil, fmt.Errorf("%s:%d: want \"subject\" account", path, n)
		}
		users = append(users, subject)
	}
	return users, nil
}

func runAgent(ctx context.Context, d *deps, f agentRunOptions) error {
	ag, end, err := newAgent(d, f)
	if err != nil {
		return err
	}
	defer end()
	if ag.Conf.Memory, err = agentMemory(d, f); err != nil {
		return err
	}
	ag.Meter = agent.NewMetrics()
	ending := agentEnds(d, f)
	if f.listen != "" {
		secured, err := serverTLS(d, f.cert, f.key)
		if err != nil {
			return err
		}
		ending.serves(secured)
		l, err := listen(ctx, f.listen, secured != nil)
		if err != nil {
			return err
		}
		go serveAgent(ctx, d, l, ag, secured)
		f.listen = l.Addr().String()
	}
	text := fmt.Sprintf("grid: agent of %s (%s)", f.cluster, f.lrms)
	if f.scheduler != "" {
		text += ", publishing to " + f.scheduler
	}
	if f.listen != "" {
		text += ", answering brokers on " + f.listen
	}
	serving(d, "agent run", f.listen, text)
	go ending.watch(ctx, d.env.Now, ag.Log, ag.Meter.NoteEnd)
	return ag.Run(ctx)
}

// serveAgent tells brokers what the model says.
func serveAgent(ctx context.Context, d *deps, l net.Listener, ag *agent.Agent, secured *tls.Config) {
	srv := &http.Server{Handler: perAddress(ag.Handler()), ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 16 << 10, TLSConfig: secured, ErrorLog: complaints(d)}
	if err := serveOn(ctx, srv, l, addressAtOnce); err != nil {
		sayErr(d, "%v", err)
	}
}

// noRedirect keeps who answers from sending requests to places that are not its own.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
