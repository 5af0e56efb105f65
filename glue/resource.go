package glue

import "time"

// Opt is a value that may not have been published. OK=false means exactly
// that; placeholder numbers of dead information providers decode to it.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some returns a published value.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Or returns the value, or def when it was not published.
func (o Opt[T]) Or(def T) T {
	if o.OK {
		return o.V
	}
	return def
}

// ServingState is what a share does with jobs (GLUE 2.0 ServingState_t, and
// GLUE 1.3 GlueCEStateStatus lower-cased).
type ServingState string

// The serving states.
const (
	Production ServingState = "production" // accepts and runs
	Draining   ServingState = "draining"   // runs what it has, accepts nothing
	Queueing   ServingState = "queueing"   // accepts, starts nothing
	Closed     ServingState = "closed"     // neither
	Unknown    ServingState = ""           // not published, or a word not in the schema
)

// Interface names of endpoints, as GLUE 2.0 InterfaceName_t.
const (
	InterfaceARCREST = "org.nordugrid.arcrest"
	InterfaceSlurm   = "org.gridbroker.slurm" // Slurm commands, here or over SSH
	InterfaceLocal   = "org.gridbroker.local" // processes on this machine
)

// Endpoint is one address at which a share takes jobs.
type Endpoint struct {
	ID        string
	URL       string
	Interface string   // InterfaceARCREST, ...
	Versions  []string // interface versions published
	Health    string   // ok, warning, critical, unknown, other (GLUE 2.0 EndpointHealthState_t)
	Serving   ServingState
	Quality   string // production, testing ...
	Issuer    string // TrustedCA or issuer, informative
	Downtimes []Downtime
}

// Downtime is an announced interruption.
type Downtime struct {
	Start, End time.Time
	Info       string
}

// SlotsFor is a number of slots free for at most a duration (0: without
// limit), from GLUE2ComputingShareFreeSlotsWithDuration.
type SlotsFor struct {
	Slots    int64
	Duration time.Duration
}

// StorageBinding is a storage element close to the resource.
type StorageBinding struct {
	SE, Mount string
	Attrs     map[string][]string // GlueSE*, GlueSA* as published
}

// Resource is one computing share one can submit to. Durations are converted
// at the door (GLUE 1.3 publishes policy times in minutes, GLUE 2.0 in
// seconds), memory is in MB, clock speeds in MHz.
type Resource struct {
	ID    string // unique in a snapshot; GlueCEUniqueID or endpoint + share
	Name  string // short, for people and --site: host/queue or the configured name
	Site  string // GLUE domain / site name
	CE    string // host name of the computing element
	Queue string // the LRMS queue (MappingQueue, GlueCEName)
	LRMS  string // slurm, pbs, fork ...
	// ViewOf names the VO when this is a VO's view of a queue that other
	// resources of the snapshot share; slots must then be counted once per
	// CE and Queue.
	ViewOf string

	LRMSVersion    string
	Implementation string // of the CE: ARC, CREAM, HTCondor-CE ...
	ImplVersion    string
	Endpoints      []Endpoint // those for jobs, best first
	Serving        ServingState
	Access         []string // ACL rules as published: VO:x, VOMS:/x/Role=y, DENY:...; empty: not published

	// State.
	Running, Waiting, Total    Opt[int64] // jobs
	PreLRMSWaiting, Staging    Opt[int64] // jobs held by the CE itself
	LocalRunning, LocalWaiting Opt[int64]
	FreeSlots, UsedSlots       Opt[int64]
	TotalSlots                 Opt[int64]
	FreeFor                    []SlotsFor
	EstimatedWait, WorstWait   Opt[time.Duration]
	EstimatedWaitIsPlaceholder bool // the provider published a "no idea" number
	StateIsPlaceholder         bool // the dynamic provider is dead: state numbers were placeholders

	// Policy.
	MaxWallTime, MinWallTime, DefaultWallTime Opt[time.Duration]
	MaxCPUTime, DefaultCPUTime                Opt[time.Duration]
	MaxRunning, MaxWaiting, MaxTotal          Opt[int64] // jobs
	MaxPreLRMSWaiting, MaxUserRunning         Opt[int64]
	MaxSlotsPerJob                            Opt[int64]
	MaxMemory, MaxVirtualMemory               Opt[int64] // MB
	Preemption                                Opt[bool]
	Priority                                  Opt[int64]

	// Environment.
	Platform, OSFamily, OSName, OSVersion string
	CPUModel, CPUVendor                   string
	CPUClock                              Opt[int64] // MHz
	MainMemory, VirtualMemory             Opt[int64] // MB, of a node
	PhysicalCPUs, LogicalCPUs             Opt[int64] // of the whole environment
	SMPSize                               Opt[int64] // CPUs of one node
	ConnectivityIn, ConnectivityOut       Opt[bool]
	Benchmarks                            map[string]float64 // by lower-case type: hep-spec06, specint2000 ...
	RuntimeEnvironments                   []string           // tags, whole: APPS/HEP/ATLAS-23.0.1
	GPUs                                  Opt[int64]         // per node
	CloseSEs                              []StorageBinding

	// Provenance.
	Source    string // name of the source that said it
	Schema    string // "glue1.3", "glue2.0", "nordugrid", "self"
	Created   time.Time
	Validity  time.Duration // 0: not published
	Fetched   time.Time
	Stale     bool // answered from the cache because the source did not
	Conflicts []Conflict

	// Attrs holds attributes as published, by lower-cased name, for those
	// names that have no field above.
	Attrs map[string][]string
}

// Conflict is a field on which two views of one share disagree.
type Conflict struct {
	Field      string
	Kept, Lost string
	By         string // the source or schema whose value was not kept
}
