package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// submitted takes a job into memory.
func (w news) submitted(ctx context.Context, m *message) error {
	ids, err := said[[]string](m)
	if err != nil {
		return err
	}
	list, err := w.h.queue.these(ctx, ids)
	for _, j := range list {
		w.mem.jobs.enter(j)
	}
	return err
}

// cancel ends a job wherever it is.
func (w news) cancel(ctx context.Context, id string) error {
	j := w.mem.jobs.job(id)
	if j == nil || j.Cancel {
		return nil
	}
	j.Cancel = true
	w.change(j)
	w.say(j, "", "cancel", "asked for")
	switch j.State {
	case Waiting:
		w.final(j, Cancelled, onRequest)
	case Booked:
		return w.cancelBooked(ctx, j)
	case Sent, Running:
		w.do(j, end, w.now.Unix())
	}
	return nil
}

const onRequest = "cancelled on request"

// cancelBooked ends a job that nobody has begun to send, at once: its slot is free
// and its fee given back. Where a launch is under way, or was tried, that finds
// out what is at the site first; it is due now.
func (w news) cancelBooked(ctx context.Context, j *Job) error {
	unsent, err := w.unsend(ctx, j, "cancelled")
	if unsent {
		w.final(j, Cancelled, onRequest)
	}
	return err
}

// unsend takes its booking from a job that nobody has begun to send; false: somebody may have.
func (w news) unsend(ctx context.Context, j *Job, why string) (bool, error) {
	key := string(launch) + "/" + j.request()
	doubt, err := w.h.reign.doubtful(ctx, j)
	if err != nil {
		return false, err
	}
	if !doubt {
		dropped, err := w.h.actions.drop(ctx, j.ID, key)
		if err != nil {
			return false, err
		}
		if dropped {
			w.release(j, 0, why)
			j.Booking = nil
			return true, nil
		}
	}
	return false, w.h.actions.hurry(ctx, j.ID, key, w.now.Unix())
}

// remove forgets a job that has ended, its files and all, as soon as its site has.
func (w news) remove(ctx context.Context, id string) error {
	if j := w.mem.jobs.job(id); j != nil {
		return w.cancel(ctx, id)
	}
	if _, err := w.h.exec(ctx, "delete from file where job = $1", id); err != nil {
		return err
	}
	if err := w.h.bookings.remove(ctx, id); err != nil {
		return err
	}
	if err := forgetAtSite(ctx, w.h, id, w.now); err != nil {
		return err
	}
	w.log = append(w.log, Entry{At: millis(w.now), Job: id, Who: "scheduler", Event: "forgotten"})
	return nil
}

// refresh gives a waiting job another description or priority. One that is
// booked already keeps what it has.
func (w news) refresh(ctx context.Context, m *message) error {
	r, err := said[refreshed](m)
	if err != nil {
		return err
	}
	j := w.mem.jobs.job(r.Job)
	if r.Hold != nil {
		return w.hold(ctx, j, r)
	}
	if j == nil || j.State != Waiting {
		w.log = append(w.log, Entry{At: millis(w.now), Job: r.Job, Who: r.Who, Event: "refresh refused", Said: "the job does not wait any more"})
		return nil
	}
	before := j.Priority
	var changed []string
	if r.JDL != "" {
		said, err := newReading(r.JDL)
		if err == nil {
			err = j.describe(said)
		}
		if err != nil {
			w.say(j, "", "refresh refused", "%v", err)
			return nil
		}
		changed = append(changed, "another description")
	}
	if r.Priority != nil {
		j.Priority = *r.Priority
	}
	if j.Priority != before {
		changed = append(changed, fmt.Sprintf("priority %g, before %g", j.Priority, before))
	}
	j.Outlook = nil
	w.change(j)
	w.log = append(w.log, Entry{At: millis(w.now), Job: r.Job, Who: r.Who, Event: "refreshed", Said: strings.Join(changed, ", ")})
	return nil
}

// drain opens or closes a cluster.
func (w news) drain(m *message) error {
	d, err := said[drained](m)
	if err != nil {
		return err
	}
	c := w.mem.clusters[d.Cluster]
	if c == nil {
		return nil
	}
	c.drained, c.changed = d.Drained, true
	event := "drained"
	if !d.Drained {
		event = "opened"
	}
	w.log = append(w.log, Entry{At: millis(w.now), Cluster: d.Cluster, Who: d.Who, Event: event})
	return nil
}

// slots brings a cluster's slots up to date. Where the leader's and the agent's
// sets have come apart, the agent is asked for all of them.
func (w news) slots(ctx context.Context, told *message) error {
	m, err := said[slotsMessage](told)
	if err != nil {
		return err
	}
	c := w.mem.clusters[m.Cluster]
	if c != nil && m.Full && m.Seq == uint64(c.seq) && m.Made == c.made && m.Digest == c.set.Digest() { // read with the table already
		w.s.store.fresh.take(m.Cluster, m.Digest)
		return nil
	}
	if m.Full || c == nil {
		return w.reload(ctx, m.Cluster, c)
	}
	d := w.s.store.fresh.next(&m)
	if d == nil && len(m.Delta) == 0 {
		return w.reload(ctx, m.Cluster, c)
	}
	if d == nil {
		var err error
		if d, err = wire.DecodeDelta(m.Delta, wire.DefaultLimits()); err != nil {
			return err
		}
	}
	if int64(d.Seq) <= c.seq { // read with the table already
		return nil
	}
	if err := c.set.Apply(d); isMismatch(err) {
		w.log = append(w.log, Entry{At: millis(w.now), Cluster: c.name, Who: "scheduler", Event: "resync", Said: err.Error()})
		c.torn = true
		return w.h.clusters.askAgain(ctx, c.name)
	} else if err != nil {
		return err
	}
	c.seq, c.made, c.ttl, c.stored = int64(d.Seq), d.Made, d.TTL, d.Made
	if len(d.Put)+len(d.Drop) > 0 || d.Full {
		c.listed = nil
	}
	if stirs(d) {
		w.stirred = append(w.stirred, c.name)
	}
	if d.Load != nil {
		c.load = *d.Load
	}
	if d.Site != nil {
		w.published(c, d.Site)
	}
	return nil
}

// published takes in what a site says of itself.
func (w news) published(c *cluster, site *wire.Site) {
	if asBefore(&c.site, site) {
		c.site = *site
		return
	}
	was := c.bare
	if w.mem.settle(c, *site, w.s.conf); c.bare != was {
		w.s.log.Warn("a cluster's nodes have more features than count: so many of them are taken for nodes without features and GPUs", "cluster", c.name, "nodes", c.bare)
	}
}

// reload reads a cluster anew. What was counted of its bookings stays: in this cycle, too.
func (w news) reload(ctx context.Context, name string, was *cluster) error {
	if err := w.mem.loadClusters(ctx, w.h, name, w.s.conf, &w.s.store.fresh); err != nil || was == nil {
		return err
	}
	c := w.mem.clusters[name]
	c.drained, c.hits, c.misses, c.trust, c.launchMS, c.changed = was.drained, was.hits, was.misses, was.trust, was.launchMS, was.changed
	if was.changed {
		c.sending = was.sending
	}
	return nil
}

// result takes in what became of an action.
func (w news) result(r result) {
	j := w.mem.jobs.job(r.Job)
	if j == nil || r.Key != string(r.Verb)+"/"+j.request() {
		return // of a booking that is over
	}
	switch r.Verb {
	case launch:
		w.launched(j, r)
	case found:
		foundAt(w.work, j, r)
	case withdraw:
		w.withdrawn(j, r)
	case end:
		if r.Status != nil {
			w.seen(*r.Status)
		}
	case collect:
		if j.State == Collecting {
			j.Output = r.Output
			if r.Said != "" {
				w.say(j, "", "output", "%s", r.Said)
			}
			w.final(j, j.Ending, j.Reason)
		}
	}
}

// How long a cluster is left alone after each kind of failure.
const (
	avoidBusy    = time.Minute
	avoidRefused = 10 * time.Minute
)

// took is the time from when a job was to be sent until it was at its site, and the leader knew.
func (c *cluster) took(now time.Time, j *Job, r result) time.Duration {
	due := j.Booking.Made
	if c.way == wire.Plain { // it waits for its slot
		due = max(due, c.due(j, j.Booking))
	}
	return max(time.Duration(now.Unix()-due)*time.Second, time.Duration(r.Seconds*float64(time.Second)))
}

func (w *work) launched(j *Job, r result) {
	if j.State != Booked {
		return
	}
	c := w.mem.clusters[j.Booking.Cluster]
	slow := tooSlow(w, j, r)
	if slow {
		slowly(w, j, r)
	}
	if r.Kind == 0 {
		j.State, j.Handle, j.Sent = Sent, r.Handle, w.now.Unix()
		j.Past = max(j.Past, r.Number)
		took := int64(1000 * r.Seconds)
		if c.site.Start == wire.Reservation { // the agent had to reserve first
			took = 1000 * (w.now.Unix() - j.Booking.Made)
		}
		c.launchMS = (7*c.launchMS + took) / 8
		if j.late(w.now.Add(-w.s.conf.Grace).Unix()) { // others may be late, too
			c.launchMS = max(c.launchMS, took)
		}
		whole := max(c.took(w.now, j, r), time.Millisecond) // none is unknown
		c.sending = max(whole, (7*c.sending+whole)/8)
		c.changed = true
		w.change(j)
		w.say(j, c.name, "sent", "accepted as %s", r.Handle.ID)
		if j.Cancel {
			w.do(j, end, w.now.Unix())
		} else if j.OnHold {
			w.takeBack(j)
		}
		return
	}
	if r.Kind == plugins.Invalid {
		w.release(j, 0, "invalid")
		w.final(j, Failed, r.Said)
		return
	}
	avoid := avoidBusy
	if r.Kind == plugins.Refused || r.Kind == plugins.Credential {
		avoid = avoidRefused
	}
	if slow || r.Kind == plugins.Credential && w.mem.expired(j, w.now.Unix()) != nil { // that is nothing the site has done
		avoid = 0
	}
	w.unbook(j, r.Said, avoid)
}

// withdrawn puts a job that did not start back into the queue. One that has
// started meanwhile stays where it is.
func (w *work) withdrawn(j *Job, r result) {
	if j.State != Sent || r.Status == nil {
		j.Withdraw = j.State == Sent && r.Status == nil && r.Kind == 0
		return
	}
	if r.Status.Started == 0 && (r.Status.State == plugins.Cancelled || r.Status.State == plugins.Lost) {
		why, avoid := r.unstarted(), avoidBusy
		if j.OnHold {
			why = heldByOwner
		} else if j.Booking.Turn {
			why, avoid = "taken out of the queue: there is a better place", time.Duration(0)
		}
		w.unbook(j, why, avoid)
		return
	}
	w.seen(*r.Status)
}

// takenBack tells whether a job ended because it was withdrawn, by a site that ended it
// although it had just begun: nobody meant to cancel it.
func (j *Job) takenBack(v seen, now int64) bool {
	return j.Withdraw && !j.Cancel && v.State == plugins.Cancelled && now-j.SeenRun <= takingBack && j.Tries < maxTries
}

// takingBack is for how many seconds after a job that is being withdrawn was seen to run its
// end is taken for the withdrawal's.
const takingBack = 120

// seen takes in what a site says of a job.
func (w *work) seen(v seen) {
	j := w.mem.jobs.job(v.Job)
	if j == nil || v.Request != j.request() || j.Booking == nil || j.State == Waiting || j.State == Collecting || j.State.Final() {
		return
	}
	c := w.mem.clusters[j.Booking.Cluster]
	if v.Native != "" {
		j.Native = v.Native
	}
	if v.Node != "" {
		j.Node = v.Node
	}
	w.change(j)
	if j.State != Running && (v.Started > 0 || v.State == plugins.Running || v.State == plugins.Finishing || v.State == plugins.Done) {
		w.started(j, c, v)
	}
	if !v.State.Final() {
		return
	}
	if j.State != Running && !j.Cancel && v.State != plugins.Lost { // ended without having begun
		if !j.Withdraw {
			c.count(j.Booking, false)
		}
		w.unbook(j, v.unbegun(), avoidBusy)
		return
	}
	if preempted(v) && !j.Cancel && j.Tries < maxTries {
		j.OnHold = false // it was too late for that
		w.unbook(j, "it gave way to a local job", avoidBusy)
		return
	}
	if j.takenBack(v, w.now.Unix()) {
		w.unbook(j, "it began just when it was withdrawn, and was ended", avoidBusy)
		return
	}
	w.ended(j, v)
}

// unstarted is why a job that was withdrawn had not started, in the site's words before that.
func (r result) unstarted() string {
	const why = "it did not start in its slot"
	if r.Said == "" {
		return why
	}
	return why + ": the site said " + r.Said
}

// words are the site's own for a job's state, and why.
func (v *seen) words() string { return strings.TrimSpace(v.Native + " " + v.Reason) }

// unbegun is why a job that the site ended has not begun, in the site's words.
func (v seen) unbegun() string {
	said := v.words()
	if said == "" {
		return "the site ended it before it began"
	}
	return "the site ended it before it began: " + said
}

// maxTries bounds how often a job that gave way is started again.
const maxTries = 6

func preempted(v seen) bool { return strings.HasPrefix(v.Native, "PREEMPTED") }

func (w *work) started(j *Job, c *cluster, v seen) {
	j.State, j.Started, j.SeenRun, j.Reason = Running, v.Started, w.now.Unix(), "" // a slot missed before matters no more
	if j.Started == 0 {
		j.Started = w.now.Unix()
	}
	off := j.Started - j.Booking.From
	if off <= int64(w.s.conf.Grace/time.Second) {
		c.count(j.Booking, true)
	} else if !j.Withdraw {
		c.count(j.Booking, false)
	}
	if j.Booking.Turn {
		w.say(j, c.name, "running", "%+d s from the turn foretold", off)
		return
	}
	w.s.meter.start(c.name, off)
	w.say(j, c.name, "running", "%+d s from the booked start", off)
}

// count learns from a booking whose time has come.
func (c *cluster) count(p *Place, kept bool) {
	if p.Turn { // no slot was promised
		return
	}
	if kept {
		c.hits++
	} else {
		c.misses++
	}
	c.trust.Count(cmp.Or(p.Told, p.Chance), cmp.Or(p.Risk, 1), kept, p.From)
	c.changed = true
}

// ended closes the booking, gives back what was not used, and has the output
// brought.
func (w *work) ended(j *Job, v seen) {
	j.Ended, j.Reason, j.ExitCode = v.Ended, v.Reason, v.Exit
	if j.Ended == 0 {
		j.Ended = w.now.Unix()
	}
	j.Ending = State(v.State)
	switch {
	case v.State == plugins.Done:
		j.Reason = "" // some batch systems keep why it waited
	case j.Cancel:
		j.Ending, j.Reason = Cancelled, onRequest // what the site says is often why it waited
	case v.State == plugins.Lost:
		j.Ending, j.Reason = Failed, "the site does not know it any more"
	}
	w.release(j, j.used(v.State == plugins.Done), "ended")
	j.State = Collecting
	w.do(j, collect, w.now.Unix())
	w.change(j)
	w.say(j, j.Booking.Cluster, "ended", "%s %s", v.State, v.Native)
}

// used is what a job that has ended owes, in thousandths. One that ran pays for a second at least: sites tell times in
// whole seconds, and who sends thousands that are shorter uses his budget, too.
func (j *Job) used(ran bool) int64 {
	if j.Started <= 0 && !ran {
		return 0
	}
	seconds := int64(0)
	if j.Started > 0 {
		seconds = min(j.Ended-j.Started, int64(j.Wall))
	}
	return fee(j.Priority, j.Procs, int32(max(1, seconds)))
}

// release closes a booking; what was charged above used is given back.
func (w *work) release(j *Job, used int64, why string) {
	if j.Booking == nil {
		return
	}
	w.closed = append(w.closed, closedRow{j.Booking.Key, why, w.now.Unix(), j.ID})
	if back := j.Charged - min(used, j.Charged); back > 0 {
		w.ledger = append(w.ledger, deal(w.now.Unix(), "refund/"+j.Booking.Key, fees, purse(j.Owner), back, j.ID, "not used")...)
		j.Charged -= back
	}
}
