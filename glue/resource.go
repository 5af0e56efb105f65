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
	InterfaceSlurm   = "org.gridbroker.slurm"  // Slurm commands, here or over SSH
	InterfaceCondor  = "org.gridbroker.condor" // HTCondor commands, here or over SSH
	InterfaceLocal   = "org.gridbroker.local"  // processes on this machine
	// InterfaceHTCondorCE is a schedd over the network, as BDIIs name it.
	InterfaceHTCondorCE = "org.opensciencegrid.htcondorce"
)

// Interface names of services beside a computing element that tell about it.
const (
	InterfaceQueues   = "org.gridbroker.queues"   // queue lengths as JSON
	InterfaceEcho     = "org.nordugrid.echo"      // queue lengths by the SOAP echo service
	InterfaceForecast = "org.gridbroker.forecast" // start forecasts as JSON
)

// Endpoint is one address at which a share takes jobs.
type Endpoint struct {
	ID        string       `json:"id,omitzero"`
	URL       string       `json:"url,omitzero"`
	Interface string       `json:"interface,omitzero"` // InterfaceARCREST, ...
	Versions  []string     `json:"versions,omitzero"`  // interface versions published
	Health    string       `json:"health,omitzero"`    // ok, warning, critical, unknown, other (GLUE 2.0 EndpointHealthState_t)
	Serving   ServingState `json:"serving,omitzero"`
	Quality   string       `json:"quality,omitzero"` // production, testing ...
	Issuer    string       `json:"issuer,omitzero"`  // TrustedCA or issuer, informative
	Downtimes []Downtime   `json:"downtimes,omitzero"`
}

// Downtime is an announced interruption.
type Downtime struct {
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	Info  string    `json:"info,omitzero"`
}

// SlotsFor is a number of slots free for at most a duration (0: without
// limit), from GLUE2ComputingShareFreeSlotsWithDuration.
type SlotsFor struct {
	Slots    int64         `json:"slots,omitzero"`
	Duration time.Duration `json:"duration,omitzero"`
}

// StorageBinding is a storage element close to the resource.
type StorageBinding struct {
	SE    string              `json:"se,omitzero"`
	Mount string              `json:"mount,omitzero"`
	Attrs map[string][]string `json:"attrs,omitzero"` // GlueSE*, GlueSA* as published
}

// Resource is one computing share one can submit to. Durations are converted
// at the door (GLUE 1.3 publishes policy times in minutes, GLUE 2.0 in
// seconds), memory is in MB, clock speeds in MHz.
type Resource struct {
	ID   string `json:"id,omitzero"`   // unique in a snapshot: CEID, with "#VO" behind it for a VO's view
	CEID string `json:"ceID,omitzero"` // GlueCEUniqueID, as published or made in its form (see CEUniqueID)
	Name string `json:"name,omitzero"` // short, for people and --site: host/queue or the configured name
	Site string `json:"site,omitzero"` // GLUE domain / site name
	CE   string `json:"ce,omitzero"`   // host name of the computing element
	// Cluster is the GLUE 1.3 name of the cluster behind the CE, which several
	// CEs of a site may share; "": not published.
	Cluster string `json:"cluster,omitzero"`
	Queue   string `json:"queue,omitzero"` // the LRMS queue (MappingQueue, GlueCEName)
	LRMS    string `json:"lrms,omitzero"`  // slurm, pbs, fork ...
	// ViewOf names the VO when this is a VO's view of a queue that other
	// resources of the snapshot share; slots must then be counted once per
	// CE and Queue.
	ViewOf string `json:"viewOf,omitzero"`
	// Views lists the VOs all members of which have a view of their own of
	// this share: for them the view holds, not this resource.
	Views []string `json:"views,omitzero"`

	LRMSVersion    string       `json:"lrmsVersion,omitzero"`
	Implementation string       `json:"implementation,omitzero"` // of the CE: ARC, CREAM, HTCondor-CE ...
	ImplVersion    string       `json:"implementationVersion,omitzero"`
	Endpoints      []Endpoint   `json:"endpoints,omitzero"` // those for jobs, best first
	Services       []Endpoint   `json:"services,omitzero"`  // those that tell about it: InterfaceQueues, InterfaceEcho, InterfaceForecast
	Serving        ServingState `json:"serving,omitzero"`
	Access         []string     `json:"access,omitzero"` // ACL rules as published: VO:x, VOMS:/x/Role=y, DENY:...; empty: not published

	// State.
	Running                    Opt[int64]         `json:"running,omitzero"`
	Waiting                    Opt[int64]         `json:"waiting,omitzero"`
	Total                      Opt[int64]         `json:"total,omitzero"` // jobs
	PreLRMSWaiting             Opt[int64]         `json:"preLRMSWaiting,omitzero"`
	Staging                    Opt[int64]         `json:"staging,omitzero"` // jobs held by the CE itself
	LocalRunning               Opt[int64]         `json:"localRunning,omitzero"`
	LocalWaiting               Opt[int64]         `json:"localWaiting,omitzero"`
	FreeSlots                  Opt[int64]         `json:"freeSlots,omitzero"`
	UsedSlots                  Opt[int64]         `json:"usedSlots,omitzero"`
	TotalSlots                 Opt[int64]         `json:"totalSlots,omitzero"`    // of the whole cluster behind the share
	AssignedSlots              Opt[int64]         `json:"assignedSlots,omitzero"` // of them, those given to the share
	FreeFor                    []SlotsFor         `json:"freeFor,omitzero"`
	EstimatedWait              Opt[time.Duration] `json:"estimatedWait,omitzero"`
	WorstWait                  Opt[time.Duration] `json:"worstWait,omitzero"`
	EstimatedWaitIsPlaceholder bool               `json:"estimatedWaitIsPlaceholder,omitzero"` // the provider published a "no idea" number
	StateIsPlaceholder         bool               `json:"stateIsPlaceholder,omitzero"`         // the dynamic provider is dead: state numbers were placeholders

	// Policy.
	MaxWallTime       Opt[time.Duration] `json:"maxWallTime,omitzero"`
	MinWallTime       Opt[time.Duration] `json:"minWallTime,omitzero"`
	DefaultWallTime   Opt[time.Duration] `json:"defaultWallTime,omitzero"`
	MaxCPUTime        Opt[time.Duration] `json:"maxCPUTime,omitzero"`
	DefaultCPUTime    Opt[time.Duration] `json:"defaultCPUTime,omitzero"`
	MaxRunning        Opt[int64]         `json:"maxRunning,omitzero"`
	MaxWaiting        Opt[int64]         `json:"maxWaiting,omitzero"`
	MaxTotal          Opt[int64]         `json:"maxTotal,omitzero"` // jobs
	MaxPreLRMSWaiting Opt[int64]         `json:"maxPreLRMSWaiting,omitzero"`
	MaxUserRunning    Opt[int64]         `json:"maxUserRunning,omitzero"`
	MaxSlotsPerJob    Opt[int64]         `json:"maxSlotsPerJob,omitzero"`
	MaxMemory         Opt[int64]         `json:"maxMemory,omitzero"`
	MaxVirtualMemory  Opt[int64]         `json:"maxVirtualMemory,omitzero"` // MB
	MaxDisk           Opt[int64]         `json:"maxDisk,omitzero"`          // MB of working space
	Preemption        Opt[bool]          `json:"preemption,omitzero"`
	Priority          Opt[int64]         `json:"priority,omitzero"`

	// Environment.
	Platform            string             `json:"platform,omitzero"` // GLUE 2.0 Platform_t: amd64, i386 ...
	OSFamily            string             `json:"osFamily,omitzero"`
	OSName              string             `json:"osName,omitzero"`
	OSVersion           string             `json:"osVersion,omitzero"`
	OSCodename          string             `json:"osCodename,omitzero"` // GLUE 1.3 GlueHostOperatingSystemVersion: Core, bookworm ...
	CPUModel            string             `json:"cpuModel,omitzero"`
	CPUVendor           string             `json:"cpuVendor,omitzero"`
	CPUClock            Opt[int64]         `json:"cpuClock,omitzero"` // MHz
	MainMemory          Opt[int64]         `json:"mainMemory,omitzero"`
	VirtualMemory       Opt[int64]         `json:"virtualMemory,omitzero"` // MB, of a node
	PhysicalCPUs        Opt[int64]         `json:"physicalCPUs,omitzero"`
	LogicalCPUs         Opt[int64]         `json:"logicalCPUs,omitzero"` // of the whole environment
	SMPSize             Opt[int64]         `json:"smpSize,omitzero"`     // CPUs of one node
	ConnectivityIn      Opt[bool]          `json:"connectivityIn,omitzero"`
	ConnectivityOut     Opt[bool]          `json:"connectivityOut,omitzero"`
	Benchmarks          map[string]float64 `json:"benchmarks,omitzero"`          // by lower-case type: hep-spec06, specint2000 ...
	RuntimeEnvironments []string           `json:"runtimeEnvironments,omitzero"` // tags, whole: APPS/HEP/ATLAS-23.0.1
	GPUs                Opt[int64]         `json:"gpus,omitzero"`                // per node
	CloseSEs            []StorageBinding   `json:"closeSEs,omitzero"`

	// Provenance.
	Source    string        `json:"source,omitzero"` // name of the source that said it
	Schema    string        `json:"schema,omitzero"` // "glue1.3", "glue2.0", "nordugrid", "self"
	Created   time.Time     `json:"created,omitzero"`
	Validity  time.Duration `json:"validity,omitzero"` // 0: not published
	Fetched   time.Time     `json:"fetched,omitzero"`
	Stale     bool          `json:"stale,omitzero"` // answered from the cache because the source did not
	Conflicts []Conflict    `json:"conflicts,omitzero"`

	// Attrs holds attributes as published, by lower-cased name, for those
	// names that have no field above.
	Attrs map[string][]string `json:"attrs,omitzero"`

	tags         *tagList // RuntimeEnvironments as a value, shared; see Seal
	deadEstimate bool     // the response time is what a dead dynamic provider leaves
}

// Conflict is a field on which two views of one share disagree.
type Conflict struct {
	Field string `json:"field,omitzero"`
	Kept  string `json:"kept,omitzero"`
	Lost  string `json:"lost,omitzero"`
	By    string `json:"by,omitzero"` // the source or schema whose value was not kept
}
