package scheduler

import (
	"cmp"
	"slices"

	"gridbroker/forecast/wire"
)

// queues counts the guests that wait in the sites' own queues: how many more may,
// and what work was sent there that the sites have not told of yet.
func (in *inputs) queues(m *memory, now int64) {
	waiting, work := map[string]int32{}, map[string]int64{}
	for _, j := range m.jobs {
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
	j.Withdraw = true
	j.Moved++
	w.do(j, withdraw, w.now.Unix())
	w.change(j)
	w.say(j, j.Booking.Cluster, "move", "%s is foreseen to end it sooner: it is taken out of the queue", to.Cluster)
}
