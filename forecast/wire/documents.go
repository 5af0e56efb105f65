package wire

import (
	"slices"
	"strconv"
	"strings"
)

// The schemas of the documents.
const (
	DeltaSchema   = "grid.slots/v1"
	AckSchema     = "grid.slots-ack/v1"
	BookingSchema = "grid.booking/v1"
)

// Delta says what has changed at a cluster since the delta before it. The
// first of a connection, and any after the two sides have come apart, is Full.
type Delta struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	Seq     uint64 `json:"seq"` // one more than that of the delta before it
	Full    bool   `json:"full,omitempty"`
	// Base and Digest are those of the set of slots before and after.
	Base   string `json:"base,omitempty"`
	Digest string `json:"digest"`
	Made   int64  `json:"made"`
	// Booked is the Mark of the bookings that the agent knows; "": it is told all.
	Booked string `json:"booked,omitempty"`
	// TTL is for how many seconds from Made the whole schedule may be used.
	TTL      int64    `json:"ttl"`
	Put      []Slot   `json:"put,omitempty"`
	Drop     []uint64 `json:"drop,omitempty"`
	Jobs     []Entry  `json:"jobs,omitempty"`      // local jobs that are new or have changed
	JobsGone []string `json:"jobs_gone,omitempty"` // tasks that are no longer there
	Queues   []Queue  `json:"queues,omitempty"`    // every queue, where any length has changed
	Site     *Site    `json:"site,omitempty"`      // where it has changed, and in every full delta
	Load     *Load    `json:"load,omitempty"`
}

// Entry is one line of the local schedule, with the fields of the published
// system. Who may see names is the site's choice: User and Group may be empty.
type Entry struct {
	Node       string  `json:"node,omitempty"`
	Task       string  `json:"task"`
	User       string  `json:"user,omitempty"`
	Group      string  `json:"group,omitempty"`
	State      string  `json:"state"` // running, waiting, held
	Queued     int64   `json:"queued,omitempty"`
	Start      int64   `json:"start,omitempty"`
	Completion int64   `json:"completion,omitempty"`
	Procs      int32   `json:"procs"`
	Memory     int64   `json:"memory,omitempty"`
	Disk       int64   `json:"disk,omitempty"`
	Priority   float64 `json:"priority,omitempty"`
	Reserved   bool    `json:"reserved,omitempty"`
	// Spread is where a job of several nodes is: NODE=PROCS, comma between them.
	Spread string `json:"spread,omitempty"`
}

// Share is a number of processors of a node.
type Share struct {
	Node string
	CPUs int32
}

// Shares are the nodes of a job: those of Spread, or all of it on Node.
func (e *Entry) Shares() []Share { return Shares(e.Spread, e.Node, e.Procs) }

// Shares reads a Spread; "" is that of a job with all its processors on node.
func Shares(spread, node string, procs int32) (list []Share) {
	for part := range strings.SplitSeq(spread, ",") {
		name, count, ok := strings.Cut(part, "=")
		n, err := strconv.ParseInt(count, 10, 32)
		if ok && err == nil && name != "" && n > 0 {
			list = append(list, Share{name, int32(n)})
		}
	}
	if len(list) == 0 && node != "" {
		list = []Share{{node, procs}}
	}
	return list
}

// Queue is how long a queue of the LRMS is.
type Queue struct {
	Name    string `json:"name"`
	Waiting int    `json:"waiting"`
	Running int    `json:"running"`
}

// Load is the cluster's state: what the owner's priority function may ask of it, and
// when the turn of jobs would come that are put into its queue.
type Load struct {
	Waiting int `json:"waiting"` // local jobs
	Running int `json:"running"`
	CPUs    int `json:"cpus"`
	Busy    int `json:"busy"` // CPUs
	// Turns are of jobs that came to the queue now, where guests may (Site.Turns).
	Turns []Turn `json:"turns,omitempty"`
}

// Equal tells whether two states are the same.
func (l *Load) Equal(o *Load) bool {
	return l.Waiting == o.Waiting && l.Running == o.Running && l.CPUs == o.CPUs && l.Busy == o.Busy && slices.Equal(l.Turns, o.Turns)
}

// Turn is when a job of a size, or a smaller one, would start that came to the queue
// now.
type Turn struct {
	Procs int32 `json:"procs"`
	Wall  int64 `json:"wall"` // seconds
	From  int64 `json:"from"` // by the limits of all that waits
	// Early and Late are when its chance to have started is one in ten, and nine, as
	// local jobs have started; 0: too little was learned, or there was no time for it.
	Early int64 `json:"early,omitempty"`
	Late  int64 `json:"late,omitempty"`
}

// Site is what a cluster publishes of itself.
type Site struct {
	LRMS  string `json:"lrms"`  // slurm, local, condor
	Nodes []Node `json:"nodes"` // static resources
	// Interface, Endpoint and Queue are where jobs for the slots are sent.
	Interface string `json:"interface"`
	Endpoint  string `json:"endpoint"`
	Queue     string `json:"queue,omitempty"`
	// Start is how a job is brought into its slot.
	Start Way `json:"start"`
	// Partition is the guests' one where Start is partition.
	Partition string `json:"partition,omitempty"`
	// MaxGuest is the longest a guest may run, in seconds; 0: no limit.
	MaxGuest int64 `json:"max_guest,omitempty"`
	// Walls are the longest wall times that queues allow, in seconds, by their names; "" is the one that jobs go to
	// that name none. What is not there has no limit, or none that is known.
	Walls map[string]int64 `json:"walls,omitempty"`
	// Function turns a global priority into a local one; "": they are equal.
	Function string `json:"function,omitempty"`
	// Users and VOs may run here; both empty: everybody.
	Users []string `json:"users,omitempty"` // subjects, as in a grid-mapfile
	VOs   []string `json:"vos,omitempty"`   // VO names or FQANs
	// Speed of the nodes relative to 1; 0: 1.
	Speed float64 `json:"speed,omitempty"`
	// OutOfTurn tells that a guest may be given the turn of a local job of
	// lower priority.
	OutOfTurn bool `json:"out_of_turn,omitempty"`
	// Turns is how many guests may wait in the site's own queue, for their turn among
	// the local jobs; 0: guests have slots alone.
	Turns int32  `json:"turns,omitempty"`
	Agent string `json:"agent,omitempty"` // version
	// Chances tell how sure slots are by how far ahead they begin, the nearest
	// first: who divides a slot has them for the part that begins later.
	Chances []Chance `json:"chances,omitempty"`
}

// Chance is how sure slots are that begin some time ahead.
type Chance struct {
	Ahead int64   `json:"ahead"` // seconds
	Start float64 `json:"start"` // the chance to be free then, 0 to 1
}

// StartChance is that of a slot that begins so many seconds ahead, between those
// told in proportion; 1 where nothing is told.
func (s *Site) StartChance(ahead int64) float64 {
	list := s.Chances
	for i, c := range list {
		if ahead > c.Ahead && i+1 < len(list) {
			continue
		}
		if i == 0 || ahead >= c.Ahead {
			return c.Start
		}
		before := list[i-1]
		return before.Start + (c.Start-before.Start)*float64(ahead-before.Ahead)/float64(c.Ahead-before.Ahead)
	}
	return 1
}

// Node is one machine of a cluster.
type Node struct {
	Name     string   `json:"name"`
	CPUs     int32    `json:"cpus"`
	GPUs     int32    `json:"gpus,omitempty"`
	Memory   int64    `json:"memory,omitempty"`
	Disk     int64    `json:"disk,omitempty"`
	Features []string `json:"features,omitempty"`
	Up       bool     `json:"up"`
}

// Way is how a guest gets its slot.
type Way string

// The ways.
const (
	Plain       Way = "plain"       // sent just in time
	Begin       Way = "begin"       // sent ahead with a begin time and a deadline
	Partition   Way = "partition"   // into a guest partition that gives way after TTL
	Reservation Way = "reservation" // the agent reserves the nodes for it
	InTurn      Way = "turn"        // it has no slot: it waits in the queue, of bookings alone
)

// Ack answers a delta.
type Ack struct {
	Schema string `json:"schema"`
	Seq    uint64 `json:"seq"` // the last one taken
	Digest string `json:"digest"`
	// Resync asks for a full set: the two sides do not agree.
	Resync bool `json:"resync,omitempty"`
	// Bookings are all that is booked at the cluster and not over yet.
	Bookings []Booking `json:"bookings,omitempty"`
	// Same tells that they are those of the mark that was shown, and not told again.
	Same bool `json:"same,omitempty"`
	// Good is for how many seconds more the schedule that is there may be used, told where it is asked what is there; 0: not at all.
	Good int64 `json:"good,omitempty"`
}

// Booking is one job's place at a cluster.
type Booking struct {
	Schema string `json:"schema"`
	Job    string `json:"job"`
	Key    string `json:"key"` // of this booking; another one for every new plan
	Slots  []Part `json:"slots"`
	From   int64  `json:"from"`
	To     int64  `json:"to"` // From + wall time
	Procs  int32  `json:"procs"`
	Way    Way    `json:"way"`
	// Running tells that the job runs in its place, as the scheduler knows it.
	Running bool `json:"running,omitempty"`
}

// Part is what a booking takes of one slot.
type Part struct {
	Slot uint64 `json:"slot"`
	Node string `json:"node"`
	CPUs int32  `json:"cpus"`
}
