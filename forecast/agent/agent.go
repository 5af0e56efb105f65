package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
	"gridbroker/plugins"
)

// Config is what the site decides. Zero values stand for the defaults.
type Config struct {
	Cluster   string        // its name at the scheduler
	Scheduler string        // URL of the API
	Queue     string        // only nodes of this queue are offered; "": all
	TTL       time.Duration // of a schedule; default 2 min
	Poll      time.Duration // at least between two looks; default 1 s
	Horizon   time.Duration // how far ahead slots are published; default 6 h
	Site      wire.Site     // what is published besides the nodes
	Names     bool          // whether users' names are published
	Chances   Chances
}

// Reserver makes and removes reservations of a batch system.
type Reserver interface {
	// Reserve keeps processors of nodes for the jobs that name it. One that is
	// there already is no error.
	Reserve(ctx context.Context, name string, b wire.Booking) error
	// Reserved lists the reservations whose names begin so.
	Reserved(ctx context.Context, prefix string) ([]string, error)
	// Release removes one; one that is not there is no error.
	Release(ctx context.Context, name string) error
}

// Agent follows one batch system.
type Agent struct {
	Conf     Config
	Reader   plugins.QueueReader
	Forecast *batch.Forecaster // the policy of the site; its Belief is Estimate
	Reserve  Reserver          // nil: this site has none
	HTTP     *http.Client
	Token    func() (string, error) // bearer token; nil: the client shows a certificate
	Now      func() time.Time
	Log      *slog.Logger

	set     wire.Set
	seq     uint64
	synced  bool
	jobs    map[string]wire.Entry
	queues  []wire.Queue
	load    *wire.Load
	site    *wire.Site
	sent    time.Time
	booked  []wire.Booking
	mu      sync.Mutex
	latest  batch.State
	looked  time.Time
	lookFor time.Duration
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
	a.Conf = a.Conf.withDefaults()
	failed := 0
	for {
		err := a.Step(ctx)
		wait := max(a.Conf.Poll, 10*a.lookFor)
		if err != nil && ctx.Err() == nil {
			failed++
			a.Log.Warn("not published", "error", err)
			wait = min(time.Minute, wait<<min(failed, 6))
		} else {
			failed = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// askTime bounds one look at the batch system, and one request.
const askTime = 30 * time.Second

// Step looks once, and publishes where there is news or a third of the TTL has
// gone by.
func (a *Agent) Step(ctx context.Context) error {
	a.Conf = a.Conf.withDefaults()
	began := time.Now()
	looking, cancel := context.WithTimeout(ctx, askTime)
	state, err := a.Reader.Queue(looking)
	cancel()
	if a.lookFor = time.Since(began); err != nil {
		return fmt.Errorf("looking at the batch system: %w", err)
	}
	a.keep(state)
	f, err := a.Forecast.Forecast(state)
	if err != nil {
		return err
	}
	d := a.news(state, f)
	if d == nil {
		return a.reserve(ctx)
	}
	if err := a.send(ctx, d); err != nil {
		return err
	}
	return a.reserve(ctx)
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

// news is the delta to be sent; nil: none.
func (a *Agent) news(s batch.State, f *batch.Forecast) *wire.Delta {
	now := a.Now()
	if !a.synced { // what the other side has is not known: all is news
		a.jobs, a.queues, a.load, a.site = nil, nil, nil, nil
	}
	next := gaps(a.offered(s, f.Slots(a.Conf.Horizon)), now, a.Conf.Chances)
	d := a.set.Diff(hold(next, &a.set, now.Unix()))
	a.schedule(d, local(s, f, a.Conf.Names))
	if q := queues(s); !slices.Equal(q, a.queues) {
		d.Queues, a.queues = q, q
	}
	if l := load(s); a.load == nil || *l != *a.load {
		d.Load, a.load = l, l
	}
	site := a.Conf.Site
	site.Nodes = nodes(s)
	if a.site == nil || !reflect.DeepEqual(site, *a.site) {
		d.Site, a.site = &site, &site
	}
	if !a.synced {
		whole := a.set.Whole()
		d.Full, d.Put, d.Drop, d.Base = true, whole.Put, nil, ""
	}
	quiet := len(d.Put)+len(d.Drop)+len(d.Jobs)+len(d.JobsGone) == 0 && d.Site == nil && d.Queues == nil && d.Load == nil && !d.Full
	if quiet && now.Sub(a.sent) < a.Conf.TTL/3 {
		return nil
	}
	a.seq++
	d.Cluster, d.Seq, d.Made, d.TTL = a.Conf.Cluster, a.seq, now.Unix(), int64(a.Conf.TTL/time.Second)
	return d
}

// offered leaves out nodes that guests are not let to.
func (a *Agent) offered(s batch.State, list []batch.Slot) []batch.Slot {
	if a.Conf.Queue == "" {
		return list
	}
	serves := map[string]bool{}
	for _, n := range s.Nodes {
		serves[n.Name] = len(n.Queues) == 0 || slices.Contains(n.Queues, a.Conf.Queue)
	}
	return slices.DeleteFunc(list, func(v batch.Slot) bool { return !serves[v.Node] })
}

// schedule puts into a delta what has changed of the local schedule.
func (a *Agent) schedule(d *wire.Delta, list []wire.Entry) {
	next := make(map[string]wire.Entry, len(list))
	for _, e := range list {
		next[e.Task] = e
		if old, ok := a.jobs[e.Task]; !ok || old != e {
			d.Jobs = append(d.Jobs, e)
		}
	}
	for _, task := range slices.Sorted(maps.Keys(a.jobs)) {
		if _, there := next[task]; !there {
			d.JobsGone = append(d.JobsGone, task)
		}
	}
	a.jobs = next
}

// send publishes. After anything but a plain yes it is not known what the
// scheduler has: the next delta is full.
func (a *Agent) send(ctx context.Context, d *wire.Delta) error {
	a.synced = false
	body, err := wire.EncodeDelta(d)
	if err != nil {
		return err
	}
	text, err := a.post(ctx, body)
	if err != nil {
		return err
	}
	ack, err := wire.DecodeAck(text, wire.DefaultLimits())
	if err != nil {
		return err
	}
	a.seq = max(a.seq, ack.Seq)
	if ack.Resync || ack.Digest != a.set.Digest() {
		a.Log.Info("the scheduler asks for a full set", "seq", ack.Seq)
		return nil
	}
	a.synced, a.sent = true, a.Now()
	a.mu.Lock()
	a.booked = ack.Bookings
	a.mu.Unlock()
	return nil
}

func (a *Agent) post(ctx context.Context, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	to := strings.TrimSuffix(a.Conf.Scheduler, "/") + "/v1/clusters/" + url.PathEscape(a.Conf.Cluster) + "/slots"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	if a.Token != nil {
		token, err := a.Token()
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := a.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, wire.DefaultLimits().Bytes))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = &RefusedError{resp.StatusCode, said(text)}
	}
	return text, err
}

// RefusedError is a scheduler's "no".
type RefusedError struct {
	Code int
	Said string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the scheduler says %d: %s", e.Code, e.Said)
}

// said is the detail of a problem document, or the beginning of the text.
func said(text []byte) string {
	var problem struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(text, &problem) == nil && problem.Detail != "" {
		return problem.Detail
	}
	return string(text[:min(len(text), 200)])
}

// reserve makes the site's reservations those that are booked, where that is
// the way: each no earlier than it is needed, and none left behind.
func (a *Agent) reserve(ctx context.Context) error {
	if a.Reserve == nil || a.Conf.Site.Start != wire.Reservation {
		return nil
	}
	const prefix = "gras_"
	have, err := a.Reserve.Reserved(ctx, prefix)
	if err != nil {
		return err
	}
	now := a.Now().Unix()
	want := map[string]bool{}
	var errs []error
	for _, b := range a.booked {
		name := prefix + b.Key
		if b.To <= now {
			continue
		}
		want[name] = true
		if !slices.Contains(have, name) {
			errs = append(errs, a.Reserve.Reserve(ctx, name, b))
		}
	}
	for _, name := range have {
		if !want[name] {
			errs = append(errs, a.Reserve.Release(ctx, name))
		}
	}
	return errors.Join(errs...)
}
