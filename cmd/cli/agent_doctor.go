package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/batch"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/scheduler"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

func agentDoctorCmd(d *deps) *cobra.Command {
	var f agentRunOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What this account may do at the batch system, and whether the scheduler lets it in",
		Long: `Doctor looks at the batch system as grid agent run would, foresees its schedule,
checks what the way of starting guests needs, and publishes one schedule, where
all is well and none is there that an agent published. It takes the flags of
grid agent run, and may be run beside it.`,
		Example: `  grid agent doctor --lrms slurm: --cluster cluster1 --scheduler https://scheduler.example.org:6120`,
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runAgentDoctor(cmd.Context(), d, f) },
	}
	agentFlags(d, cmd, &f)
	return cmd
}

func runAgentDoctor(ctx context.Context, d *deps, f agentRunOptions) error {
	ag, end, err := newAgent(d, f)
	if err != nil {
		return err
	}
	defer end()
	ag.Log = slog.New(slog.DiscardHandler)
	l := &checklist{d: d, over: ctx.Err}
	say := l.try
	began := time.Now()
	state, err := ag.Reader.Queue(ctx)
	took := time.Since(began)
	say(err, "look at %s (%d nodes, %d jobs, in %d ms)", f.lrms, len(state.Nodes), len(state.Jobs), took.Milliseconds())
	if err == nil {
		checkOffer(f, state, took, say)
		fc, err := ag.Forecast.Forecast(state)
		slots := 0
		if err == nil {
			slots = len(fc.Slots(f.horizon))
		}
		say(err, "foresee its schedule: %d stretches of free processors in %v", slots, f.horizon)
	}
	guestRights(ctx, ag.Reader, f, say)
	if ag.Conf.Site.Start == wire.Reservation && ag.Reserve != nil {
		_, err := ag.Reserve.Reserved(ctx, "gras_")
		say(err, "list reservations")
		say(tryReservation(ctx, d, ag.Reserve, state.Nodes), "make and remove a reservation (needs an operator's account)")
	}
	for _, end := range agentEnds(d, f).list() {
		if end.Soon(d.env.Now()) {
			say(errEnds, "%s", end)
		}
	}
	agent.AskReplicas(ctx, ag, func(replica string, err error) { say(err, "ask %s", replica) })
	tryPublish(ctx, ag, f, l, watchClock(ag.HTTP, d.env.Now))
	return l.end("agent.doctor")
}

// checkOffer tells of flags by which nobody could be booked.
func checkOffer(f agentRunOptions, s batch.State, took time.Duration, say func(error, string, ...any)) {
	if err := agent.CheckQueue(f.queue, s); err != nil {
		say(err, "offer nodes to guests")
	}
	if err := scheduler.TryFunction(f.function); err != nil {
		say(err, "ask the owner's function %s", f.function)
	}
	if between := max(f.poll, lookPause*took); f.ttl <= between {
		say(fmt.Errorf("it looks every %v, and what it tells may be used for %v: say a longer --ttl", between.Round(time.Second), f.ttl), "publish in time")
	}
}

// lookPause is how many times what a look took an agent pauses until the next one.
const lookPause = 10

// tryPublish publishes one schedule where none is that may be used: what an agent that runs has published is what jobs are booked by,
// and stays. Nor is one published that is not what the agent would publish.
func tryPublish(ctx context.Context, ag *agent.Agent, f agentRunOptions, l *checklist, clock *clockWatch) {
	had, err := agent.Published(ctx, ag)
	clock.check(l, f.scheduler)
	switch {
	case f.scheduler == "":
	case err != nil:
		l.try(err, "publish to %s as %s", f.scheduler, f.cluster)
	case had.Good > 0:
		l.try(nil, "publish to %s as %s: this account may; what an agent has published holds for %ds more, and was left as it is", f.scheduler, f.cluster, had.Good)
	case l.failed():
		l.try(errUnfit, "publish to %s as %s: this account may", f.scheduler, f.cluster)
	default:
		l.try(ag.Step(ctx), "publish to %s as %s", f.scheduler, f.cluster)
	}
}

var errUnfit = errors.New("nothing was published, as not all is well here")

// guestRights says what the account may do at a batch system that can tell.
func guestRights(ctx context.Context, reader plugins.QueueReader, f agentRunOptions, say func(error, string, ...any)) {
	checker, ok := reader.(plugins.GuestChecker)
	if !ok {
		return
	}
	guests := plugins.Guests{Reservations: f.start == string(wire.Reservation), TTL: f.ttl}
	if f.start == string(wire.Partition) {
		guests.Partition = f.partition
	}
	findings, err := checker.CheckGuests(ctx, guests)
	say(err, "ask %s what this account may do", f.lrms)
	for _, finding := range findings {
		if finding.Bad {
			say(errNotSo, "%s", finding.Text)
		} else {
			say(nil, "%s", finding.Text)
		}
	}
}

var errNotSo = errors.New("that keeps guests from starting in time, or takes more from local jobs than the TTL")

var errEnds = errors.New("renew it")

// tryReservation makes a reservation of a minute, a day from now, and removes it.
func tryReservation(ctx context.Context, d *deps, r plugins.Reserver, nodes []batch.Node) error {
	if len(nodes) == 0 {
		return errors.New("no nodes are seen")
	}
	from := d.env.Now().Add(24 * time.Hour)
	k := plugins.Kept{From: from, To: from.Add(time.Minute), CPUs: map[string]int{nodes[0].Name: 1}}
	err := r.Reserve(ctx, "gras_doctor", k)
	if err != nil && ctx.Err() == nil {
		return err
	}
	// Whoever is interrupted leaves none behind either, also where it may have been made before the answer came.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()
	return errors.Join(err, r.Release(ctx, "gras_doctor"))
}
