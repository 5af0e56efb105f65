package maui

// Config is the site's configuration of Maui as far as it is modelled, by
// the names and with the defaults of maui.cfg. Read it with ReadConfig;
// the zero value is not usable, see NewConfig.
type Config struct {
	Backfill      string // BACKFILLPOLICY: FIRSTFIT, BESTFIT, GREEDY, PREEMPT or NONE
	Metric        string // BACKFILLMETRIC: PROCS, PROCSECONDS, SECONDS, PE or PESECONDS
	BackfillDepth int    // BACKFILLDEPTH: jobs that fit a window considered; 0: all

	ReservationPolicy string   // CURRENTHIGHEST, HIGHEST or NEVER
	Buckets           []Bucket // RESERVATIONDEPTH[i] with RESERVATIONQOSLIST[i]
	Threshold         string   // RESERVATIONTHRESHOLDTYPE: NONE, BYPASS, QUEUETIME or XFACTOR
	ThresholdValue    int64    // RESERVATIONTHRESHOLDVALUE, seconds for QUEUETIME

	Allocation string // NODEALLOCATIONPOLICY
	Access     string // NODEACCESSPOLICY: SHARED, SINGLEJOB, SINGLETASK or SINGLEUSER
	Preempt    string // PREEMPTPOLICY: only SUSPEND is possible over WIKI
	Defer      int64  // DEFERTIME, seconds
	Overrun    int64  // JOBMAXOVERRUN, seconds; -1: jobs are never cancelled
	Accrual    string // JOBPRIOACCRUALPOLICY: FULLPOLICY, QUEUEPOLICY or ALWAYS

	Weights   Weights
	FairShare FairShare
	Users     Credentials // USERCFG
	Groups    Credentials // GROUPCFG
	Accounts  Credentials // ACCOUNTCFG
	Classes   Credentials // CLASSCFG
	QOS       Credentials // QOSCFG
	System    Credential  // SYSCFG: QLIST and QDEF
	Nodes     map[string]NodeConfig
	Standing  []Standing // SRCFG

	MaxJobProcs int64 // SYSTEMMAXPROCPERJOB; 0: none
	MaxJobTime  int64 // SYSTEMMAXJOBWALLTIME, seconds
	MaxJobPS    int64 // SYSTEMMAXPROCSECONDPERJOB
	Poll        int64 // RMPOLLINTERVAL, seconds

	MachineSpeed bool // USEMACHINESPEED: also the limits of jobs that run already when they are first seen go by the speed of their nodes
}

// Bucket is one group of priority reservations: so many of the jobs whose
// QOS it lists (none listed: those of every QOS) hold one.
type Bucket struct {
	Depth int
	QOS   []string
	Named bool // RESERVATIONQOSLIST was given
}

// FairShare is the usage history: FSDEPTH windows of FSINTERVAL seconds,
// each counting FSDECAY of the next.
type FairShare struct {
	Policy   string // FSPOLICY: NONE, DEDICATEDPS, DEDICATEDPES, UTILIZEDPS
	Interval int64
	Depth    int
	Decay    float64
}

// Credentials holds what is configured of users, groups, accounts,
// classes or QOS by name; DEFAULT is for those that say nothing themselves.
type Credentials map[string]*Credential

// Credential is one line of USERCFG, GROUPCFG, ACCOUNTCFG, CLASSCFG or QOSCFG.
type Credential struct {
	Priority   float64
	Target     float64 // FSTARGET, percent
	TargetMode byte    // 0, '+' floor, '-' ceiling, '^' or '%' cap
	QOSList    []string
	QOSMode    byte // of QLIST: 0 adds to what others allow, '&' keeps what is in both, '^' alone counts
	QOSDefault string
	Account    string // ADEF
	Active     Limits
	Idle       Limits
	Override   Limits   // of a QOS: OMAXJOB and the like
	OverIdle   Limits   // of a QOS: OMAXIJOB and the like
	MaxLimit   int64    // MAX.WCLIMIT, seconds
	MinLimit   int64    // MIN.WCLIMIT
	Limit      int64    // DEFAULT.WCLIMIT of a class
	Features   []string // DEFAULT.FEATURES of a class
	MinNodes   int64    // MIN.NODE
	MinTasks   int64    // MIN.PROC
	MaxNodes   int64    // MAX.NODE
	MaxTasks   int64    // MAX.PROC
	Flags      []string // QFLAGS or FLAGS
	QueueTime  float64  // QTWEIGHT
	XFactor    float64  // XFWEIGHT
	QTTarget   float64
	XFTarget   float64
}

// The quantities that Maui's throttling policies limit.
const (
	limitJobs = iota
	limitProcs
	limitNodes
	limitPS
	limitPE
	limitWC
	limitKinds
)

// Limits holds soft and hard limits by quantity (jobs, processors, nodes,
// processor seconds, processor equivalents, seconds of wall time); 0: none.
type Limits struct{ Soft, Hard [limitKinds]int64 }

// NodeConfig is a NODECFG line.
type NodeConfig struct {
	Partition string
	Features  []string
	Speed     float64
	Priority  float64
	MaxJobs   int
}

// Standing is a standing reservation (SRCFG): nodes kept for those on its
// lists, all the time.
type Standing struct {
	Name                                    string
	Hosts                                   []string
	Users, Groups, Accounts, Classes, QOSes []string
}

// Weights are the factors of the priority (administrator's guide 5.1.2):
// the sum over the components of component weight times subcomponent weight
// times value. Caps come before the weight; 0: no cap.
type Weights struct {
	Cred, FS, Serv, Targ, Res float64 // CREDWEIGHT, FSWEIGHT, SERVWEIGHT, TARGWEIGHT, RESWEIGHT
	Sub                       map[string]float64
	Caps                      map[string]float64
	XFMinLimit                int64 // XFMINWCLIMIT, seconds
	Negative                  bool  // ENABLENEGJOBPRIORITY
	RejectNegative            bool  // REJECTNEGPRIOJOBS
}

// NewConfig is the configuration of a Maui 3.3.1 with an empty maui.cfg.
func NewConfig() *Config {
	return &Config{
		Backfill: "FIRSTFIT", Metric: "PROCS", ReservationPolicy: "CURRENTHIGHEST",
		Buckets: []Bucket{{Depth: 1}}, Threshold: "NONE", Allocation: "LASTAVAILABLE", Access: "SHARED",
		Preempt: "REQUEUE", Defer: 3600, Overrun: -1, Accrual: "FULLPOLICY", Poll: 60,
		Weights:   Weights{Cred: 1, FS: 1, Serv: 1, Targ: 1, Res: 1, Sub: map[string]float64{"QUEUETIME": 1}, Caps: map[string]float64{}},
		FairShare: FairShare{Policy: "NONE", Interval: 86400, Depth: 7, Decay: 1},
		Users:     Credentials{}, Groups: Credentials{}, Accounts: Credentials{}, Classes: Credentials{},
		QOS: Credentials{}, Nodes: map[string]NodeConfig{},
	}
}

// of returns what is configured of a name, adding it where nothing is yet.
func (c Credentials) of(name string) *Credential {
	if c[name] == nil {
		c[name] = &Credential{}
	}
	return c[name]
}

// find returns what is configured of a name; never nil.
func (c Credentials) find(name string) *Credential {
	if found := c[name]; found != nil {
		return found
	}
	return &noCredential
}

// noCredential is what is configured of those who are not; it is never changed.
var noCredential Credential
