package scheduler

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// hasty is a site that cannot be told when a job is to begin.
type hasty struct{ *simSite }

// Submit implements plugins.Submitter.
func (h hasty) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	reqs = slices.Clone(reqs)
	for i := range reqs {
		b := *reqs[i].Booking
		b.Begin, b.Deadline = 0, 0
		reqs[i].Booking = &b
	}
	return h.simSite.Submit(ctx, reqs, p)
}

// Where a site cannot be told when jobs are to begin they are sent for their slots, whatever way its agent names: sent ahead
// they would begin before them.
func TestNobodyBeginsBeforeHisSlot(t *testing.T) {
	for _, way := range []wire.Way{wire.Begin, wire.Partition} {
		w := newWorld(t, sqliteDSN(t), 3, 0, 6)
		w.sites["c0"].start = way
		at := w.conf.Clusters["c0"]
		at.AtOnce = true
		w.conf.Clusters["c0"] = at
		open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
			reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c0"}}, Submitter: hasty{w.sites["c0"]}})
			return reg, func() {}, err
		}
		w.s = New(w.conf, w.store, open, func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
		w.s.setLead(w.epoch)
		w.step(30)
		id := w.submit("alice", "k", 60)
		for w.job(id).State != Done && w.now.Sub(simEpoch) < time.Hour {
			w.step(1)
		}
		j := w.job(id)
		if off := j.Started - j.Booking.From; j.State != Done || off < -2 || j.Booking.From-j.Booking.Made < 20 {
			t.Errorf("%s: it is %s, booked %d s ahead, and began %d s from its slot", way, j.State, j.Booking.From-j.Booking.Made, off)
		}
	}
}
