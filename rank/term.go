package rank

import (
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// Candidate is a resource that survived the filters, with what is known about
// it beyond what it publishes.
type Candidate struct {
	Resource  *glue.Resource
	Endpoint  glue.Endpoint // the one the job would be sent to
	JDLRank   jdl.Value     // Rank evaluated for this resource
	Forecasts []Forecast
	Queue     *QueueLength // from a queue-length service; nil: none answered
	History   *History     // nil: nothing known
	Placed    int          // slots this call has already sent there
}

// Forecast is one service's word on when the job would start.
type Forecast struct {
	Source    string
	Made      time.Time
	GoodUntil time.Time
	// Quantiles of the wait from Made on: Median is always there; Low and
	// High are the 10 % and 90 % quantiles, equal to Median where the
	// source gives a single number.
	Low, Median, High time.Duration
	// PastError is the source's mean absolute error so far; OK=false: unknown.
	PastError glue.Opt[time.Duration]
}

// QueueLength is what a queue-length service answers for one LRMS: the
// lengths of all its queues, and the jobs that wait in the CE itself, not yet
// handed to the LRMS.
type QueueLength struct {
	Source  string
	LRMS    string
	Lengths []int64 // L_j, one per queue
	CE      int64   // L_a
	At      time.Time
}

// History is what the registry of tasks knows of a resource.
type History struct {
	RunTime        glue.Opt[time.Duration] // mean run time of such jobs on this hardware
	WaitCorrection glue.Opt[float64]       // actual over predicted wait so far
	Success        glue.Opt[float64]       // probability, 0..1
	Jobs           int
	BannedUntil    time.Time
	BanReason      string
}

// Term is one part of a score.
type Term struct {
	Name    string        `json:"name"`
	Raw     float64       `json:"raw"`     // in the source's own unit
	Seconds float64       `json:"seconds"` // its contribution to expected completion
	Source  string        `json:"source"`  // who said it: the resource's source, a service, "prior"
	Age     time.Duration `json:"age"`
	// Uncertainty is one standard deviation, in seconds.
	Uncertainty float64 `json:"uncertainty"`
	OK          bool    `json:"ok"` // false: nobody said; Seconds is a stated prior
}

// Ranked is a candidate with its score.
type Ranked struct {
	Candidate
	Score float64 // higher is better; in policy hybrid minus the expected completion in seconds
	Terms []Term
}
