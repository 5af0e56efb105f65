package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// world is a grid in virtual time: sites with local jobs, their agents, and one
// scheduler at a time, that may die at any moment.
type world struct {
	t     *testing.T
	r     *rand.Rand
	from  time.Time // when it begins
	now   time.Time
	store *Store
	s     *Scheduler
	epoch int64
	sites map[string]*simSite
	names []string
	conf  Config
	fault float64 // chance of each fault
	broke map[string]int

	longest int64           // seconds that a job waited for its first slot
	turns   int             // bookings that were seen in sites' queues
	beats   int             // that told sites nothing new
	onHold  map[string]bool // jobs that were ever held
}

// patience is how long, in seconds, any job may wait for its first slot while others
// come and come.
const patience = 2 * 3600

// errDatabase is a transaction that the database did not confirm.
var errDatabase = errors.New("the connection to the database is lost")

// commit ends a transaction of the world's database: now and then it is undone,
// or done and not confirmed.
func (w *world) commit(tx *sql.Tx) error {
	if w.r != nil && w.r.Float64() < w.fault/4 {
		w.broke["undone"]++
		tx.Rollback()
		return errDatabase
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if w.r.Float64() < w.fault/4 {
		w.broke["not confirmed"]++
		return errDatabase
	}
	return nil
}

// survives tries until the database has confirmed.
func (w *world) survives(f func() error) {
	w.t.Helper()
	for range 50 {
		err := f()
		if err == nil {
			return
		}
		if !errors.Is(err, errDatabase) {
			w.t.Fatal(err)
		}
	}
	w.t.Fatal("the database never confirms")
}

// simSite is one cluster: equal nodes of one processor each.
type simSite struct {
	w      *world
	name   string
	skew   int64 // of its agent's clock
	start  wire.Way
	turns  int32 // guests that may wait in its queue
	nodes  []simNode
	tags   map[string][]string  // features of nodes
	guests map[string]*simGuest // by request
	runs   map[string]int       // ends by job: how often it ran to its end
	live   map[string]int       // by job: how many of it run now
	set    wire.Set
	ids    map[string]uint64 // of slots
	next   uint64
	seq    uint64
	full   bool
	booked []wire.Booking
	sent   []*wire.Delta // that have arrived
	starts bool          // what is cancelled begins just then
	users  []string      // who is let in; empty: everybody
	sure   float64       // the chance that it tells of all slots; 0: none
	news   bool          // what it publishes of itself has changed
}

type simNode struct {
	until int64  // busy until
	guest string // request that runs on it
}

type simGuest struct {
	tags                  []string
	begin, deadline, wall int64
	run                   int64
	procs                 int
	nodes                 []int
	started, ended        int64
	state                 plugins.State
	native, reason        string
}

var simEpoch = time.Unix(1_800_000_000, 0).UTC()

func newWorld(t *testing.T, dsn string, seed uint64, fault float64, sites ...int) *world {
	t.Helper()
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 11)), from: simEpoch, now: simEpoch, sites: map[string]*simSite{}, fault: fault, onHold: map[string]bool{}}
	w.conf = Config{Name: "sim", Cycle: 30 * time.Second, Budget: 1e6, MaxBypass: 20, KeepAtSites: time.Hour, Spool: t.TempDir(), Clusters: map[string]ClusterConfig{}}
	for i, n := range sites {
		name := fmt.Sprint("c", i)
		site := &simSite{w: w, name: name, nodes: make([]simNode, n), guests: map[string]*simGuest{}, runs: map[string]int{}, live: map[string]int{}, ids: map[string]uint64{}, full: true, start: wire.Begin}
		if fault > 0 {
			if i%2 == 1 {
				site.start = wire.Plain // launches wait in the outbox for their slots
				site.turns = 3
			}
			site.skew = int64(w.r.IntN(61)) - 30
		}
		w.sites[name], w.names = site, append(w.names, name)
		w.conf.Clusters[name] = ClusterConfig{Interface: "sim/" + name, Endpoint: "sim:" + name}
	}
	seal, err := NewSeal(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	if w.store, err = OpenStore(dsn, seal); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	if _, err := w.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.broke, w.store.commit = map[string]int{}, w.commit
	w.restart()
	return w
}

// emptyDSN is a SQLite file that is yet to be.
func emptyDSN(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "s.db") }

// sqliteDSN is a SQLite file with the schema, in which nothing is.
func sqliteDSN(t testing.TB) string {
	t.Helper()
	dsn := emptyDSN(t)
	if err := os.WriteFile(strings.TrimPrefix(dsn, "sqlite:"), migrated(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return dsn
}

var migratedOnce struct { // of every test's file: making it takes longer than many tests
	sync.Mutex
	file []byte
}

// migrated is the file that the migrations make of none.
func migrated(t testing.TB) []byte {
	t.Helper()
	migratedOnce.Lock()
	defer migratedOnce.Unlock()
	if migratedOnce.file != nil {
		return migratedOnce.file
	}
	dsn := emptyDSN(t)
	seal, err := NewSeal(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	store, err := OpenStore(dsn, seal)
	if err == nil {
		_, err = store.Migrate(t.Context())
	}
	if err == nil {
		err = store.Close()
	}
	if err == nil {
		migratedOnce.file, err = os.ReadFile(strings.TrimPrefix(dsn, "sqlite:"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return migratedOnce.file
}

// restart is a new leader, with nothing in memory.
func (w *world) restart() {
	open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
		var list []plugins.Opened
		for _, name := range w.names {
			list = append(list, plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/" + name}}, Submitter: w.sites[name]})
		}
		reg, err := plugins.NewRegistry(list...)
		return reg, func() {}, err
	}
	w.s = New(w.conf, w.store, open, func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
	w.survives(func() (err error) {
		w.epoch, err = takeOver(w.t.Context(), w.store, "sim")
		return err
	})
	w.s.setLead(w.epoch)
}

func (w *world) unlucky() bool { return w.r.Float64() < w.fault }

// step is some seconds of the world.
func (w *world) step(seconds int64) {
	ctx := w.t.Context()
	w.now = w.now.Add(time.Duration(seconds) * time.Second)
	for _, name := range w.names {
		w.sites[name].advance(w.now.Unix())
	}
	for _, name := range w.names {
		w.sites[name].publish(ctx)
	}
	if w.unlucky() {
		w.restart()
	}
	w.follow(ctx)
	if w.unlucky() { // killed in the middle: memory goes, the transaction too
		dead, cancel := context.WithCancel(ctx)
		cancel()
		w.s.Cycle(dead, w.epoch)
		w.restart()
	}
	w.survives(func() error { _, err := w.s.Cycle(ctx, w.epoch); return err })
	list, err := outbox{w.s}.claim(ctx, "sim", w.now, 1000)
	if errors.Is(err, errDatabase) {
		list = nil // leased to nobody, until that ends
	} else if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range list {
		if w.unlucky() {
			if w.unlucky() {
				continue // killed before: the lease ends
			}
			r := result{Action: a.ID, Job: a.Job, Verb: a.Verb, Key: a.Key}
			outbox{w.s}.attempt(ctx, a, &r) // done, and killed before it could say so
			continue
		}
		outbox{w.s}.act(ctx, a)
	}
}

// follow asks the sites, as the leader does.
func (w *world) follow(ctx context.Context) {
	sites := newFollower(w.s) // of whom nothing is remembered
	err := sites.round(ctx, nil, func(_ string, err error) error {
		if errors.Is(err, errDatabase) || errors.Is(err, errExpired) {
			return nil
		}
		return err
	})
	if err != nil && !errors.Is(err, errDatabase) {
		w.t.Fatal(err)
	}
}

// advance lets local jobs come and go, and guests start and end.
func (s *simSite) advance(now int64) {
	for id, g := range s.guests {
		if g.state == plugins.Running && g.started+g.run <= now {
			g.state, g.ended, g.native = plugins.Done, g.started+g.run, "COMPLETED"
			s.free(g, g.ended)
			s.runs[jobOf(id)]++
			s.live[jobOf(id)]--
		}
	}
	for i := range s.nodes {
		if s.nodes[i].until <= now && s.w.r.Float64() < 0.02 {
			s.nodes[i] = simNode{until: now + 300 + int64(s.w.r.IntN(3600))}
		}
	}
	ids := make([]string, 0, len(s.guests))
	for id := range s.guests {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		s.tryStart(id, now)
	}
}

func (s *simSite) tryStart(id string, now int64) {
	g := s.guests[id]
	if g.state != plugins.Queued || g.begin > now {
		return
	}
	if g.deadline > 0 && now+g.wall > g.deadline {
		g.state, g.native, g.ended = plugins.Failed, "DEADLINE", now
		return
	}
	var idle []int
	for i := range s.nodes {
		if s.nodes[i].until <= now && len(idle) < g.procs {
			idle = append(idle, i)
		}
	}
	if len(idle) < g.procs {
		return
	}
	g.state, g.native, g.started, g.nodes = plugins.Running, "RUNNING", now, idle
	for _, i := range idle {
		s.nodes[i] = simNode{until: now + g.wall, guest: id}
	}
	if s.live[jobOf(id)]++; s.live[jobOf(id)] > 1 {
		s.w.t.Errorf("job %s runs twice at %s", jobOf(id), s.name)
	}
}

// free gives back the nodes of a guest.
func (s *simSite) free(g *simGuest, at int64) {
	for _, i := range g.nodes {
		s.nodes[i] = simNode{until: at}
	}
}

func jobOf(request string) string {
	for i := len(request) - 1; i > 0; i-- {
		if request[i] == '-' {
			return request[:i]
		}
	}
	return request
}

// publish is the agent: what has changed of the gaps, as a delta.
func (s *simSite) publish(ctx context.Context) {
	now := s.w.now.Unix()
	var slots []wire.Slot
	for i, n := range s.nodes {
		key := fmt.Sprint(i, n.until)
		if s.ids[key] == 0 {
			s.next++
			s.ids[key] = s.next
		}
		slots = append(slots, wire.Slot{ID: s.ids[key], Node: fmt.Sprint("n", i), CPUs: 1, From: max(s.w.from.Unix(), n.until), Start: 0.95, Hold: 0.9})
	}
	if s.w.unlucky() && !s.full { // the agent is away for a while
		return
	}
	d := s.set.Diff(slots)
	if s.full {
		d = s.set.Whole()
		d.Site = s.site()
	}
	if s.news && !s.full {
		d.Site, s.news = s.site(), false
	}
	d.Load = s.load(now)
	if d.Site == nil && !s.full && s.turns == 0 && len(d.Put)+len(d.Drop) == 0 && s.w.r.IntN(4) > 0 {
		s.beat(ctx, d.Digest, now)
		return
	}
	s.seq++
	d.Cluster, d.Seq, d.Made, d.TTL = s.name, s.seq, now+s.skew, 120
	s.full = false
	for range 1 + b2i(s.w.unlucky()) { // twice, where the answer is lost
		if s.w.unlucky() {
			continue // lost on the way
		}
		s.send(ctx, d)
	}
	if s.w.unlucky() && len(s.sent) > 2 { // one of long ago arrives
		s.send(ctx, s.sent[len(s.sent)-2-s.w.r.IntN(min(20, len(s.sent)-2))])
	}
}

// load tells when the turn of jobs would come that are put into the queue: of one node
// or of three.
func (s *simSite) load(now int64) *wire.Load {
	l := &wire.Load{CPUs: len(s.nodes)}
	if s.turns == 0 {
		return l
	}
	var free []int64
	for _, n := range s.nodes {
		free = append(free, max(now, n.until))
	}
	slices.Sort(free)
	for _, procs := range []int{1, 3} {
		l.Turns = append(l.Turns, wire.Turn{Procs: int32(procs), Wall: 7200, From: free[procs-1], Early: free[procs-1] - 3600, Late: free[procs-1] + 60})
	}
	return l
}

func (s *simSite) send(ctx context.Context, d *wire.Delta) {
	if s.w.r.IntN(2) == 0 {
		d.Booked = wire.MarkOf(s.booked, s.w.now.Unix()).String()
	}
	text, err := new(wire.Packer).Delta(d)
	if err != nil {
		s.w.t.Fatal(err)
	}
	if d, err = wire.DecodeDelta(text, wire.DefaultLimits()); err != nil {
		s.w.t.Fatal(err)
	}
	ack, err := Listener{s.w.s}.Ingest(ctx, d, text)
	if _, stale := errors.AsType[*StaleError](err); stale && d.Seq < s.seq || errors.Is(err, errDatabase) {
		return
	}
	if err != nil {
		s.w.t.Fatal(err)
	}
	if table, err := s.w.s.store.Have(ctx, d.Cluster, s.w.now); err == nil && !ack.Resync && !ack.Same && fmt.Sprint(table.Bookings) != fmt.Sprint(ack.Bookings) {
		s.w.t.Fatalf("%s was told of %v, the table has %v", d.Cluster, ack.Bookings, table.Bookings)
	}
	s.sent = append(s.sent, d)
	if d.Seq < s.seq {
		return // nobody waits for this answer
	}
	if ack.Resync {
		s.full, s.seq = true, max(s.seq, ack.Seq)
	}
	if !ack.Same {
		s.booked = ack.Bookings
	}
}

// beat says that nothing is new; one that is lost is no matter.
func (s *simSite) beat(ctx context.Context, digest string, now int64) {
	if s.w.unlucky() {
		return
	}
	b := &wire.Beat{Schema: wire.BeatSchema, Cluster: s.name, Seq: s.seq, Digest: digest, Made: now + s.skew, TTL: 120, Booked: wire.MarkOf(s.booked, now).String()}
	ack, err := Listener{s.w.s}.Beat(ctx, b)
	if errors.Is(err, errDatabase) {
		return
	}
	if err != nil {
		s.w.t.Fatal(err)
	}
	if ack.Resync {
		s.full, s.seq = true, max(s.seq, ack.Seq)
	}
	if !ack.Same && !ack.Resync {
		s.booked = ack.Bookings
	}
	if ack.Same {
		s.w.beats++
	}
}

func (s *simSite) site() *wire.Site {
	site := &wire.Site{LRMS: "sim", Start: s.start, Turns: s.turns, Users: s.users}
	if s.sure > 0 {
		site.Chances = []wire.Chance{{Start: s.sure}}
	}
	for i := range s.nodes {
		site.Nodes = append(site.Nodes, wire.Node{Name: fmt.Sprint("n", i), CPUs: 1, Up: true, Features: s.tags[fmt.Sprint("n", i)]})
	}
	return site
}

// Submit implements plugins.Submitter.
func (s *simSite) Submit(_ context.Context, reqs []plugins.Request, _ plugins.Progress) []plugins.Result {
	out := make([]plugins.Result, len(reqs))
	for i, q := range reqs {
		out[i] = plugins.Result{ID: q.ID, Handle: plugins.Handle{Interface: "sim/" + s.name, Endpoint: "sim:" + s.name, ID: q.ID}}
		if s.w.unlucky() {
			out[i].Err = &plugins.Error{Kind: plugins.Unavailable, Op: "submit", Said: "away"}
			continue
		}
		lostAnswer, arrives := s.w.unlucky(), true
		if lostAnswer {
			out[i].Err, arrives = &plugins.Error{Kind: plugins.Uncertain, Op: "submit", Said: "no answer"}, s.w.r.IntN(2) == 0
		}
		if !arrives {
			continue
		}
		if s.guests[q.ID] != nil {
			s.w.t.Errorf("request %s came twice", q.ID)
		}
		now, wall := s.w.now.Unix(), int64(q.Job.Demand.WallTime/time.Second)
		g := &simGuest{tags: q.Job.Demand.RuntimeEnvironments, state: plugins.Queued, native: "PENDING", wall: wall, procs: max(1, q.Job.Demand.Slots), run: wall/2 + int64(s.w.r.IntN(int(wall/2)))}
		if q.Booking.Begin > 0 {
			g.begin = now + int64(q.Booking.Begin/time.Second)
		}
		if q.Booking.Deadline > 0 {
			g.deadline = now + int64(q.Booking.Deadline/time.Second)
		}
		s.guests[q.ID] = g
	}
	return out
}

// Status implements plugins.Submitter.
func (s *simSite) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	for i, h := range hs {
		out[i] = plugins.Status{Handle: h, State: plugins.Unknown}
		g := s.guests[h.ID]
		if s.w.unlucky() {
			continue
		}
		if g == nil {
			out[i].State = plugins.Lost
			continue
		}
		out[i].State, out[i].Native, out[i].Reason = g.state, g.native, g.reason
		if g.started > 0 {
			out[i].Started = time.Unix(g.started, 0)
		}
		if g.ended > 0 {
			out[i].Ended = time.Unix(g.ended, 0)
		}
		if g.state == plugins.Done {
			out[i].ExitCode = glue.Some(0)
		}
	}
	return out
}

// Cancel implements plugins.Submitter.
func (s *simSite) Cancel(_ context.Context, hs []plugins.Handle) []error {
	out := make([]error, len(hs))
	for i, h := range hs {
		g := s.guests[h.ID]
		switch {
		case s.w.unlucky():
			out[i] = &plugins.Error{Kind: plugins.Unavailable, Op: "cancel"}
		case g == nil || g.state.Final():
		default:
			if s.starts && g.state == plugins.Queued { // between the look and the cancellation
				clear(s.nodes)
				s.tryStart(h.ID, s.w.now.Unix())
			}
			if g.state == plugins.Running {
				s.free(g, s.w.now.Unix())
				s.live[jobOf(h.ID)]--
			}
			g.state, g.native, g.reason, g.ended = plugins.Cancelled, "CANCELLED", "", s.w.now.Unix()
		}
	}
	return out
}

// Find implements plugins.Finder.
func (s *simSite) Find(_ context.Context, _ glue.Endpoint, ids []string) (map[string]plugins.Handle, error) {
	if s.w.unlucky() {
		return nil, &plugins.Error{Kind: plugins.Unavailable, Op: "find"}
	}
	found := map[string]plugins.Handle{}
	for _, id := range ids {
		if s.guests[id] != nil {
			found[id] = plugins.Handle{Interface: "sim/" + s.name, Endpoint: "sim:" + s.name, ID: id}
		}
	}
	return found, nil
}

// check looks at what must hold at every moment.
func (w *world) check() {
	w.t.Helper()
	ctx := context.Background()
	if sum, err := w.store.Audit(ctx); err != nil || sum != 0 {
		w.t.Fatalf("the ledger adds up to %d (%v)", sum, err)
	}
	type held struct{ from, to int64 }
	busy := map[string][]held{}
	queued := map[string]int32{}
	now := w.now.Unix()
	for j := range w.s.mem.jobs.all() {
		if p := j.Booking; p != nil && p.Made == now {
			if c := w.s.mem.clusters[p.Cluster]; !wire.Usable(c.made, c.ttl, now) {
				w.t.Fatalf("job %s is booked at %s by a schedule made %d s ago and good for %d s", j.ID, c.name, now-c.made, c.ttl)
			}
		}
		w.checkHeld(j)
		if wait := now - j.Submitted; j.Tries == 0 && wait > patience && !w.onHold[j.ID] {
			w.t.Fatalf("job %s of %d processors and priority %g has waited for %d s and never had a slot; %d went before it", j.ID, j.Procs, j.Priority, wait, j.Bypassed)
		}
		if j.Tries == 0 && !w.onHold[j.ID] {
			w.longest = max(w.longest, now-j.Submitted)
		}
		if j.Booking == nil || j.State != Booked && j.State != Sent {
			continue
		}
		if p := j.Booking; p.Turn {
			if w.turns += b2i(p.Made == now); len(p.Parts) > 0 {
				w.t.Fatalf("job %s has slots and waits in a queue: %+v", j.ID, p)
			}
			if queued[p.Cluster]++; queued[p.Cluster] > w.sites[p.Cluster].turns {
				w.t.Fatalf("more than %d guests in the queue of %s", w.sites[p.Cluster].turns, p.Cluster)
			}
		}
		if j.Booking.To <= now {
			continue
		}
		for _, p := range j.Booking.Parts {
			at := j.Booking.Cluster + "/" + p.Node
			for _, h := range busy[at] {
				if j.Booking.From < h.to && h.from < j.Booking.To && j.Booking.From > now && h.from > now {
					w.t.Fatalf("%s is booked twice: %d-%d and %d-%d", at, h.from-now, h.to-now, j.Booking.From-now, j.Booking.To-now)
				}
			}
			busy[at] = append(busy[at], held{j.Booking.From, j.Booking.To})
		}
	}
}

func (w *world) submit(owner string, key string, wall int) string {
	return w.submitJob(owner, key, fmt.Sprintf("[ Executable = \"/bin/true\"; JobName = \"j\"; WallTime = %d; Requirements = true; ]", wall), 1+float64(w.r.IntN(5)))
}

func (w *world) submitJob(owner, key, text string, priority float64) string {
	w.t.Helper()
	for range 3 { // a user whose answer is lost asks again
		var got []Taken
		w.survives(func() (err error) {
			got, err = w.s.Submit(w.t.Context(), Person{Subject: owner}, []Submission{{Key: key, JDL: text, Priority: priority}})
			return err
		})
		if got[0].Error != "" {
			w.t.Fatal(got[0].Error)
		}
		if !w.unlucky() {
			return got[0].ID
		}
	}
	return w.submitJob(owner, key, text, priority)
}

// Inventory implements plugins.Inventory.
func (s *simSite) Inventory(context.Context, glue.Endpoint) (list []plugins.Present, err error) {
	if s.w.unlucky() {
		return nil, &plugins.Error{Kind: plugins.Unavailable, Op: "inventory"}
	}
	for id := range s.guests {
		list = append(list, plugins.Present{ID: id, Handle: plugins.Handle{Interface: "sim/" + s.name, Endpoint: "sim:" + s.name, ID: id}})
	}
	return list, nil
}

// Fetch implements plugins.Fetcher: jobs leave nothing.
func (s *simSite) Fetch(_ context.Context, jobs []plugins.FetchRequest, _ plugins.Progress) []plugins.FetchResult {
	out := make([]plugins.FetchResult, len(jobs))
	for i, f := range jobs {
		if s.w.unlucky() {
			out[i].Err = &plugins.Error{Kind: plugins.Unavailable, Op: "fetch"}
		} else if s.guests[f.Handle.ID] == nil {
			out[i].Err = &plugins.Error{Kind: plugins.Refused, Op: "fetch"}
		}
	}
	return out
}

// Clean implements plugins.Cleaner: what has ended is not known any more.
func (s *simSite) Clean(_ context.Context, hs []plugins.Handle) []error {
	out := make([]error, len(hs))
	for i, h := range hs {
		switch g := s.guests[h.ID]; {
		case s.w.unlucky():
			out[i] = &plugins.Error{Kind: plugins.Unavailable, Op: "clean"}
		case g != nil && !g.state.Final():
			s.w.t.Errorf("%s is %s, and to be removed", h.ID, g.state)
		default:
			delete(s.guests, h.ID)
		}
	}
	return out
}

// Describe implements plugins.Inventory.
func (s *simSite) Describe(_ context.Context, hs []plugins.Handle) ([]*jdl.Job, error) {
	return make([]*jdl.Job, len(hs)), nil
}
