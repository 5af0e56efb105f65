package batch

import "time"

// State is a picture of a cluster at one moment: what a QueueReader reads
// from a real LRMS, and what a forecast starts from.
type State struct {
	Now          time.Time
	Cluster      string
	Nodes        []Node
	Jobs         []Job // running and waiting
	Reservations []Reservation
	Queues       []Queue
	Caps         []Cap // what Jobs take
	// Mark is another one in each picture of a source in which anything is new but Now; 0: the source does not
	// tell. Who follows the source need not look for what is new in a picture that has the mark of the one before.
	Mark uint64
}

// Node is one machine of the cluster.
type Node struct {
	Name     string
	CPUs     int
	Memory   int64 // MB
	Disk     int64 // MB
	GPUs     int
	Features []string
	Queues   []string // the queues (partitions) it serves; empty: all
	Up       bool     // takes new jobs
	Weight   int      // the policy slurm takes nodes of less weight first
}

// Queue is a queue or partition with its limits. Zero limits mean none.
type Queue struct {
	Name        string
	Priority    int           // a higher one goes ahead of any job's own priority
	MaxWallTime time.Duration // one job may ask for
	MaxProcs    int           // one job may ask for
	MaxNodes    int           // one job may have; the policy slurm goes by it
	MaxRunning  int           // jobs running at once
	Closed      bool          // starts no jobs
	Barred      bool          // takes none of the jobs of who reads the cluster: no slot names it
	Draining    bool          // takes no more jobs; those that wait start
	Default     bool          // jobs that name none go there
	PreemptMode PreemptMode   // what becomes of a job that gives way to one of a queue of greater Priority; see Preemption
	GraceTime   time.Duration // for how long it then still runs
	Spread      bool          // the policy slurm gives its jobs the nodes with the most room (Slurm's LLN)
	Factor      float64       // Slurm's PriorityJobFactor over the greatest, 0 to 1
}

// Job is one job of the cluster, waiting or running.
type Job struct {
	ID    string
	User  string
	Group string
	Queue string
	Procs int
	Nodes int // 0: any number
	// MaxNodes is how many nodes it may have at most, where Nodes is 0 and under the policy
	// slurm alone; 0: any number.
	MaxNodes int
	// Each is how many processors its tasks need on one node: it has at least so many on each
	// of its nodes, and a multiple of it; 0: any number.
	Each int
	// Core is how many processors nodes give it together, which its part of a node is rounded up to: the threads of
	// a core, where nodes give away whole ones; 0: one.
	Core      int
	Memory    int64 // MB per processor; 0: not asked for
	Disk      int64
	GPUs      int
	Features  []string      // all of them; of "a|b" one will do
	Requested time.Duration // wall time asked for; 0: unknown
	// Least is the least wall time that will do, of one that waits, under the policy slurm
	// alone (Slurm's --time-min); 0: Requested.
	Least     time.Duration
	Submitted time.Time
	Started   time.Time // zero: waiting
	Held      bool
	Priority  float64 // the LRMS's own number, higher starts first
	Placed    []Placement
	Account   string
	Begin     time.Time // it may not start before
	// Eligible: under the policy slurm its age grows also while it waits for Begin or After, which
	// then stand for something else that Slurm lets it wait for.
	Eligible  bool
	Deadline  time.Time // it does not start where it could not be done by then; zero: none
	After     []Dependency
	Exclusive bool // shares its nodes with nobody
	// Suspended: of one that runs, it has given its processors up and kept its memory, disk and GPUs.
	Suspended bool
	// Paused: of one that runs, it is suspended for others of greater rank, whose processors it has again when these end;
	// nobody else has them meanwhile. Under the policy slurm alone.
	Paused bool
	Also   []string // queues beside Queue that may run it
	QOS    string
	// Array names what the job is a part of, of which at most ArrayLimit parts
	// run at once (Slurm's %N); 0: any number.
	Array      string
	ArrayLimit int
	// Reservation names the one the job is to run in, and nowhere else.
	Reservation string
	// Within are the nodes that it runs on, and on no others; empty: on any. Without are
	// nodes that it does not run on.
	Within, Without []string
	Unfit           string // why no node takes it, be they all empty, where its system is known to see that; "": one may
	Takes           []Take // of Caps
}

// Dependency keeps a job waiting for another. One of a job that the state does
// not have is taken as met, as by a job that ended long ago: so Slurm 22.05 does,
// whichever the trigger.
type Dependency struct {
	ID    string
	On    Trigger
	Delay time.Duration // for so long after that
}

// Trigger is what a dependency waits for.
type Trigger string

// The triggers. How a job will end is not foretold: in a forecast every job that starts ends well,
// also one that is believed to run to its limit, so that one that waits for a failure is refused.
const (
	OnEnd     Trigger = "end"
	OnStart   Trigger = "start"
	OnSuccess Trigger = "success"
	OnFailure Trigger = "failure"
	Never     Trigger = "never" // the other has ended, and not as it was to (Slurm's DependencyNeverSatisfied)
)

// Placement is the part of a running job on one node.
type Placement struct {
	Node  string
	Procs int
}

// Reservation keeps processors of nodes for some time for the jobs it admits:
// those whose user, group, account or queue it lists, and those that name it.
// A job that names it runs inside it only (Slurm's --reservation); the others
// may use it and what is free beside it (Maui's access control lists).
type Reservation struct {
	Name       string
	Start, End time.Time
	Nodes      []string
	Procs      int // where Nodes is empty
	Each       int // processors of each of Nodes; 0: all of them
	Users      []string
	Groups     []string
	Accounts   []string
	Queues     []string
	ByName     bool // admits only jobs that name it
	// Flex: jobs that name it may also begin before it, end after it, and use what
	// is free beside it (Slurm's FLEX).
	Flex bool
}
