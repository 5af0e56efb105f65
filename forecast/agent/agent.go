package agent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gridbroker/batch"
	"gridbroker/batch/predict"
	"gridbroker/forecast/turns"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// Config is what the site decides. Zero values stand for the defaults.
type Config struct {
	Cluster   string        // its name at the scheduler
	Scheduler string        // URLs of the API, at each replica, with commas between; "": nothing is published, brokers ask this agent
	Queue     string        // only nodes of this queue are offered; "": all
	TTL       time.Duration // of a schedule; default 2 min
	Poll      time.Duration // at least between two looks; default 1 s
	Horizon   time.Duration // how far ahead slots are published; default 6 h
	Site      wire.Site     // what is published besides the nodes
	Names     bool          // whether users' names are published
	// Turns is how many guests may wait in the queue for their turn among the local
	// jobs, where guests are ordinary jobs (Plain, Begin); 0: guests have slots alone.
	Turns int
	// Beside: guests may begin in what is free while local jobs wait for room there.
	// Where they give way to local jobs (Partition) they may in any case.
	Beside bool
	// Spare is the share of the processors, in percent, that is kept free for local
	// jobs that come, where guests do not give way to them.
	Spare int
	// Near: nobody wants to know when local jobs begin beyond the horizon, so the whole queue is
	// worked out for turns alone. What is offered to guests is the same.
	Near    bool
	Memory  string // file that keeps what was learned and published; "": none
	Chances Chances
}

// Agent follows one batch system.
type Agent struct {
	Conf     Config
	Reader   plugins.QueueReader
	Forecast *batch.Forecaster // the policy of the site; its Belief is Estimate
	Account  Accountant        // nil: ends that were not seen are guessed
	Reserve  plugins.Reserver  // nil: this site has none
	// Rules tells by which policy the batch system decides; nil: Forecast's is gone by.
	Rules plugins.RulesReader
	// Infer: the policy is found out among Candidates, where Rules does not tell it.
	Infer bool
	HTTP  *http.Client
	Token func() (string, error) // bearer token; nil: the client shows a certificate
	// Link is the way to a scheduler of this process; nil: Conf.Scheduler is reached by HTTP.
	Link  Link
	Now   func() time.Time
	Log   *slog.Logger
	Meter *Metrics // nil: its own

	once     sync.Once
	askers   turns.Turns
	live     *batch.Live
	room     []batch.Job      // for those of the next state foretold
	odds     *predict.Tracker // of the starts of local jobs
	slotOdds *slotOdds
	foretold atomic.Pointer[outlook]
	turnOdds atomic.Pointer[turnOdds]
	// pondering is held while the whole queue is worked out, and guards when that may
	// be done again.
	pondering  sync.Mutex
	nextPonder time.Time
	ruled      *plugins.Rules // the last that were told; nil: none
	// nextRules is when the rules are asked for again, nextFit when candidates may
	// be judged again.
	nextRules, nextFit time.Time
	nextTurns          time.Time // when turns may be worked out again
	loss               loss
	nextLoss           time.Time      // when what guests cost may be looked at again
	fit                *batch.Fit     // nil: the policy is known
	unjudged           []batch.Ending // since the last look that fit had
	known              *published     // what the scheduler has; nil: not known
	doubt              *published     // sent, and not known whether it was taken
	seq                uint64         // the last one used
	packer             wire.Packer
	sent               time.Time
	until              time.Time   // what was foretold holds until then, if nothing happens
	stands             lasting     // and may be told on then
	unpondered         bool        // something has happened since the whole queue was worked out
	pondered           atomic.Bool // and it was since something was foretold
	deaf               time.Time   // the scheduler takes no beats until then
	saved              time.Time
	retry              time.Time // the scheduler is not asked before
	queueless          bool      // there is no node of Conf.Queue, and that was said
	failed             int       // times in a row that it did not answer
	rival              rival
	replicas           plugins.Replicas // those of Conf.Scheduler
	back               chan error       // whether it can take news again; nil: nobody waits for that
	called             time.Time        // when that was last known
	recalled           *memory
	mu                 sync.Mutex // for what follows, which others read
	booked             []wire.Booking
	leftOut            int // bookings that are not believed
	slots              []wire.Slot
	chances            Chances // by which they were promised
	latest             batch.State
	looked             time.Time
	lookFor            time.Duration
	reserved           map[string]bool // what is known to be reserved; nil: not known
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	set(&c.TTL, 2*time.Minute)
	set(&c.Poll, time.Second)
	set(&c.Horizon, 6*time.Hour)
	if len(c.Chances.Ahead) == 0 {
		c.Chances = DefaultChances()
	}
	if c.Site.Start == "" {
		c.Site.Start = wire.Begin
	}
	return c
}

// Run looks and publishes until the context ends. It is polite: between two
// looks is ten times what the last one took.
func (a *Agent) Run(ctx context.Context) error {
	a.prepare()
	blind := 0 // looks in a row that failed
	var said outages
	for {
		before := a.looked
		err := step(ctx, a)
		if work := ponder(a); work != nil { // looks go on meanwhile
			go work()
		}
		wait := max(a.Conf.Poll, 10*a.lookFor)
		if ctx.Err() == nil {
			said.tell(a, err, a.looked != before)
		}
		if blind++; err == nil || a.looked != before {
			blind = 0
		}
		if !rest(ctx, a, max(wait, min(time.Minute, wait<<min(blind, 6)))) {
			return a.save(true)
		}
	}
}

// prepare is done once: defaults, and what is remembered.
func (a *Agent) prepare() {
	a.once.Do(func() {
		a.Conf = a.Conf.withDefaults()
		a.replicas.Bases = strings.Split(a.Conf.Scheduler, ",")
		if a.Meter == nil {
			a.Meter = NewMetrics()
		}
		if a.Forecast.Beside == nil {
			a.Forecast.Beside = batch.NewSimilar()
		}
		if a.Link == nil {
			a.Link = web{a}
		}
		a.odds, a.slotOdds = predict.NewTracker(), newSlotOdds(a.Conf.Chances)
		remember(a)
		if a.Infer {
			infer(a, Candidates())
		}
	})
}

// step looks and publishes, and writes the memory where that is due: what has happened is told first, for
// a scheduler waits for that, and for a file of some megabytes nobody does.
func step(ctx context.Context, a *Agent) error {
	err := tell(ctx, a)
	unkept := a.save(false)
	return cmp.Or(err, unkept)
}

// askTime bounds one look at the batch system, and one request.
const askTime = 30 * time.Second

// Step looks once, publishes, and ponders what need not be told at once.
func (a *Agent) Step(ctx context.Context) error {
	a.prepare()
	err := step(ctx, a)
	if work := ponder(a); work != nil {
		work()
	}
	return err
}

// longestRetry is how seldom a scheduler is asked that does not answer: when it is back, it has no
// slots of the cluster for as long as that.
const longestRetry = 10 * time.Second

// tell looks once, and publishes where there is news or a third of the TTL has
// gone by. A scheduler that does not answer is left alone for a while; looks go on,
// for brokers ask this agent.
func tell(ctx context.Context, a *Agent) error {
	state, err := a.look(ctx)
	if err != nil {
		return fmt.Errorf("looking at the batch system: %w", err)
	}
	checkQueue(a, state)
	same, err := follow(ctx, a, state)
	if err != nil {
		return err
	}
	alone := a.Conf.Scheduler == "" || a.Now().Before(a.retry)
	switch {
	case alone && same:
		return nil
	case alone:
		state, f := foretell(a)
		a.offer(freeSlots(a, state, f, begunNow(bookedNow(a), state, a.Now())))
		return nil
	case same && settled(a):
		err = stay(ctx, a)
	default:
		err = publish(ctx, a)
	}
	if err != nil {
		a.failed++
		a.retry = a.Now().Add(min(longestRetry, a.Conf.Poll<<min(a.failed, 6)))
		a.await(ctx, err)
		return fmt.Errorf("publishing: %w", err)
	}
	a.failed = 0
	return nil
}

// publish tells the scheduler what is new, and makes what it has booked.
func publish(ctx context.Context, a *Agent) error {
	if err := a.resolve(ctx); err != nil {
		return err
	}
	state, f := foretell(a)
	d, next := a.news(state, f)
	if d == nil {
		return stay(ctx, a)
	}
	if err := a.send(ctx, d, next); err != nil {
		return err
	}
	return a.reserve(ctx)
}

// look asks the batch system.
func (a *Agent) look(ctx context.Context) (batch.State, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	state, err := a.Reader.Queue(ctx)
	a.lookFor = time.Since(began)
	a.Meter.lookTime.Observe(a.lookFor.Seconds())
	if err != nil {
		a.Meter.looks.WithLabelValues("failed").Inc()
		return state, err
	}
	a.Meter.looks.WithLabelValues("ok").Inc()
	l := localLoad(state, begunNow(bookedNow(a), state, a.Now()))
	a.Meter.waiting.Set(float64(l.Waiting))
	a.Meter.running.Set(float64(l.Running))
	a.keep(state)
	return state, nil
}

func (a *Agent) keep(s batch.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latest, a.looked = s, a.Now()
}

// State is the last look, and when it was.
func (a *Agent) State() (batch.State, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.latest, a.looked
}

// news is the delta to be sent, and what the scheduler has after it; nil: none.
func (a *Agent) news(s batch.State, f *batch.Forecast) (*wire.Delta, *published) {
	now := a.Now()
	was := a.known
	if was == nil { // what the other side has is not known: all is news
		was = &published{jobs: newToldJobs()}
	}
	booked := begunNow(bookedNow(a), s, now)
	next := &published{jobs: was.jobs, queues: queues(s), load: localLoad(s, booked)}
	slots := hold(freeSlots(a, s, f, booked), &was.set, now.Unix())
	var d *wire.Delta
	next.set, d = was.set.Next(slots)
	d.Jobs, d.JobsGone = local(a, s, f, next.jobs)
	a.stands.until = min(a.stands.until, next.jobs.until)
	next.put, next.left = d.Jobs, d.JobsGone
	if !slices.Equal(next.queues, was.queues) {
		d.Queues = next.queues
	}
	if was.load != nil {
		next.load.Turns = was.load.Turns
	}
	next.load.Turns = turnsOf(a, f, next.load)
	if was.load == nil || !next.load.Equal(was.load) {
		d.Load = next.load
	}
	site := a.Conf.Site
	site.Nodes, site.Walls, site.Chances, site.Turns = nodes(s), walls(s), toldChances(a), places(a)
	if next.site = &site; was.site == nil || !reflect.DeepEqual(site, *was.site) {
		d.Site = next.site
	}
	if a.known == nil {
		whole := next.set.Whole()
		d.Full, d.Put, d.Drop, d.Base = true, whole.Put, nil, ""
	}
	a.offer(slots)
	quiet := len(d.Put)+len(d.Drop)+len(d.Jobs)+len(d.JobsGone) == 0 && d.Site == nil && d.Queues == nil && d.Load == nil && !d.Full
	if quiet && settled(a) {
		return nil, nil
	}
	a.seq++
	next.seq = a.seq
	d.Cluster, d.Seq, d.Made, d.TTL = a.Conf.Cluster, a.seq, now.Unix(), int64(a.Conf.TTL/time.Second)
	return d, next
}
