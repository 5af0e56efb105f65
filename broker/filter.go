package broker

import (
	"fmt"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
)

// FilterName names what rejects resources, in tables and JSON.
type FilterName string

// The filters, and what rejects resources after them.
const (
	BySite         FilterName = "site"
	ByTried        FilterName = "tried"
	ByState        FilterName = "state"
	ByView         FilterName = "view"
	ByAccess       FilterName = "access"
	ByProtocol     FilterName = "protocol"
	ByWallTime     FilterName = "wall time"
	ByCPUTime      FilterName = "cpu time"
	ByMemory       FilterName = "memory"
	ByDisk         FilterName = "disk"
	BySlots        FilterName = "slots"
	ByQueue        FilterName = "queue"
	ByQueueLimit   FilterName = "queue limit"
	ByEnvironment  FilterName = "runtime environment"
	ByFiles        FilterName = "files"
	ByDowntime     FilterName = "downtime"
	ByAge          FilterName = "age"
	ByRequirements FilterName = "requirements"
	ByHealth       FilterName = "health" // bans, monitoring, the caller's own experience
	ByRank         FilterName = "rank"
)

// Filter decides whether a resource may run a job at all. One value judges one
// job after the other, not several at once.
type Filter struct {
	Name   FilterName
	Reject func(*jdl.Job, *glue.Resource) *Reason // nil: passes
	// Pass, where there is one, says of many resources at once what Reject
	// says of each: it returns the rows of the table that pass. A filter that
	// has it judges by an expression of the job's, clause by clause.
	Pass func(job *jdl.Job, table *classad.Table, rows []int32) []int32
	// Of, where there is one, names what the filter looks at of a job: jobs for
	// which it is equal are judged alike. all: every resource passes.
	Of func(*jdl.Job) (key string, all bool)
	// Timed filters may judge the same record differently at another time.
	Timed bool
	// Reads, where there is one, names the published attributes that the filter
	// looks at for jobs with a key, of a record nothing else.
	Reads func(*jdl.Job) []string
	lets  func(*jdl.Job, *glue.Resource) bool // says the same as Reject without a reason, which costs memory; nil: Reject
	// evaluation, where there is one, is what the filter evaluates a job's expressions by, with what may be spent on them.
	evaluation func(*jdl.Job) *classad.Evaluation
}

// passes reports whether a resource passes.
func (f *Filter) passes(job *jdl.Job, res *glue.Resource) bool {
	if f.lets != nil {
		return f.lets(job, res)
	}
	return f.Reject(job, res) == nil
}

// Reason says why a resource is rejected.
type Reason struct {
	Filter    FilterName `json:"filter"`
	Want      Fact       `json:"want"`             // by the job
	Have      Fact       `json:"have"`             // at the resource
	Clause    *Clause    `json:"clause,omitempty"` // of Requirements
	Temporary bool       `json:"temporary"`        // may pass later without a change of the job
	Unknown   bool       `json:"unknown"`          // the value is not published
	limit     string     // "memory": the quantity that the job wants more of than there is; "" for none
}

// String is "want X, have Y".
func (r *Reason) String() string {
	if r.Want.Kind == Unspoken {
		return r.Have.String()
	}
	return fmt.Sprintf("want %s, have %s", r.Want, r.Have)
}

// limited is an amount of what is limited, with that named once.
func (r *Reason) limited(amount string) string {
	switch r.Want.Unit {
	case GPUs, SlotsOnNode:
		return amount
	case Slots:
		return amount + strings.TrimPrefix(r.limit, "slots")
	}
	return r.limit + " " + amount
}

// Unknown says what a value that is not published means for a filter.
type Unknown string

// The policies for values that are not published.
const (
	Keep          Unknown = "keep"   // may well be there: the resource passes
	RejectUnknown Unknown = "reject" // is not there: the resource is rejected
)

// Identity is who submits.
type Identity struct {
	Subject string   `json:"subject,omitempty"` // distinguished name; "" without a certificate
	VO      string   `json:"vo,omitempty"`      // "" when none is known
	FQANs   []string `json:"fqans,omitempty"`   // VOMS attributes, /vo/group/Role=x
}

// String is as whom access is judged.
func (who Identity) String() string {
	switch {
	case len(who.FQANs) > 0:
		return "the holder of " + strings.Join(who.FQANs, ", ")
	case who.VO != "":
		return "a plain member of " + who.VO
	case who.Subject != "":
		return who.Subject + " of no VO"
	}
	return "nobody known"
}

// Rules are the circumstances filters judge under.
type Rules struct {
	Now      time.Time
	Identity Identity
	Unknown  Unknown // "" means Keep
	// Speaks tells whether a back-end serves an interface; nil: any will do.
	Speaks     func(iface string) bool
	Interfaces []string // what Speaks accepts, for messages
	// Moves tells whether what has an interface fetches input files from URLs of a scheme, or (out) sends output files
	// there; nil: from and to anywhere.
	Moves func(iface, scheme string, out bool) bool
	// ReadOnly tells whether a back-end only shows what has an interface; nil:
	// there are none such.
	ReadOnly func(iface string) bool
	Shown    bool     // what is only shown passes too: nothing will be sent
	Sites    []string // --site: names or patterns one of which must fit; empty: any
	MaxAge   time.Duration
	Avoid    map[string]bool // ids of resources where the job was tried before
}

// avoiding are the rules for a job that keeps away from some resources.
func (r Rules) avoiding(avoid func(*jdl.Job) []string, job *jdl.Job) Rules {
	if avoid == nil {
		return r
	}
	r.Avoid = map[string]bool{}
	for _, id := range avoid(job) {
		r.Avoid[id] = true
	}
	return r
}

// defaultMaxAge is for how long a record without own validity is believed:
// production information systems keep vanished entries for hours.
const defaultMaxAge = 12 * time.Hour

// DefaultFilters are all filters, cheapest first; what removes most stands
// early.
func DefaultFilters(rules Rules) []Filter { return filtersBy(&rules) }

// filtersBy are DefaultFilters by rules that may change from one plan to the next.
func filtersBy(r *Rules) []Filter {
	return []Filter{
		{Name: BySite, Reject: r.site, Of: r.ofSite},                  // only those the user named
		{Name: ByTried, Reject: r.tried, Of: r.ofTried},               // not where the job failed before
		{Name: ByState, Reject: r.state, Of: ofNothing},               // takes jobs now
		{Name: ByView, Reject: r.view, Of: ofVO},                      // not the whole where the VO has its own view
		{Name: ByAccess, Reject: r.access, Of: ofVO, lets: letsIn(r)}, // this VO may run there
		{Name: ByProtocol, Reject: r.protocol, Of: ofNothing},         // we can talk to it
		{Name: ByWallTime, Reject: r.wallTime, Of: ofWallTime},        // fits the queue's limit
		{Name: ByCPUTime, Reject: r.cpuTime, Of: ofCPUTime},
		{Name: ByMemory, Reject: r.memory, Of: ofMemory},                    // fits share and node
		{Name: ByDisk, Reject: r.disk, Of: ofDisk},                          // and the share's working space
		{Name: BySlots, Reject: r.slots, Of: ofSlots},                       // wide enough
		{Name: ByQueue, Reject: inQueue, Of: ofQueue},                       // the one that the job names
		{Name: ByQueueLimit, Reject: r.queueLimit, Of: ofNothing},           // not full
		{Name: ByEnvironment, Reject: r.environments, Of: ofEnvironments},   // software is installed
		{Name: ByFiles, Reject: movesFiles(r), Of: ofFiles},                 // what it takes from and to other places
		{Name: ByDowntime, Reject: r.downtime, Of: ofDowntime, Timed: true}, // up while the job runs
		{Name: ByAge, Reject: r.age, Of: ofNothing, Timed: true},            // the record is believable
		requirementsFilter(), // the job's expression: dearest, so last
	}
}

// missing judges a value that is not published.
func (r *Rules) missing(want Fact, what string) *Reason {
	if r.Unknown != RejectUnknown {
		return nil
	}
	return &Reason{Want: want, Have: Fact{Kind: NotPublished, Name: what}, Unknown: true}
}

// atMost checks that what the job needs is within a published limit.
func (r *Rules) atMost(what string, need float64, limit glue.Opt[float64], unit Unit) *Reason {
	if need <= 0 {
		return nil
	}
	if !limit.OK {
		return r.missing(amount(need, unit), what)
	}
	if need <= limit.V {
		return nil
	}
	return &Reason{Want: amount(need, unit), Have: amount(limit.V, unit), limit: what}
}

func seconds(o glue.Opt[time.Duration]) glue.Opt[float64] {
	return glue.Opt[float64]{V: o.V.Seconds(), OK: o.OK}
}

func float(o glue.Opt[int64]) glue.Opt[float64] {
	return glue.Opt[float64]{V: float64(o.V), OK: o.OK}
}
