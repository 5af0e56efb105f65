package daemon

import (
	"fmt"
	"time"

	"gridbroker/forecast/managers"
)

// What others tell of themselves need not be true: what a manager has seen of them is here.
const (
	maxBounces = 100              // of one job over one link before its neighbour is a liar
	bounceTime = time.Minute      // a job that was away for twice as long is a new one
	maxNotes   = 100_000          // jobs remembered in that time, and brokers
	maxStrikes = 3                // such jobs of one neighbour within banTime: fewer may be those of liars behind it
	banTime    = 10 * time.Minute // for which a liar gets no link
	firstWait  = time.Minute      // for which no more jobs of a broker are taken that did not answer
)

// guests is what a manager remembers of jobs that it has sent on, of neighbours
// that lied, and of brokers that did not answer. The daemon's mutex is held.
type guests struct {
	notes, before map[managers.ID]note // of this bounceTime and the one before
	turned        time.Time
	banned        map[string]time.Time // certificates of neighbours, and until when
	strikes       map[string]strikes   // by certificate
	absent        map[string]absence   // brokers
	full          time.Time            // until when the parent takes no more jobs
	signed        bool                 // passports are: nobody but its broker makes a job a new one
}

// note is what a job was like when it left.
type note struct {
	to     managers.Neighbour
	of     int // which attempt of its broker
	hops   int
	placed bool
	back   map[managers.Neighbour]int // how often it came back over each link over which it had left
}

// absence is a broker's that did not answer an offer.
type absence struct {
	until time.Time
	wait  time.Duration // the last one's length
}

// goes notes a job that leaves over a link.
func (g *guests) goes(j *managers.Job, to managers.Neighbour) {
	if j == nil {
		return
	}
	old, _ := g.note(j.ID)
	if g.signed && j.Attempt > old.of {
		old = note{}
	}
	old.of = max(old.of, j.Attempt)
	old.to, old.hops, old.placed = to, j.Hops, j.Placed
	g.put(j.ID, old)
}

// comes corrects a neighbour's job by what is known of it: it has gone no less far
// than when it was sent on from here.
func (g *guests) comes(j *managers.Job, from managers.Neighbour) {
	n, ok := g.note(j.ID)
	if !ok || g.signed && j.Attempt > n.of { // one that its broker has handed in again has not been here
		return
	}
	j.Hops, j.Placed = max(j.Hops, n.hops+1), j.Placed || n.placed
	if n.to == from {
		if n.back == nil {
			n.back = map[managers.Neighbour]int{}
		}
		n.back[from]++
		g.put(j.ID, n)
	}
}

// bounces says that a neighbour has sent a job back more often than any bound of hops allows.
func (g *guests) bounces(j *managers.Job, from managers.Neighbour) error {
	n, _ := g.note(j.ID)
	if again := g.signed && j.Attempt > n.of; !again && n.to == from && n.back[from] >= maxBounces {
		return fmt.Errorf("job %.80q came back %d times: it says of what is free there what is not so", j.ID, n.back[from])
	}
	return nil
}

// forget makes a job a new one, as its broker hands it in.
func (g *guests) forget(id managers.ID) { delete(g.notes, id); delete(g.before, id) }

func (g *guests) note(id managers.ID) (note, bool) {
	if n, ok := g.notes[id]; ok {
		return n, true
	}
	n, ok := g.before[id]
	return n, ok
}

func (g *guests) put(id managers.ID, n note) {
	if at := time.Now(); g.notes == nil || len(g.notes) >= maxNotes || at.Sub(g.turned) > bounceTime {
		g.notes, g.before, g.turned = map[managers.ID]note{}, g.notes, at
	}
	g.notes[id] = n
}

// strikes are the jobs that a neighbour has sent back without end.
type strikes struct {
	jobs  int
	since time.Time
}

// strike counts one of them, which is forgotten, and says whether there were too many.
func (g *guests) strike(id managers.ID, c *conn) bool {
	g.forget(id)
	s := g.strikes[c.who]
	if g.strikes == nil || len(g.strikes) >= maxNotes {
		g.strikes = map[string]strikes{}
	}
	if time.Since(s.since) > banTime {
		s = strikes{since: time.Now()}
	}
	s.jobs++
	g.strikes[c.who] = s
	return s.jobs >= maxStrikes
}

// distrust lets whoever has a neighbour's certificate have no link for a while, whatever
// it calls itself; others on its host have one of their own.
func (g *guests) distrust(c *conn) {
	if g.banned == nil {
		g.banned = map[string]time.Time{}
	}
	g.banned[c.who] = time.Now().Add(banTime)
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
