package plan

import (
	"math"
	"time"
)

// Never is the end of a slot that has no end in sight.
const Never = math.MaxInt32

// Slot is free time of processors of one node. A slot is named by its place in
// the list.
type Slot struct {
	From, To int32
	Node     int32 // caller's number, of all clusters together
	Memory   int32 // MB of the whole slot; 0: not known
	Priority float32
	Cluster  uint16 // place in Rules.Clusters
	CPUs     uint16
	Class    uint16 // of nodes with equal features; the caller's number
	Start    uint8  // chance in percent that it is free when it begins
	Hold     uint8  // and for its whole length
}

// Job is one job of the global queue. A job is named by its place in the list.
type Job struct {
	Seq      int64 // order of arrival
	Priority float32
	Wall     int32
	Procs    int32 // in all
	Nodes    int32 // on as many nodes, equal parts; 0: wherever they are on one cluster
	Memory   int32 // MB per node (per Procs where Nodes is 0)
	User     int32 // place in Rules.Users
	Wish     int32 // place in Rules.Wishes
	Bypassed int32 // jobs that came later and were booked before it
	Least    uint8 // chance in percent: what is less sure is an outlook, not a booking
	// Queued: it waits in the queue of cluster At already, where its turn is expected
	// at Due. It is booked only to be moved to where it is sure to gain.
	Queued bool
	At     uint16
	Due    int32
	// Leads tell of clusters to which this job takes longer to be brought than others.
	Leads []Lead
}

// Lead is how long it takes to bring a job to a cluster, in seconds.
type Lead struct {
	Cluster uint16
	Seconds int32
}

// window is when starts of a job are booked at a cluster: the cluster's own, or as much later as
// it takes to bring it there.
func (r *Rules) window(j *Job, cluster uint16) (tmin, tmax int32) {
	c := &r.Clusters[cluster]
	for _, l := range j.Leads {
		if more := r.Now + l.Seconds - c.TMin; l.Cluster == cluster && more > 0 {
			return c.TMin + more, c.TMax + more
		}
	}
	return c.TMin, c.TMax
}

// perNode is the number of processors on each node.
func (j *Job) perNode() int32 {
	if j.Nodes <= 1 {
		return j.Procs
	}
	return (j.Procs + j.Nodes - 1) / j.Nodes
}

// Cluster is what planning needs to know of a site.
type Cluster struct {
	// TMin and TMax bound the starts that are booked in this cycle: not before
	// the booking and the input files can be there, and not after the cycle
	// after this one has had its turn.
	TMin, TMax int32
	Good       int32   // until when the schedule may be used
	MaxGuest   int32   // longest wall time of a guest; 0: no limit
	Speed      float32 // relative to 1; 0: 1
	OutOfTurn  bool    // slots of waiting local jobs may be taken
	Drained    bool
	Local      *Formula // nil: local and global priorities are equal
	Load       Load
	// Turns tell when jobs would start that are put into the cluster's own queue, Room
	// how many more may be, and Behind by how much later they start for what was put
	// there since Turns were made.
	Turns   []Turn
	Room    int32
	Behind  int32
	Classes []uint64 // bit set over classes: those of its nodes
	Memory  int32    // MB of its largest node; 0: not known
	// Later tells how sure slots are that begin some time from now, the nearest
	// first: of what is left behind a booking. None: as sure as the slot.
	Later []Later
}

// takes tells whether guests may run so long.
func (c *Cluster) takes(wall int32) bool { return c.MaxGuest == 0 || wall <= c.MaxGuest }

// Later is how sure slots are that begin some time from now.
type Later struct {
	After int32 // seconds
	Start uint8 // chance in percent
}

// startAt is how sure a part of a slot is that begins later than the slot.
func (c *Cluster) startAt(from int32, slot uint8) uint8 {
	for i, v := range c.Later {
		if from > v.After && i+1 < len(c.Later) {
			continue
		}
		if i == 0 || from >= v.After {
			return min(slot, v.Start)
		}
		before := c.Later[i-1]
		share := float32(from-before.After) / float32(v.After-before.After)
		return min(slot, uint8(float32(before.Start)+share*(float32(v.Start)-float32(before.Start))+0.5))
	}
	return slot
}

// Wish is where jobs of one kind may run: rights, features, GPUs.
type Wish struct {
	Clusters []uint64 // bit set over Rules.Clusters
	Classes  []uint64 // bit set over classes of nodes
	VO       string   // for formulas
}

// Allows tells whether a node of this class and cluster will do.
func (w *Wish) Allows(cluster, class uint16) bool {
	return bit(w.Clusters, cluster) && bit(w.Classes, class)
}

func bit(set []uint64, n uint16) bool {
	return int(n/64) < len(set) && set[n/64]&(1<<(n%64)) != 0
}

// User is one who has jobs in the queue.
type User struct {
	Name   string
	Left   float64 // of the budget
	Weight float64 // the budget as it was given; 0: 1
	Used   float64 // of it lately: who used less goes ahead among equal priorities
}

// Rules is all that planning needs besides jobs and slots.
type Rules struct {
	Epoch    time.Time
	Now      int32
	Clusters []Cluster
	Wishes   []Wish
	Users    []User
	// Horizon is how far ahead slots are looked at, seconds.
	Horizon int32
	// MaxBypass is how many jobs that came later may be booked before a job;
	// 0: no bound.
	MaxBypass int32
	// Free tells that budgets do not count.
	Free bool
	// Order is the order of the jobs by these rules, where that was worked out (see Order); nil: it was not.
	Order []int32
}

// Part is what a booking takes of one slot.
type Part struct {
	Slot int32
	CPUs uint16
}

// Booking gives a job its place.
type Booking struct {
	Job       int32
	From      int32
	Done      int32 // expected completion
	Chance    float32
	Tentative bool // later than this cycle books, or not sure enough: an outlook, to be planned again
	Parts     []Part
	// Cluster is where it is. Queued: not in slots, but in its turn in the
	// cluster's own queue, which is expected to come at From.
	Cluster uint16
	Queued  bool
}

// Planner gives jobs their slots. No slot is given to two jobs at once, and
// the same input gives the same output.
type Planner interface {
	Name() string
	Plan(jobs []Job, slots []Slot, r *Rules) []Booking
}

// Fee is what a booking costs: global priority times processor-hours.
func Fee(priority float64, procs int32, seconds int32) float64 {
	return priority * float64(procs) * float64(seconds) / 3600
}

func (r *Rules) fee(j *Job) float64 { return Fee(float64(j.Priority), j.Procs, j.Wall) }

// affords tells whether a user who has so much left can pay for a job.
func (r *Rules) affords(j *Job, left float64) bool {
	return r.Free || r.fee(j) <= left
}

func (r *Rules) purses() []float64 {
	left := make([]float64, len(r.Users))
	for i := range r.Users {
		left[i] = r.Users[i].Left
	}
	return left
}

// open tells whether slots of a cluster may be used at all in this cycle.
func (c *Cluster) open() bool { return !c.Drained && c.Good >= c.TMax }

func (c *Cluster) speed() float32 {
	if c.Speed > 0 {
		return c.Speed
	}
	return 1
}

// outranks tells whether a job beats a slot's local priority.
func (r *Rules) outranks(j *Job, s *Slot) bool {
	c := &r.Clusters[s.Cluster]
	if s.Priority > 0 && !c.OutOfTurn {
		return false
	}
	if c.Local == nil {
		return j.Priority > s.Priority
	}
	local, err := c.Local.Priority(r.ask(j, c))
	return err == nil && local > float64(s.Priority)
}
