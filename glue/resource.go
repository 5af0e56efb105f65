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
	InterfaceWIKI    = "org.gridbroker.wiki"   // a resource manager by Maui's WIKI, which takes no jobs
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
	Duration time.Duration `json:"duration_seconds,omitzero"`
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
	ID   string `json:"id,omitzero"`    // unique in a snapshot: CEID, with "#VO" behind it for a VO's view
	CEID string `json:"ce_id,omitzero"` // GlueCEUniqueID, as published or made in its form (see CEUniqueID)
	Name string `json:"name,omitzero"`  // short, for people and --site: host/queue or the configured name
	Site string `json:"site,omitzero"`  // GLUE domain / site name
	CE   string `json:"ce,omitzero"`    // host name of the computing element
	// Cluster is the GLUE 1.3 name of the cluster behind the CE, which several
	// CEs of a site may share; "": not published.
	Cluster string `json:"cluster,omitzero"`
	Queue   string `json:"queue,omitzero"` // the LRMS queue (MappingQueue, GlueCEName)
	LRMS    string `json:"lrms,omitzero"`  // slurm, pbs, fork ...
	// ViewOf names the VO when this is a VO's view of a queue that other
	// resources of the snapshot share; slots must then be counted once per
	// CE and Queue.
	ViewOf string `json:"view_of,omitzero"`
	// Views lists the VOs all members of which have a view of their own of
	// this share: for them the view holds, not this resource.
	Views []string `json:"views,omitzero"`

	LRMSVersion    string       `json:"lrms_version,omitzero"`
	Implementation string       `json:"implementation,omitzero"` // of the CE: ARC, CREAM, HTCondor-CE ...
	ImplVersion    string       `json:"implementation_version,omitzero"`
	Endpoints      []Endpoint   `json:"endpoints,omitzero"` // those for jobs, best first
	Services       []Endpoint   `json:"services,omitzero"`  // those that tell about it: InterfaceQueues, InterfaceEcho, InterfaceForecast
	Serving        ServingState `json:"serving,omitzero"`
	Access         []string     `json:"access,omitzero"` // ACL rules as published: VO:x, VOMS:/x/Role=y, DENY:...; empty: not published

	// State.
	Running                    Opt[int64]         `json:"running,omitzero"`
	Waiting                    Opt[int64]         `json:"waiting,omitzero"`
	Total                      Opt[int64]         `json:"total,omitzero"` // jobs
	PreLRMSWaiting             Opt[int64]         `json:"pre_lrms_waiting,omitzero"`
	Staging                    Opt[int64]         `json:"staging,omitzero"` // jobs held by the CE itself
	LocalRunning               Opt[int64]         `json:"local_running,omitzero"`
	LocalWaiting               Opt[int64]         `json:"local_waiting,omitzero"`
	FreeSlots                  Opt[int64]         `json:"free_slots,omitzero"`
	UsedSlots                  Opt[int64]         `json:"used_slots,omitzero"`
	TotalSlots                 Opt[int64]         `json:"total_slots,omitzero"`    // of the whole cluster behind the share
	AssignedSlots              Opt[int64]         `json:"assigned_slots,omitzero"` // of them, those given to the share
	FreeFor                    []SlotsFor         `json:"free_for,omitzero"`
	EstimatedWait              Opt[time.Duration] `json:"estimated_wait_seconds,omitzero"`
	WorstWait                  Opt[time.Duration] `json:"worst_wait_seconds,omitzero"`
	EstimatedWaitIsPlaceholder bool               `json:"estimated_wait_is_placeholder,omitzero"` // the provider published a "no idea" number
	StateIsPlaceholder         bool               `json:"state_is_placeholder,omitzero"`          // the dynamic provider is dead: state numbers were placeholders

	// Policy. Unlimited are the limits that the source says are none, and which have no value below.
	Unlimited         Limits             `json:"unlimited,omitzero"`
	MaxWallTime       Opt[time.Duration] `json:"max_wall_time_seconds,omitzero"`
	MinWallTime       Opt[time.Duration] `json:"min_wall_time_seconds,omitzero"`
	DefaultWallTime   Opt[time.Duration] `json:"default_wall_time_seconds,omitzero"`
	MaxCPUTime        Opt[time.Duration] `json:"max_cpu_time_seconds,omitzero"`
	DefaultCPUTime    Opt[time.Duration] `json:"default_cpu_time_seconds,omitzero"`
	MaxRunning        Opt[int64]         `json:"max_running,omitzero"`
	MaxWaiting        Opt[int64]         `json:"max_waiting,omitzero"`
	MaxTotal          Opt[int64]         `json:"max_total,omitzero"` // jobs
	MaxPreLRMSWaiting Opt[int64]         `json:"max_pre_lrms_waiting,omitzero"`
	MaxUserRunning    Opt[int64]         `json:"max_user_running,omitzero"`
	MaxSlotsPerJob    Opt[int64]         `json:"max_slots_per_job,omitzero"`
	MaxMemory         Opt[int64]         `json:"max_memory_mb,omitzero"`
	MaxVirtualMemory  Opt[int64]         `json:"max_virtual_memory_mb,omitzero"` // MB
	MaxDisk           Opt[int64]         `json:"max_disk_mb,omitzero"`           // MB of working space
	Preemption        Opt[bool]          `json:"preemption,omitzero"`
	Priority          Opt[int64]         `json:"priority,omitzero"`

	// Environment.
	Platform            string             `json:"platform,omitzero"` // GLUE 2.0 Platform_t: amd64, i386 ...
	OSFamily            string             `json:"os_family,omitzero"`
	OSName              string             `json:"os_name,omitzero"`
	OSVersion           string             `json:"os_version,omitzero"`
	OSCodename          string             `json:"os_codename,omitzero"` // GLUE 1.3 GlueHostOperatingSystemVersion: Core, bookworm ...
	CPUModel            string             `json:"cpu_model,omitzero"`
	CPUVendor           string             `json:"cpu_vendor,omitzero"`
	CPUClock            Opt[int64]         `json:"cpu_clock_mhz,omitzero"` // MHz
	MainMemory          Opt[int64]         `json:"main_memory_mb,omitzero"`
	VirtualMemory       Opt[int64]         `json:"virtual_memory_mb,omitzero"` // MB, of a node
	PhysicalCPUs        Opt[int64]         `json:"physical_cpus,omitzero"`
	LogicalCPUs         Opt[int64]         `json:"logical_cpus,omitzero"` // of the whole environment
	SMPSize             Opt[int64]         `json:"smp_size,omitzero"`     // CPUs of one node
	ConnectivityIn      Opt[bool]          `json:"connectivity_in,omitzero"`
	ConnectivityOut     Opt[bool]          `json:"connectivity_out,omitzero"`
	Benchmarks          map[string]float64 `json:"benchmarks,omitzero"`           // by lower-case type: hep-spec06, specint2000 ...
	RuntimeEnvironments []string           `json:"runtime_environments,omitzero"` // tags, whole: APPS/HEP/ATLAS-23.0.1
	GPUs                Opt[int64]         `json:"gpus,omitzero"`                 // per node
	CloseSEs            []StorageBinding   `json:"close_ses,omitzero"`

	// Provenance.
	Source    string        `json:"source,omitzero"` // name of the source that said it
	Schema    string        `json:"schema,omitzero"` // "glue1.3", "glue2.0", "nordugrid", "self"
	Created   time.Time     `json:"created,omitzero"`
	Validity  time.Duration `json:"validity_seconds,omitzero"` // 0: not published
	Fetched   time.Time     `json:"fetched,omitzero"`
	Stale     bool          `json:"stale,omitzero"` // answered from the cache because the source did not
	Conflicts []Conflict    `json:"conflicts,omitzero"`

	// Attrs holds attributes as published, by lower-cased name, for those
	// names that have no field above.
	Attrs map[string][]string `json:"attrs,omitzero"`

	tags         *tagList // RuntimeEnvironments as a value, shared; see Seal
	deadEstimate bool     // the response time is what a dead dynamic provider leaves
	at           int32    // where it lies while resources are merged
}

// Conflict is a field on which two views of one share disagree.
type Conflict struct {
	Field string `json:"field,omitzero"`
	Kept  string `json:"kept,omitzero"`
	Lost  string `json:"lost,omitzero"`
	By    string `json:"by,omitzero"` // the source or schema whose value was not kept
}
