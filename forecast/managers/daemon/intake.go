package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"gridbroker/forecast/managers"
)

// take handles one frame of a neighbour.
func (d *Daemon) take(n managers.Neighbour, c *conn, f frame) error {
	c.heard()
	if f.Refused != "" {
		wasRefused(d, n, c, f)
	}
	if f.Message == nil {
		return nil
	}
	refused := false
	if j := f.Message.Job; j != nil {
		if err := checkBroker(j.Broker); err != nil {
			return err
		}
		if err := d.papers.check(j); err != nil { // whoever is honest has checked it, by the same authorities
			d.config.Log.Warn("a job is refused", "neighbour", c.peer, "cause", err)
			c.send(refusalOf(j, false, err.Error()))
			refused = true
		}
	}
	d.waiting.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	managers.Behind(d.manager, int(d.waiting.Add(-1)))
	if d.conns[n] != c {
		return errSilent
	}
	if err := errors.Join(loops(d, n, f.Message.Shape), tells(d, c, f.Message)); err != nil {
		return err
	}
	handle := (*managers.Manager).Handle
	if j := f.Message.Job; j != nil && refused {
		handle = managers.Decline
	} else if j != nil {
		keep, err := keeps(d, n, c, j)
		if err != nil {
			return err
		}
		if !keep {
			handle = managers.Decline
		}
	}
	out, err := handle(d.manager, now(), n, *f.Message)
	if err != nil {
		return err
	}
	d.carryOut(out)
	return nil
}

// keeps says whether a neighbour's job may wait here; the mutex is held. One that came back without end may
// not: liars may be behind an honest neighbour, who finds them out. The link of who sends back one after the other ends.
func keeps(d *Daemon, n managers.Neighbour, c *conn, j *managers.Job) (bool, error) {
	if err := d.guests.bounces(j, c.who); err != nil {
		liar := d.guests.strike(j.Key())
		for _, other := range d.conns {
			if other.who == liar && other != c {
				d.config.Log.Warn("jobs come back without end", "neighbour", other.peer)
				other.end()
			}
		}
		if c.who == liar {
			return false, fmt.Errorf("%s: %w", c.peer, err)
		}
		d.config.Log.Warn("a job is dropped until its broker hands it in again", "neighbour", c.peer, "cause", err)
		return false, nil
	}
	d.guests.comes(j, c.who)
	if no := unwanted(d, n, j); no.Refused != "" {
		c.send(no)
		return false, nil
	}
	return !here(d, j.Key()), nil // else a second copy: its broker has handed it in again
}

// here says whether a job waits here or has resources; the mutex is held.
func here(d *Daemon, job managers.Key) bool {
	return d.held[job] != nil || managers.Waits(d.manager, job)
}

// ErrFull is the answer to a broker where too many jobs wait already.
var ErrFull = errors.New("too many jobs wait here; try again")

// What a manager lets wait. Jobs beyond that are refused: their brokers hand them in again.
const (
	maxWaiting = 200_000        // of brokers, and of each neighbour
	maxAll     = 5 * maxWaiting // in all
	fullFor    = 10 * time.Second
)

// unwanted says why a neighbour's job is not to wait here; the mutex is held.
func unwanted(d *Daemon, n managers.Neighbour, j *managers.Job) frame {
	switch {
	case managers.WaitingBy(d.manager, n) >= maxWaiting:
		return refusalOf(j, true, fmt.Sprintf("%d of your jobs wait here already", maxWaiting))
	case d.manager.Len() >= maxAll:
		return refusalOf(j, true, fmt.Sprintf("%d jobs wait here already", maxAll))
	case d.guests.isAbsent(j.Broker):
		return refusalOf(j, false, fmt.Sprintf("its broker %s does not answer", j.Broker))
	}
	return frame{}
}

// wasRefused takes a neighbour's refusal of a job in. The job is nobody's until its broker
// hands it in again; where the parent is full brokers are told to do so later.
func wasRefused(d *Daemon, n managers.Neighbour, c *conn, f frame) {
	d.mu.Lock()
	defer d.mu.Unlock()
	job := managers.Key{Broker: f.Broker, ID: f.Job}
	if was, ok := d.guests.note(job); !ok || was.to != c.who {
		return // nothing that was sent there
	}
	d.guests.forget(job)
	if f.Full && d.roles[n] == managers.Parent {
		d.guests.full = time.Now().Add(fullFor)
	}
	d.config.Log.Warn("a job was refused", "neighbour", c.peer, "job", job.ID, "broker", job.Broker, "why", fmt.Sprintf("%.200q", f.Refused))
}

// Submit takes jobs from a broker, or none of them (ErrFull).
func (d *Daemon) Submit(jobs []managers.Job) error {
	d.mu.Lock()
	full := d.manager.Len()+len(jobs) > maxWaiting || time.Now().Before(d.guests.full)
	d.mu.Unlock()
	if full {
		return ErrFull
	}
	for some := range slices.Chunk(jobs, 1000) { // others have their turn in between
		d.submit(some)
	}
	return nil
}

func (d *Daemon) submit(jobs []managers.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range jobs {
		d.guests.present(j.Broker)
		if !here(d, j.Key()) {
			d.guests.forget(j.Key())
			d.ways.note(&j, HandedIn, "")
			d.carryOut(d.manager.Submit(now(), j))
		}
	}
}

// HandIn takes jobs of a broker in this very process, with its certificate: their passports are signed and checked as those
// of others are.
func HandIn(d *Daemon, own *tls.Certificate, jobs []managers.Job) error {
	for i := range jobs {
		if err := seal(&jobs[i], own); err != nil {
			return err
		}
		jobs[i].Papers.Chain = own.Certificate
		if err := errors.Join(jobs[i].Check(), d.papers.check(&jobs[i])); err != nil {
			return err
		}
	}
	return d.Submit(jobs)
}
