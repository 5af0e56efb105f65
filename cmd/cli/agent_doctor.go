package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/batch"
	"gridbroker/forecast/agent"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

func agentDoctorCmd(d *deps) *cobra.Command {
	var f agentRunOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What this account may do at the batch system, and whether the scheduler lets it in",
		Long: `Doctor looks at the batch system as grid agent run would, foresees its schedule,
checks what the way of starting guests needs, and publishes one schedule. It
takes the flags of grid agent run.`,
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
	l := &checklist{d: d}
	say := l.try
	began := time.Now()
	state, err := ag.Reader.Queue(ctx)
	say(err, "look at %s (%d nodes, %d jobs, in %d ms)", f.lrms, len(state.Nodes), len(state.Jobs), time.Since(began).Milliseconds())
	if err == nil {
		fc, err := ag.Forecast.Forecast(state)
		slots := 0
		if err == nil {
			slots = len(fc.Slots(f.horizon))
		}
		say(err, "foresee its schedule: %d stretches of free processors in %v", slots, f.horizon)
	}
	guestRights(ctx, ag.Reader, f, say)
	if f.start == string(wire.Reservation) && ag.Reserve != nil {
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
	say(ag.Step(ctx), "publish to %s as %s", f.scheduler, f.cluster)
	return l.end("agent.doctor")
}

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
	if err := r.Reserve(ctx, "gras_doctor", k); err != nil {
		return err
	}
	return r.Release(ctx, "gras_doctor")
}
