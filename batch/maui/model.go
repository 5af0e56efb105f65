package maui

import "slices"

// NodeState is what a resource manager says of a node.
type NodeState int

// States of nodes. Only the first two take jobs now; reservations may also
// lie on busy and draining nodes.
const (
	NodeIdle NodeState = iota
	NodeRunning
	NodeBusy
	NodeDraining
	NodeDown
)

// Node is a node as Maui sees it, in the order in which the resource
// manager lists it.
type Node struct {
	Name                      string
	Procs, Memory, Disk, Swap int64 // configured; MB
	GPUs                      int64
	Classes                   map[string]int64
	Features                  []string
	OS, Arch, Partition       string
	Speed, Load               float64 // Speed 0 counts as 1
	State                     NodeState
}

// JobState is what a resource manager says of a job.
type JobState int

// States of jobs.
const (
	JobIdle JobState = iota
	JobHeld
	JobRunning
	JobSuspended
)

// Job is a job as Maui sees it, in the order in which the resource manager
// lists it: that order breaks ties of priority. Times are seconds since the
// epoch, durations seconds, sizes MB.
type Job struct {
	ID                                    string
	User, Group, Account, Class, QOS      string
	Tasks, TaskProcs, Nodes, TasksPerNode int64 // TaskProcs 0: 1
	Memory, Disk, Swap                    int64 // dedicated by each task
	GPUs                                  int64 // of each task; Maui 3.3.1 itself knows none
	NodeMemory, NodeDisk, NodeSwap        Demand
	Features, Hosts, Partitions           []string
	OS, Arch                              string
	Limit                                 int64
	Queued, Begin, Started                int64
	State                                 JobState
	TaskList                              []string // where it runs: one node name per task
	SystemPriority                        int64    // setspri: absolute, or relative above 1e9
}

// Demand is a comparison with what a node is configured with.
type Demand struct {
	Compare string // >=, >, ==, <, <=; empty counts as >=
	Amount  int64
}

// Met tells whether a node that has so much meets the demand.
func (d Demand) Met(have int64) bool {
	switch d.Compare {
	case ">":
		return have > d.Amount
	case "==", "=":
		return have == d.Amount
	case "<":
		return have < d.Amount
	case "<=":
		return have <= d.Amount
	}
	return have >= d.Amount
}

// Action is what Maui tells the resource manager to do.
type Action struct {
	Verb     string // STARTJOB, CANCELJOB, SUSPENDJOB or RESUMEJOB
	Job      string
	TaskList []string // of STARTJOB: one node name per task
	Type     string   // of CANCELJOB: WALLCLOCK
}

// Reservation is a time and nodes kept for a waiting job.
type Reservation struct {
	Job      string
	From, To int64
	TaskList []string
}

// Scheduler is one Maui: the decisions of its iterations and what it
// remembers between them. It follows the source of Maui 3.3.1 in its rules,
// not in its code. It is not safe for concurrent use.
type Scheduler struct {
	Config       *Config
	known        map[string]*memory
	order        int64
	last         int64 // time of the latest iteration
	fair         fairShare
	reservations []Reservation
	priorities   []Priority
	latest       *run // the latest iteration
}

// memory is what Maui remembers of a job between iterations.
type memory struct {
	order    int64 // of first sight
	since    int64 // waits with right since
	bypass   int64
	earliest int64 // not started before
	deferred int64 // held back until
	held     string
	backfill bool // was started by backfill under PREEMPT: may be preempted
	wanted   bool // once held a priority reservation
	seen     int64
	ours     bool // was started by this scheduler; not kept, as Maui does not
}

// New makes a scheduler that has seen nothing yet.
func New(c *Config) *Scheduler {
	return &Scheduler{Config: c, known: map[string]*memory{}}
}

// Reservations are those of waiting jobs after the latest iteration.
func (s *Scheduler) Reservations() []Reservation { return slices.Clone(s.reservations) }

// quantity is an amount of each resource that Maui plans with.
type quantity struct{ procs, mem, disk, swap, slots, gpus int64 }

func (q quantity) times(n int64) quantity {
	return quantity{q.procs * n, q.mem * n, q.disk * n, q.swap * n, q.slots * n, q.gpus * n}
}

func (q *quantity) add(r quantity, sign int64) {
	q.procs += sign * r.procs
	q.mem += sign * r.mem
	q.disk += sign * r.disk
	q.swap += sign * r.swap
	q.slots += sign * r.slots
	q.gpus += sign * r.gpus
}

// fits counts how many times each fits q.
func (q quantity) fits(each quantity) int64 {
	n := least(1<<30, q.procs, each.procs)
	n = least(n, q.mem, each.mem)
	n = least(n, q.disk, each.disk)
	n = least(n, q.swap, each.swap)
	n = least(n, q.slots, each.slots)
	return least(n, q.gpus, each.gpus)
}

// least is the smaller of a number and how many times each fits what there is.
func least(n, have, each int64) int64 {
	switch {
	case each <= 0:
		return n
	case each == 1:
		return min(n, max(0, have))
	}
	return min(n, max(0, have/each))
}

func (q quantity) negative() bool {
	return q.procs < 0 || q.mem < 0 || q.disk < 0 || q.swap < 0 || q.slots < 0 || q.gpus < 0
}

// node is a node in an iteration.
type node struct {
	*Node
	at       int // place in the list
	have     quantity
	config   NodeConfig
	holds    []held
	events   []event  // of holds, sorted; made when asked for
	used     quantity // by running jobs
	load     float64
	running  []*job
	standing []int  // places in Config.Standing
	class    string // that was asked about last
	tasks    int64  // that it may have here
}

// held keeps a part of a node for a time.
type held struct {
	from, to int64
	amount   quantity
	job      *job // nil: a standing reservation
	standing int
}

// event is a begin or end of a hold.
type event struct {
	at    int64
	hold  int32
	begin bool
}

// job is a job in an iteration.
type job struct {
	*Job
	*memory
	place     int // in the list
	each      quantity
	procs     int64
	limit     int64 // as planned with
	qos       *Credential
	qosName   string
	priority  int64
	reserved  *kept
	hosts     []*node
	preemptor bool
	preemptee bool
	only      bool   // takes whole nodes
	serving   []byte // of the nodes by their place: what planner.feasible found; nil: not asked yet
	placed    []placed
}

// kept is the reservation of a waiting job.
type kept struct {
	from  int64
	tasks []placed
}

// placed is so many tasks on a node.
type placed struct {
	node  *node
	tasks int64
}

func (n *node) usable() bool { return n.State == NodeIdle || n.State == NodeRunning }
func (n *node) up() bool     { return n.State != NodeDown }

func (n *node) speed() float64 {
	if n.config.Speed > 0 {
		return n.config.Speed
	}
	if n.Speed > 0 {
		return n.Speed
	}
	return 1
}

func (n *node) partition() string {
	if n.config.Partition != "" {
		return n.config.Partition
	}
	if n.Partition != "" {
		return n.Partition
	}
	return "DEFAULT"
}
