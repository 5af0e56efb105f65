package broker

import (
	"fmt"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// Filter decides whether a resource may run a job at all.
type Filter struct {
	Name   string
	Reject func(*jdl.Job, *glue.Resource) *Reason // nil: passes
}

// Reason says why a resource is rejected.
type Reason struct {
	Filter    string  `json:"filter"`
	Want      string  `json:"want"`             // by the job
	Have      string  `json:"have"`             // at the resource
	Clause    *Clause `json:"clause,omitempty"` // of Requirements
	Temporary bool    `json:"temporary"`        // may pass later without a change of the job
	Unknown   bool    `json:"unknown"`          // the value is not published
	bound     *bound
}

// String is "want X, have Y".
func (r *Reason) String() string {
	if r.Want == "" {
		return r.Have
	}
	return fmt.Sprintf("want %s, have %s", r.Want, r.Have)
}

// bound is a numeric limit that was missed, for the search of the nearest
// miss.
type bound struct {
	what  string // "memory"
	have  float64
	under bool // the job asks for more than there is
	text  func(float64) string
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
	Sites      []string // --site: names or patterns one of which must fit; empty: any
	MaxAge     time.Duration
	Avoid      map[string]bool // ids of resources where the job was tried before
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

// DefaultMaxAge is for how long a record without own validity is believed:
// production information systems keep vanished entries for hours.
const DefaultMaxAge = 12 * time.Hour

// Names of filters that are asked for elsewhere.
const (
	viewFilter   = "view"
	accessFilter = "access"
)

// DefaultFilters are all filters, cheapest first; what removes most stands
// early.
func DefaultFilters(r Rules) []Filter {
	return []Filter{
		{"site", r.site},                        // only those the user named
		{"tried", r.tried},                      // not where the job failed before
		{"state", r.state},                      // takes jobs now
		{viewFilter, r.view},                    // not the whole where the VO has its own view
		{accessFilter, r.access},                // this VO may run there
		{"protocol", r.protocol},                // we can talk to it
		{"wall time", r.wallTime},               // fits the queue's limit
		{"cpu time", r.cpuTime},                 //
		{"memory", r.memory},                    // fits share and node
		{"slots", r.slots},                      // wide enough
		{"queue limit", r.queueLimit},           // not full
		{"runtime environment", r.environments}, // software is installed
		{"downtime", r.downtime},                // up while the job runs
		{"age", r.age},                          // the record is believable
		{requirementsFilter, requirementsAlone}, // the job's expression: dearest, so last
	}
}

// missing judges a value that is not published.
func (r Rules) missing(want, what string) *Reason {
	if r.Unknown != RejectUnknown {
		return nil
	}
	return &Reason{Want: want, Have: what + " not published", Unknown: true}
}

// atMost checks that what the job needs is within a published limit.
func (r Rules) atMost(what string, need float64, limit glue.Opt[float64], text func(float64) string) *Reason {
	if need <= 0 {
		return nil
	}
	if !limit.OK {
		return r.missing(text(need), what)
	}
	if need <= limit.V {
		return nil
	}
	return &Reason{Want: text(need), Have: text(limit.V), bound: &bound{what, limit.V, true, text}}
}

func seconds(o glue.Opt[time.Duration]) glue.Opt[float64] {
	return glue.Opt[float64]{V: o.V.Seconds(), OK: o.OK}
}

func float(o glue.Opt[int64]) glue.Opt[float64] {
	return glue.Opt[float64]{V: float64(o.V), OK: o.OK}
}

func textMB(mb float64) string { return fmt.Sprintf("%.0f MB", mb) }

func textCount(unit string) func(float64) string {
	return func(n float64) string { return fmt.Sprintf("%.0f %s", n, unit) }
}

func textSeconds(s float64) string { return duration(time.Duration(s * float64(time.Second))) }

// duration writes a length of time without empty parts: 1h30m, 36h, 90s.
func duration(d time.Duration) string {
	d = d.Round(time.Second)
	s := ""
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / u.unit; n != 0 {
			s += fmt.Sprintf("%d%s", n, u.name)
			d -= n * u.unit
		}
	}
	if s == "" {
		return "0s"
	}
	return s
}
