package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gridbroker/forecast/managers"
)

// Config is what a manager needs to know.
type Config struct {
	Name   string             // the URL at which others reach it
	Parent string             // URL of the parent; "" for a root
	System string             // name by which brokers start jobs in its system; "" for a domain
	Total  managers.Resources // of the system
	Rules  managers.Rules     // times in milliseconds
	Dir    string             // where assignments are kept
	// Authorities are those of now whose certificates brokers sign passports with; nil: nothing is checked.
	Authorities func() Authorities
	Client      *http.Client  // with the manager's certificate; must do HTTP/2
	Beat        time.Duration // between signs of life; four without one end a link; 0: 2 s
	Log         *slog.Logger
}

// Daemon is one manager with its links.
type Daemon struct {
	config Config
	ctx    context.Context
	work   sync.WaitGroup

	waiting atomic.Int64 // messages of neighbours that nobody has taken in yet

	mu       sync.Mutex
	manager  *managers.Manager
	numbers  map[string]managers.Neighbour
	names    []string
	roles    []managers.Role
	owners   []string // by neighbour: the certificate that it showed last
	conns    map[managers.Neighbour]*conn
	held     map[managers.Key]*assignment
	keep     *keeper
	closed   bool // the own system: what would start there cannot be kept
	brokers  map[string]*acquaintance
	guests   guests
	ways     ways
	askers   askers
	incoming incoming
	papers   passports
	timer    *time.Timer

	figures *figures
}

// assignment is a job that has resources of the own system.
type assignment struct {
	Job     managers.Job `json:"job"`
	Granted bool         `json:"granted"`
}

// New makes a manager and takes up the assignments that its directory tells of.
func New(ctx context.Context, c Config) (*Daemon, error) {
	if c.Beat <= 0 {
		c.Beat = 2 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	d := &Daemon{config: c, ctx: ctx, numbers: map[string]managers.Neighbour{}, conns: map[managers.Neighbour]*conn{}, brokers: map[string]*acquaintance{}, papers: passports{authorities: c.Authorities}, guests: guests{signed: c.Authorities != nil}}
	d.figures = newFigures(d.State)
	d.manager = managers.NewDomain(c.Rules)
	if c.System != "" {
		d.manager = managers.NewManager(c.Rules, c.Total)
	}
	d.manager.SetName(c.Name)
	var err error
	if d.keep, d.held, err = openKeeper(c.Dir); err != nil {
		return nil, fmt.Errorf("manager %s: %w", c.Name, err)
	}
	if c.System != "" {
		d.manager.Resize(now(), c.Total, free(d))
	}
	return d, nil
}

func now() int64 { return time.Now().UnixMilli() }

// Run keeps the link to the parent and reports to brokers until the context ends.
func (d *Daemon) Run() {
	d.mu.Lock()
	d.timer = time.AfterFunc(time.Hour, func() { d.do(d.manager.Tick) })
	for _, a := range d.held {
		offers(d, *a)
	}
	d.mu.Unlock()
	d.work.Go(d.reportForever)
	(&climber{Daemon: d}).climb()
	d.mu.Lock()
	for _, c := range d.conns {
		c.end()
	}
	d.mu.Unlock()
	d.timer.Stop()
	d.work.Wait()
	d.keep.close()
}

// do lets the manager decide and carries out what it decided.
func (d *Daemon) do(decide func(now int64) *managers.Out) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.carryOut(decide(now()))
}

// carryOut does what the manager decided; the mutex is held.
func (d *Daemon) carryOut(out *managers.Out) {
	var starts []*assignment
	var twice []managers.Job
	for i := range out.Starts {
		a := &assignment{Job: out.Starts[i].Job}
		if d.held[a.Job.Key()] != nil { // a copy: what it was given would never be given back
			twice = append(twice, a.Job)
			continue
		}
		d.held[a.Job.Key()] = a
		starts = append(starts, a)
	}
	err := d.keep.put(d.held, starts...)
	for _, a := range starts {
		if err == nil {
			d.figures.starts.Inc()
			d.ways.note(&a.Job, Offered, "")
			offers(d, *a)
		}
	}
	for _, s := range out.Sends {
		if c := d.conns[s.To]; c != nil {
			d.figures.messages.Inc()
			if s.Message.Job != nil {
				d.guests.goes(s.Message.Job, c.who)
				d.ways.note(s.Message.Job, SentOn, c.peer)
			}
			c.send(frame{Message: &s.Message})
		}
	}
	if err != nil {
		shut(d, starts, err)
	}
	for i := range twice {
		d.config.Log.Warn("a second copy of a job was to start", "job", twice[i].ID)
		d.carryOut(d.manager.Ended(now(), twice[i].Need))
	}
	if at := d.manager.Wake(); at > 0 && d.timer != nil {
		d.timer.Reset(time.Duration(max(1, at-now())) * time.Millisecond)
	}
}

// number returns the neighbour's number, new if it has none; the mutex is held.
func (d *Daemon) number(c *conn, role managers.Role) managers.Neighbour {
	n, ok := d.numbers[c.peer]
	if !ok {
		if n, ok, _ = renamed(d, c); !ok {
			n = d.manager.AddLink(role)
			d.names, d.roles, d.owners = append(d.names, ""), append(d.roles, role), append(d.owners, "")
		}
		delete(d.numbers, d.names[n])
		d.numbers[c.peer], d.names[n] = n, c.peer
		d.manager.SetNeighbour(n, c.peer)
	}
	d.manager.SetRole(n, role)
	d.roles[n], d.owners[n] = role, c.who
	return n
}

// renamed is the number of a neighbour that is gone and has shown the same certificate: whoever comes under
// a new name each time is one all the same. Else many tells whether there are too many of that certificate.
func renamed(d *Daemon, c *conn) (n managers.Neighbour, ok, many bool) {
	all := 0
	for i, who := range d.owners {
		if who != c.who {
			continue
		}
		if n = managers.Neighbour(i); d.conns[n] == nil && d.names[n] != d.config.Parent {
			return n, true, false
		}
		all++
	}
	return 0, false, all >= maxNamed
}

// attach makes a connection a link; an older one to the same neighbour ends.
func (d *Daemon) attach(c *conn, role managers.Role) (managers.Neighbour, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.guests.welcome(c); err != nil {
		return 0, err
	}
	if role == managers.Child && d.manager.Above(c.peer) {
		return 0, fmt.Errorf("%s is above %s: the tree would have a loop", c.peer, d.config.Name)
	}
	if tree := treeOf(d); c.tree != anyTree && c.tree != tree {
		return 0, fmt.Errorf("%s is in the tree of %s, not in that of %.200s", d.config.Name, tree, c.tree)
	}
	if _, known := d.numbers[c.peer]; !known {
		if _, _, many := renamed(d, c); many {
			return 0, fmt.Errorf("%s: %d neighbours of this certificate have links", d.config.Name, maxNamed)
		}
	}
	n := d.number(c, role)
	if old := d.conns[n]; old != nil {
		old.end()
		d.carryOut(d.manager.Down(now(), n))
	}
	d.number(c, role)
	d.conns[n] = c
	d.config.Log.Info("link up", "neighbour", c.peer, "child", role == managers.Child)
	return n, nil
}

// up tells the manager of a link that can carry messages now.
func (d *Daemon) up(n managers.Neighbour) {
	d.do(func(now int64) *managers.Out { return d.manager.Up(now, n) })
}

// detach takes a link down, if it is still this connection.
func (d *Daemon) detach(n managers.Neighbour, c *conn, cause error) {
	c.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns[n] != c {
		return
	}
	delete(d.conns, n)
	d.config.Log.Warn("link down", "neighbour", c.peer, "cause", cause)
	d.carryOut(d.manager.Down(now(), n))
}

// release gives an assignment's resources back.
func (d *Daemon) release(job managers.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.held[job]
	if a == nil {
		return
	}
	delete(d.held, job)
	d.ways.note(&a.Job, Freed, "")
	if err := d.keep.drop(job, d.held); err != nil {
		d.config.Log.Error("end of an assignment not kept", "job", job.ID, "broker", job.Broker, "error", err)
	}
	if !d.closed { // else its resources are counted when the system opens
		d.carryOut(d.manager.Ended(now(), a.Job.Need))
	}
}

// maxShown bounds what all neighbours tell in a State, in bytes, and what they were told: of each there is an equal share.
const maxShown = 8 << 20

// State returns what the manager knows; of tables beyond maxShown the largest amounts.
func (d *Daemon) State() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := State{Name: d.config.Name, Path: d.manager.Shape().Path, Free: d.manager.Free(), Total: d.config.Total}
	each := maxShown / (1 + len(d.names))
	for i, name := range d.names {
		n := managers.Neighbour(i)
		row := Row{Neighbour: name, Role: "child", Up: d.conns[n] != nil, Rooms: d.manager.Row(n).Largest(each), Told: d.manager.Told(n).Largest(each)}
		if d.roles[n] == managers.Parent {
			row.Role = "parent"
			if row.Up {
				s.Parent = name
			}
		}
		s.Rows = append(s.Rows, row)
	}
	var waiting, running []managers.Key
	for _, j := range d.manager.Waiting() {
		waiting = append(waiting, j.Key())
	}
	for job := range d.held {
		running = append(running, job)
	}
	slices.SortFunc(running, func(a, b managers.Key) int { return strings.Compare(string(a.ID), string(b.ID)) })
	s.own(waiting, running)
	return s
}
