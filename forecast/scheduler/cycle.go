package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// Report is what one cycle did.
type Report struct {
	Messages, Jobs, Slots, Booked, Outlooks int
	Took, Planning                          time.Duration
}

// maxMessages bounds the messages of one cycle.
const maxMessages = 5000

// cycleTime bounds a cycle: a database that hangs in the middle of one keeps nobody for ever.
const cycleTime = 2 * time.Minute

// Cycle takes the messages, plans, and writes down what follows: one
// transaction. After an error nothing has happened, and memory is read anew.
func (s *Scheduler) Cycle(ctx context.Context, epoch int64) (Report, error) {
	return cycle(ctx, s, epoch, true)
}

// cycle is one that plans, or one that only takes in what there is to know.
func cycle(ctx context.Context, s *Scheduler, epoch int64, plans bool) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, cycleTime)
	defer cancel()
	began := time.Now()
	w := &work{s: s, now: s.now(), epoch: epoch, plans: plans, changed: map[string]*Job{}}
	s.mu.Lock()
	mem := s.mem
	s.mem = nil // nobody's, until this is committed
	s.mu.Unlock()
	if mem != nil && mem.epoch == epoch && idles(ctx, s, mem, w.now) {
		w.mem = mem
		s.done(w, began)
		return w.report, nil
	}
	err := s.store.tx(ctx, func(h handle) (err error) {
		if err := h.reign.fence(ctx, epoch); err != nil {
			return err
		}
		if mem == nil || mem.epoch != epoch {
			if mem, err = h.load(ctx, epoch, s.conf, &s.store.fresh); err != nil {
				return err
			}
			w.first = true
		}
		w.mem, w.h = mem, h
		return w.run(ctx)
	})
	if err != nil {
		s.store.fresh.leave(mem)
		w.report.Took = time.Since(began)
		return w.report, err
	}
	s.done(w, began)
	return w.report, nil
}

// done measures a cycle, and then gives its memory to whoever hears agents meanwhile.
func (s *Scheduler) done(w *work, began time.Time) {
	w.report.Took = time.Since(began)
	s.meter.cycle(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mem = w.mem
	for _, name := range w.stirred {
		select {
		case s.stirred <- name:
		default: // their turn comes
		}
	}
}

// work is one cycle's.
type work struct {
	s      *Scheduler
	h      handle
	mem    *memory
	now    time.Time
	epoch  int64
	plans  bool
	first  bool // memory was read for it: what can wait for the next one does
	report Report

	changed map[string]*Job
	log     []Entry
	ledger  []ledgerRow
	actions []actionRow
	stirred []string // clusters at which jobs have begun or ended
	opened  []bookingRow
	closed  []closedRow
}

func (w *work) run(ctx context.Context) error {
	list, err := w.h.mail.take(ctx, maxMessages)
	if err != nil {
		return err
	}
	w.report.Messages = len(list)
	for _, m := range list {
		if err := (news{w}).handle(ctx, &m); err != nil {
			return fmt.Errorf("message %d (%s): %w", m.id, m.kind, err)
		}
	}
	if err := readAuthorities(ctx, w); err != nil {
		return err
	}
	if err := (news{w}).beats(ctx); err != nil {
		return err
	}
	w.credentials()
	w.late()
	if w.plans && w.mem.anyToPlan() {
		if err := w.plan(ctx); err != nil {
			return err
		}
	}
	if err := w.sample(ctx); err != nil {
		return err
	}
	return w.save(ctx)
}

// save writes all that has changed, a statement for each table.
func (w *work) save(ctx context.Context) error {
	if err := saveChanged(ctx, w); err != nil {
		return err
	}
	for _, j := range w.changed {
		if j.State.Final() {
			w.mem.jobs.leave(j)
		}
	}
	if err := w.h.bookings.book(ctx, w.opened, w.epoch); err != nil {
		return err
	}
	if err := w.h.bookings.close(ctx, w.closed); err != nil {
		return err
	}
	w.mem.mark(w.now.Unix())
	if err := w.saveClusters(ctx); err != nil {
		return err
	}
	if err := w.h.accounts.enter(ctx, w.ledger); err != nil {
		return err
	}
	if err := w.h.actions.add(ctx, w.actions, w.epoch); err != nil {
		return err
	}
	w.h.queue.over(w.changed)
	return w.h.log.write(ctx, w.epoch, w.log)
}

// saveChanged writes the jobs that have changed.
func saveChanged(ctx context.Context, w *work) error {
	return w.h.queue.save(ctx, slices.SortedFunc(maps.Values(w.changed), func(a, b *Job) int { return int(a.Seq - b.Seq) }))
}

func (w *work) saveClusters(ctx context.Context) error {
	for _, c := range w.mem.clusters {
		if !c.changed {
			continue
		}
		c.changed = false
		if err := w.h.clusters.count(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// change notes that a job is to be saved.
func (w *work) change(j *Job) {
	w.changed[j.ID] = j
	w.mem.jobs.changed(j)
}

func (w *work) say(j *Job, cluster, event, format string, args ...any) {
	if w.s.conf.NoHistory {
		return
	}
	w.log = append(w.log, Entry{At: millis(w.now), Job: j.ID, Cluster: cluster, Who: "scheduler", Event: event, Said: fmt.Sprintf(format, args...)})
}

// do puts an action into the outbox.
func (w *work) do(j *Job, v verb, due int64) {
	w.actions = append(w.actions, actionRow{Key: string(v) + "/" + j.request(), Job: j.ID, Verb: v, Due: due})
}

// plan books.
func (w *work) plan(ctx context.Context) error {
	budgets, err := w.h.accounts.budgets(ctx, "")
	if err != nil {
		return err
	}
	in := w.s.conf.problem(w.mem, w.now, budgets)
	w.report.Jobs, w.report.Slots = len(in.jobs), len(in.slots)
	if len(in.jobs) == 0 {
		return nil
	}
	began := time.Now()
	p := w.s.conf.planner()
	if p.Name() == (plan.Pairwise{}).Name() {
		plan.Clip(in.slots, &in.rules)
	}
	list := p.Plan(in.jobs, in.slots, &in.rules)
	w.report.Planning = time.Since(began)
	outlook := make([]bool, len(in.jobs))
	var likely []foreseen
	for _, b := range list {
		switch j := in.of[b.Job].Job; {
		case b.Tentative && in.jobs[b.Job].Queued: // it stays where it is
		case b.Tentative:
			if outlook[b.Job] = true; !w.first && !j.foreseen(in.clusters[b.Cluster].name, w.now.Unix()+int64(b.From)) {
				likely = append(likely, foreseen{j, in.place(b, w.now.Unix())})
			}
		case in.jobs[b.Job].Queued:
			w.move(j, in.place(b, w.now.Unix()))
		default:
			w.book(j, in.place(b, w.now.Unix()))
		}
	}
	if !w.first {
		w.outlooks(likely)
	}
	w.explain(in, list)
	passed := plan.Bypasses(in.jobs, list)
	for i, e := range in.of {
		if passed[i] > 0 {
			w.pass(e, passed[i])
		}
		if !w.first && e.Outlook != nil && !outlook[i] && e.State == Waiting {
			e.Outlook = nil
			w.change(e.Job)
		}
	}
	return nil
}

// place writes a booking in the terms of the sites.
func (in *inputs) place(b plan.Booking, now int64) *Place {
	j := in.of[b.Job].Job
	at := in.clusters[b.Cluster]
	p := &Place{Cluster: at.name, From: now + int64(b.From), Done: now + int64(b.Done), Told: 1, Made: now, Turn: b.Queued}
	p.To = p.From + int64(j.Wall)
	if p.Turn {
		p.spread(at.load.Turns, j, now)
		return p
	}
	for _, part := range b.Parts {
		ref := in.refs[part.Slot].slot
		p.Risk = max(p.Risk, ref.Risk)
		p.Told = min(p.Told, ref.Start, at.site.StartChance(int64(b.From)))
		p.Parts = append(p.Parts, Share{Slot: ref.ID, Node: ref.Node, CPUs: int32(part.CPUs)})
	}
	p.Chance = at.trust.Believe(p.Told, p.Risk)
	return p
}

// pass counts those that went before. It is saved now and then: what is lost
// with a leader is a tenth of the bound.
func (w *work) pass(e *inLine, by int32) {
	step := int32(max(1, w.s.conf.MaxBypass/10))
	before := e.Bypassed / step
	e.Bypassed += by
	if e.planned.Bypassed = e.Bypassed; e.Bypassed/step != before {
		w.change(e.Job)
	}
}

// book gives a job its slot, takes the fee, and has it sent.
func (w *work) book(j *Job, p *Place) {
	c := w.mem.clusters[p.Cluster]
	way := give(w, j, p)
	due := w.now.Unix()
	if way == wire.Plain {
		due = max(due, c.due(j, p))
	}
	w.do(j, launch, due)
	w.report.Booked++
	from := time.Unix(p.From, 0).UTC().Format(time.RFC3339)
	if p.Turn {
		w.say(j, p.Cluster, "booked", "in the queue, its turn expected at %s%s, fee %.3f", from, p.between(), float64(j.Charged)/1000)
		return
	}
	w.say(j, p.Cluster, "booked", "from %s, chance %.0f %%, fee %.3f", from, 100*p.Chance, float64(j.Charged)/1000)
}

// give gives a job its slot, and takes the fee.
func give(w *work, j *Job, p *Place) (way wire.Way) {
	way = w.mem.clusters[p.Cluster].way
	j.Tries = max(j.Tries, j.Past) + 1
	to := w.s.conf.Clusters[p.Cluster]
	p.Key, p.Endpoint, p.Interface = j.request(), to.Endpoint, to.Interface
	j.State, j.Booking, j.Outlook, j.Reason, j.Blocked = Booked, p, nil, "", ""
	j.Started, j.Ended, j.Sent, j.SeenRun, j.Withdraw, j.Native = 0, 0, 0, 0, false, ""
	j.Handle = plugins.Handle{}
	j.Charged = fee(j.Priority, j.Procs, j.Wall)
	w.ledger = append(w.ledger, deal(w.now.Unix(), "charge/"+p.Key, purse(j.Owner), fees, j.Charged, j.ID, "booked")...)
	if p.Turn {
		way = wire.InTurn
	}
	body := wire.Booking{Schema: wire.BookingSchema, Job: j.ID, Key: p.Key, From: p.From, To: p.To, Procs: j.Procs, Way: way}
	for _, part := range p.Parts {
		body.Slots = append(body.Slots, wire.Part{Slot: part.Slot, Node: part.Node, CPUs: part.CPUs})
	}
	p.body = &body
	w.opened = append(w.opened, bookingRow{p.Key, j.ID, p.Cluster, p.From, p.To, j.Procs, body})
	w.change(j)
	return way
}

// due is when a job is sent that is to be at its site no sooner than for its slot.
func (c *cluster) due(j *Job, p *Place) int64 {
	return p.From - max(c.launchMS/1000, j.lead(p.Cluster)) - 1
}

// unbook puts a job back into the queue and gives the fee back.
func (w *work) unbook(j *Job, why string, leave time.Duration) {
	p := j.Booking
	w.ledger = append(w.ledger, deal(w.now.Unix(), "refund/"+p.Key, fees, purse(j.Owner), j.Charged, j.ID, why)...)
	w.closed = append(w.closed, closedRow{p.Key, "missed", w.now.Unix(), j.ID})
	if j.OnHold { // no slot was missed
		leave = 0
	} else {
		j.Misses++
	}
	if leave > 0 {
		avoid(w, j, p.Cluster, max(leave, oftenMissed(j.Misses)))
	}
	j.State, j.Booking, j.Charged, j.Reason, j.Native, j.Withdraw = Waiting, nil, 0, why, "", false
	w.change(j)
	w.say(j, p.Cluster, "replan", "%s", why)
	if j.Cancel {
		w.final(j, Cancelled, onRequest)
	}
}

// oftenMissed is for how long a cluster is left alone by a job that has missed so many slots: the third in a row that is missed by
// chance is rare, and a batch system may have reasons never to begin a job that nobody here knows of.
func oftenMissed(misses int) time.Duration {
	return min(avoidRefused, avoidBusy<<max(0, min(misses-3, 10)))
}

// final ends a job that has no place.
func (w *work) final(j *Job, state State, why string) {
	j.State, j.Reason, j.Outlook = state, why, nil
	if j.Ended == 0 {
		j.Ended = w.now.Unix()
	}
	w.change(j)
	w.say(j, "", string(state), "%s", why)
}

// late looks for jobs that are not in their slots.
func (w *work) late() {
	limit := w.now.Add(-w.s.conf.Grace).Unix()
	for _, j := range pick(func(j *Job) bool { return j.late(limit) }, w.mem.jobs.places()) {
		w.mem.clusters[j.Booking.Cluster].count(j.Booking, false)
		w.takeBack(j)
		w.say(j, j.Booking.Cluster, "late", "not running %d s after its slot began", w.now.Unix()-j.Booking.From)
	}
}

// late tells whether a job should have begun before a time.
func (j *Job) late(limit int64) bool {
	return j.State == Sent && !j.Booking.Turn && j.Booking.From <= limit && !j.Withdraw && j.Fallback != Stay
}

// news is a cycle that takes in what it was told.
type news struct{ *work }

// handle takes in one message.
func (w news) handle(ctx context.Context, m *message) error {
	switch m.kind {
	case kindJob:
		return w.submitted(ctx, m)
	case kindCancel, kindForget:
		id, err := said[string](m)
		if err != nil {
			return err
		}
		if m.kind == kindCancel {
			return w.cancel(ctx, id)
		}
		return w.remove(ctx, id)
	case kindRefresh:
		return w.refresh(ctx, m)
	case kindSlots:
		return w.slots(ctx, m)
	case kindSeen:
		v, err := said[seen](m)
		if err != nil {
			return err
		}
		w.seen(v)
		return nil
	case kindResult:
		r, err := said[result](m)
		if err != nil {
			return err
		}
		w.result(r)
		return nil
	case kindDrain:
		return w.drain(m)
	}
	return fmt.Errorf("no such kind of message")
}
