package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gridbroker/forecast/scheduler/plan"
	"gridbroker/forecast/wire"
)

// queues counts the guests that wait in the sites' own queues: how many more may,
// and what work was sent there that the sites have not told of yet.
func (in *inputs) queues(m *memory, now int64) {
	waiting, work := map[string]int32{}, map[string]int64{}
	for _, e := range m.jobs.places() {
		j := e.Job
		if (j.State != Booked && j.State != Sent) || !j.Booking.Turn {
			continue
		}
		at := j.Booking.Cluster
		waiting[at]++
		if c := m.clusters[at]; c != nil && (j.State == Booked || j.Sent+settleTime > c.made) {
			work[at] += int64(j.Wall) * int64(j.Procs)
		}
	}
	for k, c := range in.clusters {
		p := &in.rules.Clusters[k]
		if way := c.site.Start; way == wire.Plain || way == wire.Begin {
			p.Room = max(0, c.site.Turns-waiting[c.name])
		}
		p.Behind = seconds(work[c.name] / int64(max(1, c.load.CPUs)))
	}
}

// maxMoves bounds how often a job is taken out of a queue for a better place.
const maxMoves = 5

// movable tells whether a job waits in a site's queue and may be taken out of it.
func (j *Job) movable() bool {
	return j.State == Sent && j.Booking.Turn && !j.Withdraw && j.Fallback != Stay && j.Moved < maxMoves
}

// awaits tells whether a job is in a site's queue and has not started, or on its way there.
func (j *Job) awaits() bool {
	return (j.State == Booked || j.State == Sent) && j.Booking != nil && j.Booking.Turn
}

// turnWords say of a job in a site's queue what it waits for, and what would take it
// out of there.
func (p *picture) turnWords(j *Job, now time.Time) []string {
	at, to := j.Booking, now.Unix()
	seconds := func(n int64) string { return short(time.Duration(n) * time.Second) }
	due := fmt.Sprintf("its turn is expected in %s, at %s", seconds(at.From-to), clock(at.From))
	if late := to - at.From; late >= 0 {
		due = fmt.Sprintf("its turn was expected %s ago, at %s", seconds(late), clock(at.From))
	}
	list := []string{fmt.Sprintf("it waits in the queue of %s, among the local jobs, as no slot was as good: %s, as it was foreseen %s ago%s", at.Cluster, due, seconds(to-at.Made), at.between())}
	guests, ahead := 0, 0
	for other := range p.mem.jobs.all() {
		if other.awaits() && other.Booking.Cluster == at.Cluster {
			if guests++; other.ID != j.ID && (other.Booking.Made < at.Made || other.Booking.Made == at.Made && other.Seq < j.Seq) {
				ahead++
			}
		}
	}
	if c := p.mem.clusters[at.Cluster]; c != nil {
		list = append(list, fmt.Sprintf("%d local jobs wait there; of %d guests of this scheduler, of which the site lets in %d, %d came before it", c.load.Waiting, guests, c.site.Turns, ahead))
	}
	switch {
	case j.Withdraw:
		list = append(list, "it is being taken out of the queue")
	case j.State == Booked:
		list = append(list, "it is on its way there")
	case j.Fallback == Stay:
		list = append(list, "it stays there, as its fallback says")
	case j.Moved >= maxMoves:
		list = append(list, fmt.Sprintf("it stays there: it was moved %d times", j.Moved))
	default:
		least := plan.MoveGain(max(0, at.From-to))
		list = append(list, fmt.Sprintf("it is taken out where a slot or another queue would end it %s sooner; it was moved %d of %d times", seconds(least), j.Moved, maxMoves))
	}
	return list
}

// spread takes over between when and when the turn comes, of the agent's turn that is of
// the job: later by what was put there before it.
func (p *Place) spread(turns []wire.Turn, j *Job, now int64) {
	var of *wire.Turn
	for i := range turns {
		if t := &turns[i]; t.Procs >= j.Procs && t.Wall >= int64(j.Wall) && (of == nil || t.From < of.From) {
			of = t
		}
	}
	if of == nil || of.Late == 0 {
		return
	}
	more := p.From - max(now, of.From)
	p.Early, p.Late = max(now, of.Early)+more, max(now, of.Late)+more
}

// between says it, where it is told.
func (p *Place) between() string {
	if p.Late == 0 {
		return ""
	}
	return fmt.Sprintf(" (with four chances in five between %s and %s)", clock(p.Early), clock(p.Late))
}

// inQueue tells the planner of the last job that it waits in a queue.
func (in *inputs) inQueue(j *Job, now int64) {
	p := &in.jobs[len(in.jobs)-1]
	at, _ := slices.BinarySearchFunc(in.clusters, j.Booking.Cluster, func(c *cluster, name string) int { return cmp.Compare(c.name, name) })
	p.Queued, p.At = true, uint16(at)
	p.Due = in.rules.Clusters[at].Due(p, seconds(j.Booking.From-now), seconds(j.Booking.Made-now))
}

// move takes a job out of a site's queue, unless it has started; it is planned anew
// once it is known not to be there any more.
func (w *work) move(j *Job, to *Place) {
	j.Moved++
	w.takeBack(j)
	w.say(j, j.Booking.Cluster, "move", "%s is foreseen to end it sooner: it is taken out of the queue", to.Cluster)
}
