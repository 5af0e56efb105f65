package tree

import (
	"cmp"
	"context"
	"fmt"

	"gridbroker/forecast/managers"
)

// parcel is a message on its way to a manager or in its inbox.
type parcel struct {
	from    int // manager; -1: the manager's own side
	epoch   int // of the link, so that what was on a link that broke is lost
	job     int // a submission (from < 0, give false), or an end (give true)
	give    bool
	message managers.Message
}

// addressed is a parcel with its addressee.
type addressed struct {
	to     int
	parcel parcel
}

type sim struct {
	quiet   bool // links come up for the first time
	early   []addressed
	config  *Config
	horizon int64
	jobs    []Job
	nodes   []*node
	cal     calendar
	now     int64
	store   []parcel
	spare   []int
	epochs  map[[2]int]int
	starts  []Start
	ranks   ranks
	last    []int // by job: the manager it was last known to wait at, -1 for none
	passed  []managers.Job
	result  Result
	changes int
	reqs    int
	loss    splitmix
	watched watch
}

// lookEvery is how many events pass between two looks whether the caller still wants the result.
const lookEvery = 1 << 10

// Run runs the jobs under a configuration until the horizon (in units). A
// context that ends stops it with the context's error.
func Run(ctx context.Context, c Config, nodes []int, jobs []Job, horizon float64, seed uint64) (*Result, error) {
	return Follow(ctx, c, nodes, jobs, horizon, seed, nil)
}

// Follow is Run for those who watch: told hears now and then how many hundredths of the time are played.
func Follow(ctx context.Context, c Config, nodes []int, jobs []Job, horizon float64, seed uint64, told func(hundredths int64)) (*Result, error) {
	s, err := run(ctx, c, nodes, jobs, horizon, seed, watch{job: -1, told: told})
	if err != nil {
		return nil, err
	}
	return s.measure(nodes), nil
}

// run is Run without the measuring.
func run(ctx context.Context, c Config, nodes []int, jobs []Job, horizon float64, seed uint64, watched watch) (*sim, error) {
	if err := cmp.Or(c.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	for i := range jobs {
		if j := &jobs[i]; j.Home >= len(nodes) {
			return nil, fmt.Errorf("job %d: home %d, and there are %d systems", j.ID, j.Home, len(nodes))
		}
	}
	end := int64(horizon * TicksPerUnit)
	s := &sim{config: &c, horizon: end, jobs: jobs, loss: splitmix(seed ^ 0x5bd1e995), epochs: map[[2]int]int{}, watched: watched}
	if c.Mode == "full" {
		var err error
		if s.starts, err = runFull(ctx, nodes, jobs, c.Discipline == "fcfs", end); err != nil {
			return nil, err
		}
		return s, nil
	}
	s.build(nodes)
	if err := s.tooOften(); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if err := s.play(ctx); err != nil {
		return nil, err
	}
	s.now = end
	return s, nil
}

// mostRefreshes bounds the full descriptions that links are sent without need: a
// run of so many takes some ten seconds.
const mostRefreshes = 20_000_000

// tooOften refuses a refresh in ticks that was meant in units.
func (s *sim) tooOften() error {
	links := int64(0)
	for _, n := range s.nodes {
		links += int64(len(n.peers))
	}
	if r := s.config.Refresh; r > 0 && links > 0 && s.horizon/r > mostRefreshes/links {
		return fmt.Errorf("refresh = %d: %d links are told all every %d ticks until tick %d, more than %d times: want %d or more, or 0 for never",
			r, links, r, s.horizon, mostRefreshes, s.horizon/(mostRefreshes/links+1)+1)
	}
	return nil
}

// play lets everything happen that is due by the horizon.
func (s *sim) play(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%lookEvery == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.watched.time(s)
		}
		e, ok := s.cal.next()
		if !ok || e.at > s.horizon {
			return nil
		}
		s.now = e.at
		s.step(e)
	}
}

// prepare puts all that is known ahead into the calendar and brings the links up.
func (s *sim) prepare(ctx context.Context) error {
	s.starts, s.last = make([]Start, len(s.jobs)), make([]int, len(s.jobs))
	s.passed, s.ranks = make([]managers.Job, len(s.jobs)), ranksOf(s.jobs)
	for i := range s.jobs {
		j := &s.jobs[i]
		s.starts[i].System, s.last[i] = -1, -1
		s.passed[i] = managers.Job{ID: s.ranks.id(i), Need: managers.Resources{CPUs: j.Width}, Priority: j.Priority, Submitted: j.Submit}
		s.cal.add(j.Submit, submit, j.Home, i)
	}
	if err := s.exchange(ctx); err != nil {
		return err
	}
	who := s.config.FailWho
	switch there := who >= 0 && who < len(s.nodes); {
	case s.config.FailAt > 0 && there:
		s.cal.add(s.config.FailAt, fail, who, 0)
	case s.config.FailAt > 0 && s.config.Mode == "tree": // others have fewer managers, or none
		return fmt.Errorf("fail_who = %d: there are %d managers, from 0 on", who, len(s.nodes))
	}
	return nil
}

// exchange brings all links up. The first descriptions are everywhere before
// the run begins; they are not counted, and no interval holds them up.
func (s *sim) exchange(ctx context.Context) error {
	s.quiet = true
	for i, n := range s.nodes {
		if n.parent >= 0 {
			s.connect(i, n.parent)
		}
	}
	for n := 0; len(s.early) > 0; n++ {
		if n%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p := s.early[0]
		s.early = s.early[1:]
		s.handle(p.to, p.parcel)
	}
	s.quiet = false
	for _, n := range s.nodes {
		n.manager.SetInterval(s.config.Coalesce)
	}
	return nil
}

func (s *sim) step(e event) {
	switch e.kind {
	case submit:
		s.watched.look(s, e.who, e.what)
		s.receive(e.who, parcel{from: -1, job: e.what})
	case end:
		s.receive(e.who, parcel{from: -1, job: e.what, give: true})
	case arrive:
		p := s.take(e.what)
		if s.lost(e.who, &p) {
			return
		}
		s.receive(e.who, p)
	case served:
		s.serve(e.who)
	case wake:
		n := s.nodes[e.who]
		n.wakeAt = 0
		if !n.dead {
			s.apply(e.who, n.manager.Tick(s.now))
		}
	case fail:
		s.nodes[e.who].dead = true
		s.cal.add(s.now+s.config.Detect, detect, e.who, 0)
	case detect:
		s.mend(e.who)
	}
}

// lost says whether a message came over a link that broke meanwhile, or to nobody.
func (s *sim) lost(to int, p *parcel) bool {
	return s.nodes[to].dead || p.from >= 0 && s.epochs[pair(p.from, to)] != p.epoch
}

func pair(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// put keeps a parcel and returns its number.
func (s *sim) put(p parcel) int {
	if n := len(s.spare); n > 0 {
		i := s.spare[n-1]
		s.spare = s.spare[:n-1]
		s.store[i] = p
		return i
	}
	s.store = append(s.store, p)
	return len(s.store) - 1
}

func (s *sim) take(i int) parcel {
	p := s.store[i]
	s.store[i] = parcel{}
	s.spare = append(s.spare, i)
	return p
}

// receive gives a manager a message: at once where messages cost nothing, else through its inbox.
func (s *sim) receive(who int, p parcel) {
	n := s.nodes[who]
	n.taken++
	if s.config.Service == 0 && s.config.Scan == 0 {
		s.result.MaxInbox = max(s.result.MaxInbox, 1)
		s.handle(who, p)
		return
	}
	n.inbox = append(n.inbox, s.put(p))
	s.result.MaxInbox = max(s.result.MaxInbox, len(n.inbox))
	s.serveNext(who)
}

// serveNext takes the next message in: what follows from it follows at once,
// and the manager is busy for as long as the message costs.
func (s *sim) serveNext(who int) {
	n := s.nodes[who]
	if n.busy || len(n.inbox) == 0 || n.dead {
		return
	}
	took := s.config.Service + s.config.Scan*int64(n.manager.Len())
	n.busy = true
	n.busyTime += took
	s.cal.add(s.now+took, served, who, 0)
	p := s.take(n.inbox[0])
	n.inbox = n.inbox[1:]
	managers.Behind(n.manager, len(n.inbox))
	if !s.lost(who, &p) {
		s.handle(who, p)
	}
}

// serve says that a manager is done with a message.
func (s *sim) serve(who int) {
	n := s.nodes[who]
	n.busy = false
	if !n.dead {
		s.serveNext(who)
	}
}

// handle lets a manager decide.
func (s *sim) handle(who int, p parcel) {
	n := s.nodes[who]
	switch {
	case p.from >= 0:
		if p.message.Job != nil {
			if p.message.Job.Hops > s.result.MaxHops {
				s.result.MaxHops, s.watched.far = p.message.Job.Hops, s.ranks.job(p.message.Job.ID)
			}
		}
		out, err := n.manager.Handle(s.now, n.links[p.from], p.message)
		if err == nil {
			s.apply(who, out)
		}
	case p.give:
		s.apply(who, n.manager.Ended(s.now, s.passed[p.job].Need))
	default:
		s.apply(who, n.manager.Submit(s.now, s.passed[p.job]))
	}
}

// apply does what a manager decided.
func (s *sim) apply(who int, out *managers.Out) {
	n := s.nodes[who]
	for i := range out.Starts {
		s.start(who, &out.Starts[i].Job)
	}
	for i := range out.Queued {
		s.last[s.ranks.job(out.Queued[i].ID)] = who
		s.watched.note(s.now, s.ranks.job(out.Queued[i].ID), "waits", who, -1)
	}
	for i := range out.Sends {
		s.send(who, &out.Sends[i])
	}
	if at := n.manager.Wake(); at > 0 && (n.wakeAt == 0 || at < n.wakeAt) {
		n.wakeAt = at
		s.cal.add(max(at, s.now), wake, who, 0)
	}
}

func (s *sim) send(who int, out *managers.Send) {
	to := s.nodes[who].peers[out.To]
	if s.quiet {
		s.early = append(s.early, addressed{to, parcel{from: who, message: out.Message}})
		return
	}
	if j := out.Message.Job; j != nil {
		s.reqs++
		s.last[s.ranks.job(j.ID)] = to
		s.watched.note(s.now, s.ranks.job(j.ID), "is sent", who, to)
	} else {
		s.changes++
		if s.config.Loss > 0 && s.loss.unit() < s.config.Loss {
			return
		}
	}
	p := parcel{from: who, epoch: s.epochs[pair(who, to)], message: out.Message}
	s.cal.add(s.now+s.config.Latency, arrive, to, s.put(p))
}

// start starts a job: at home at once, elsewhere when its broker has been told and has answered.
func (s *sim) start(who int, j *managers.Job) {
	i := s.ranks.job(j.ID)
	s.last[i] = -1
	if s.starts[i].System >= 0 { // a second copy: its broker refuses
		s.cal.add(s.now+2*s.config.Latency, end, who, i)
		return
	}
	at := s.now
	if s.config.Handshake && who != s.jobs[i].Home {
		at += 2 * s.config.Latency
	}
	s.starts[i] = Start{System: who, At: at}
	s.watched.note(s.now, i, "starts", who, -1)
	s.cal.add(at+s.jobs[i].Run, end, who, i)
}
