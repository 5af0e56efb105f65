package daemon

import (
	"fmt"
	"time"

	"gridbroker/forecast/managers"
)

// What others tell of themselves need not be true: what a manager has seen of them is here.
const (
	maxBounces = 100              // of one job before it is dropped, and somebody is a liar
	bounceTime = time.Minute      // a job that was away for twice as long is a new one
	maxNotes   = 100_000          // jobs remembered in that time, and brokers
	maxStrikes = 3                // such jobs of one neighbour within banTime, or as much of more jobs: fewer may be those of others
	maxNamed   = 256              // names of neighbours that show one certificate
	banTime    = 10 * time.Minute // for which a liar gets no link
	firstWait  = time.Minute      // for which no more jobs of a broker are taken that did not answer
)

// guests is what a manager remembers of jobs that it has sent on, of neighbours
// that lied, and of brokers that did not answer. The daemon's mutex is held.
type guests struct {
	notes, before map[managers.Key]note // of this bounceTime and the one before
	turned        time.Time
	banned        map[string]time.Time // certificates of neighbours, and until when
	strikes       map[string]strikes   // by certificate
	absent        map[string]absence   // brokers
	full          time.Time            // until when the parent takes no more jobs
	signed        bool                 // passports are: nobody but its broker makes a job a new one
}

// note is what a job was like when it left, and whose certificates its neighbours have shown:
// they may call themselves something else each time.
type note struct {
	to     string
	of     int // which attempt of its broker
	hops   int
	placed bool
	back   map[string]int // how often it came back from each to whom it was sent
}

// times is how often the job came back in all.
func (n *note) times() (all int) {
	for _, k := range n.back {
		all += k
	}
	return all
}

// absence is a broker's that did not answer an offer.
type absence struct {
	until time.Time
	wait  time.Duration // the last one's length
}

// goes notes a job that leaves over a link.
func (g *guests) goes(j *managers.Job, to string) {
	old, _ := g.note(j.Key())
	if g.signed && j.Attempt > old.of {
		old = note{}
	}
	old.of = max(old.of, j.Attempt)
	old.to, old.hops, old.placed = to, j.Hops, j.Placed
	g.put(j.Key(), old)
}

// comes corrects a neighbour's job by what is known of it: it has gone no less far
// than when it was sent on from here.
func (g *guests) comes(j *managers.Job, from string) {
	n, ok := g.note(j.Key())
	if !ok || g.signed && j.Attempt > n.of { // one that its broker has handed in again has not been here
		return
	}
	j.Hops, j.Placed = max(j.Hops, n.hops+1), j.Placed || n.placed
	if n.to == from {
		if n.back == nil {
			n.back = map[string]int{}
		}
		n.back[from]++
		g.put(j.Key(), n)
	}
}

// bounces says that neighbours have sent a job back more often than any bound of hops allows. All of them
// together count: whoever is above has seen no more of it, and does not hold it against this manager.
func (g *guests) bounces(j *managers.Job, from string) error {
	n, _ := g.note(j.Key())
	if again := g.signed && j.Attempt > n.of; !again && n.to == from && n.times() >= maxBounces {
		return fmt.Errorf("job %.80q came back %d times, %d of them from there: somebody says of what is free what is not so", j.ID, n.times(), n.back[from])
	}
	return nil
}

// forget makes a job a new one, as its broker hands it in.
func (g *guests) forget(job managers.Key) { delete(g.notes, job); delete(g.before, job) }

func (g *guests) note(job managers.Key) (note, bool) {
	if n, ok := g.notes[job]; ok {
		return n, true
	}
	n, ok := g.before[job]
	return n, ok
}

func (g *guests) put(job managers.Key, n note) {
	if at := time.Now(); g.notes == nil || len(g.notes) >= maxNotes || at.Sub(g.turned) > bounceTime {
		g.notes, g.before, g.turned = map[managers.Key]note{}, g.notes, at
	}
	g.notes[job] = n
}

// strikes are how often a neighbour has sent jobs back that came back without end.
type strikes struct {
	times int
	since time.Time
}

// strike holds a job that came back without end against those that sent it back, each by how often it did, and forgets
// the job. It returns whose certificate it is that has done so for as much as maxStrikes jobs, "" for nobody's.
// Others may have been led by that one: nothing is held against them any more.
func (g *guests) strike(job managers.Key) (liar string) {
	n, _ := g.note(job)
	g.forget(job)
	if g.strikes == nil || len(g.strikes) >= maxNotes {
		g.strikes = map[string]strikes{}
	}
	most := maxStrikes*maxBounces - 1
	for who, times := range n.back {
		s := g.strikes[who]
		if time.Since(s.since) > banTime {
			s = strikes{since: time.Now()}
		}
		s.times += times
		if g.strikes[who] = s; s.times > most || s.times == most && liar != "" && who == n.to {
			most, liar = s.times, who
		}
	}
	if liar != "" {
		g.distrust(liar)
		clear(g.strikes)
	}
	return liar
}

// distrust lets whoever has a neighbour's certificate have no link for a while, whatever
// it calls itself; others on its host have one of their own.
func (g *guests) distrust(who string) {
	if g.banned == nil {
		g.banned = map[string]time.Time{}
	}
	g.banned[who] = time.Now().Add(banTime)
}

// welcome refuses those that are not trusted now.
func (g *guests) welcome(c *conn) error {
	until, ok := g.banned[c.who]
	if ok && time.Now().Before(until) {
		return fmt.Errorf("%.80s sent jobs back without end: no link with its certificate before %s", c.peer, until.UTC().Format(time.RFC3339))
	}
	delete(g.banned, c.who)
	return nil
}

// missed says that a broker did not answer an offer: no more of its jobs are taken
// for a while, each time for longer.
func (g *guests) missed(broker string) {
	a, at := g.absent[broker], time.Now()
	if at.Before(a.until) {
		return
	}
	if g.absent == nil || len(g.absent) >= maxNotes {
		g.absent = map[string]absence{}
	}
	a.wait = min(max(firstWait, 2*a.wait), brokerSilence)
	a.until = at.Add(a.wait)
	g.absent[broker] = a
}

// present says that a broker was heard.
func (g *guests) present(broker string) { delete(g.absent, broker) }

func (g *guests) isAbsent(broker string) bool { return time.Now().Before(g.absent[broker].until) }
