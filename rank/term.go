package rank

import (
	"time"

	"gridbroker/glue"
	"gridbroker/jdl/classad"
)

// Candidate is a resource that survived the filters, with what is known about
// it beyond what it publishes.
type Candidate struct {
	Resource  *glue.Resource
	Endpoint  glue.Endpoint // the one the job would be sent to
	Age       time.Duration // how old the published state is
	JDLRank   classad.Value // Rank evaluated for this resource
	Forecasts []Forecast
	Queue     *QueueLength // from a queue-length service; nil: none answered
	// LRMSWaiting is how many jobs wait in all queues of the resource's batch
	// system, as published; not known: the resource's own are taken.
	LRMSWaiting glue.Opt[int64]
	History     *History // nil: nothing known
	Usage       Usage    // by this user's jobs; no jobs: nothing known
	Trouble     string   // a monitoring system's warning; "" when it is well
	Placed      Load     // what this call has already sent to the resource's slots
	Limit       Limit    // of jobs; the zero Limit is none
}

// Limit bounds how many jobs of one call a resource gets before it has shown
// that it runs jobs.
type Limit struct {
	Jobs int  // that may go there now
	On   bool // false: there is no limit
	// Wait keeps the jobs beyond the limit back for the resource, where that
	// is still their best choice; else they go elsewhere.
	Wait bool
}

// Load is what was sent to a pool of slots and what it publishes cannot know of.
type Load struct {
	Jobs, Slots int // placed by this call so far
	// EarlierJobs and EarlierSlots were sent by earlier calls after the state
	// was published. Services that are asked now know of them.
	EarlierJobs, EarlierSlots int
}

// slots is all that was sent since the state was published.
func (l Load) slots() int { return l.Slots + l.EarlierSlots }

// Forecast is one service's word on when the job would start.
type Forecast struct {
	Source    string
	Made      time.Time
	GoodUntil time.Time
	// Quantiles of the wait from Made on: Median is always there; Low and
	// High are the 10 % and 90 % quantiles, equal to Median where the
	// source gives a single number.
	Low, Median, High time.Duration
	// Quantiles are all that the source gave, in order of chance and of wait;
	// none where it gave no others.
	Quantiles []Quantile
	// PastError is the source's mean absolute error so far; OK=false: unknown.
	PastError glue.Opt[time.Duration]
}

// schedulerPass is how long a scheduler may take to look at a job that could start:
// what it plans for now it starts in its next pass, half a minute apart by default
// and longer where many wait.
const schedulerPass = time.Minute

// AtMost is the forecast of one who plans with the time limits of the jobs ahead: a
// wait that is rarely exceeded, but by a pass of the scheduler.
func AtMost(made, goodUntil time.Time, wait time.Duration) Forecast {
	wait = max(0, wait)
	return Forecast{Made: made, GoodUntil: goodUntil, Median: wait, High: wait + schedulerPass}
}

// Quantile is a wait that is not exceeded with some chance.
type Quantile struct {
	Chance float64       `json:"chance"` // above 0, below 1
	Wait   time.Duration `json:"wait"`   // from when the forecast is looked at
}

// QueueLength is what a queue-length service answers for one LRMS: the
// lengths of all its queues, and the jobs that wait in the CE itself, not yet
// handed to the LRMS.
type QueueLength struct {
	Source  string
	LRMS    string
	Lengths []int64 // L_j, one per queue
	CE      int64   // L_a; 0: the service does not tell it
	// Own is the length of the resource's own queue, where the service tells
	// queues apart.
	Own glue.Opt[int64]
	At  time.Time
}

// Total is N = ΣL_j + L_a, the published algorithm's total queue. Negative
// lengths count as empty.
func (q QueueLength) Total() int64 {
	n := count(q.CE)
	for _, l := range q.Lengths {
		n = count(n + count(l))
	}
	return n
}

// History is what the registry of tasks knows of a resource.
type History struct {
	// RunTime is the mean run time of such jobs on this hardware. A
	// Historian that knows them from other hardware only gives the time
	// scaled to this one, where the speeds of both are known.
	RunTime        glue.Opt[time.Duration]
	WaitCorrection glue.Opt[float64] // actual over predicted wait so far
	// Overhead is what a job takes there beside its run even when it waits for
	// nothing: from the request to the start, and to the end being known.
	Overhead glue.Opt[time.Duration]
	Success  glue.Opt[float64] // probability, 0..1
	Jobs     int
	// Proven is whether a job ended well there lately and none failed at once
	// since.
	Proven bool
	// Odd is how many jobs in a row ended well there in a small part of the
	// time they take elsewhere.
	Odd         int
	BannedUntil time.Time
	BanReason   string
	PinnedDown  bool // by the user, who alone ends that: BannedUntil is far away
	// AtMost is how many jobs may be sent there now: 1 when a ban has just
	// ended and the resource is on trial; 0: no limit.
	AtMost int
}

// Names of the terms. Forecast, Queue, Counters, Response and Prior are words on
// the wait, which is their mean by weight.
const (
	TermForecast    = "forecast" // a forecast of the start
	TermQueue       = "queue"    // a queue-length service
	TermCounters    = "counters" // published numbers of waiting jobs and free slots
	TermResponse    = "response" // published response time
	TermPrior       = "prior"    // the wait where nobody says anything
	TermStageIn     = "stage-in"
	TermRun         = "run"
	TermUsage       = "usage" // the part of the wall time asked for that the run is expected to take, within run
	TermSuccess     = "success"
	TermOverhead    = "overhead"
	TermEnvironment = "environment" // the time to deploy runtime environments, a part of the stage-in
	TermLimit       = "limit"       // the chance to end before the queue's limit
	TermProof       = "proof"       // the time jobs are kept back until others have shown that the resource works
)

// Units of raw values.
const (
	unitSeconds = "s"
	unitJobs    = "jobs ahead"
	unitChance  = "chance"
	unitAsked   = "of the time asked for"
)

// OnWait reports whether the term is a word on the wait.
func (t *Term) OnWait() bool {
	switch t.Name {
	case TermForecast, TermQueue, TermCounters, TermResponse, TermPrior:
		return true
	}
	return false
}

// Term is one part of a score.
type Term struct {
	Name    string        `json:"name"`
	Raw     float64       `json:"raw"`
	Unit    string        `json:"unit"`    // of Raw
	Seconds float64       `json:"seconds"` // its contribution to expected completion
	Source  string        `json:"source"`  // who said it: the resource's source, a service, "prior"
	Age     time.Duration `json:"age"`
	// Uncertainty is one standard deviation, in seconds.
	Uncertainty float64 `json:"uncertainty"`
	// Weight is the share of this word among those on the same thing, 0..1.
	Weight float64 `json:"weight"`
	OK     bool    `json:"ok"` // false: nobody said; Seconds is a stated prior
	// Quantiles are those of the wait that a forecast gave, less what has
	// passed since; of the term forecast alone.
	Quantiles []Quantile `json:"quantiles,omitempty"`
}

// Ranked is a candidate with its score.
type Ranked struct {
	Candidate
	Score float64 // higher is better; in policy hybrid minus the expected completion in seconds
	// Uncertainty is one standard deviation of the expected completion in
	// seconds; 0 in policies that do not estimate one.
	Uncertainty float64
	Terms       []Term
	// Unranked says why the job's Rank gives no number here; such a candidate
	// comes after all that have one, and the score decides among them.
	Unranked string
}

// StartOdds are the quantiles of the wait that the forecast with the most weight
// gave; none where no forecast gave any.
func (r *Ranked) StartOdds() []Quantile {
	var best *Term
	for i := range r.Terms {
		if t := &r.Terms[i]; len(t.Quantiles) > 0 && (best == nil || t.Weight > best.Weight) {
			best = t
		}
	}
	if best == nil {
		return nil
	}
	return best.Quantiles
}

// Dropped is a candidate that could not be ranked, and why.
type Dropped struct {
	Resource *glue.Resource
	Why      string
}
