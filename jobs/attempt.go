package jobs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/plugins"
)

const (
	// SettleTime is for how long after its outcome became uncertain a request
	// may still arrive: longer than servers keep one whose client is gone
	// (five minutes, the largest limit that one of them has by default).
	SettleTime = 6 * time.Minute
	// StrayTime is for how long an attempt that was not found is looked up all
	// the same.
	StrayTime = 24 * time.Hour
	// MissingTime is for how long a back-end must not know a job before that
	// is believed: one that has just been started may not have read them all.
	MissingTime = 2 * time.Minute
	// updateStep is how exact Record.Updated is where nothing else has
	// changed: asking again and again about jobs that go on writes nothing.
	updateStep = 5 * time.Minute
	// strayTries is how many attempts at one resource may vanish before the
	// job goes elsewhere.
	strayTries = 3
)

// Past is an attempt that is over.
type Past struct {
	Number   int            `json:"number,omitempty"` // 1 is the first; 0: written by an older version
	Resource string         `json:"resource"`
	At       string         `json:"at,omitempty"`
	Handle   plugins.Handle `json:"handle"`
	// State is how it ended; submitting: it is not known whether it arrived.
	State     plugins.State `json:"state"`
	Native    string        `json:"native,omitempty"`
	Reason    string        `json:"reason,omitempty"`
	ExitCode  *int          `json:"exit_code,omitempty"`
	Host      string        `json:"host,omitempty"`
	Sent      time.Time     `json:"sent,omitzero"`
	Submitted time.Time     `json:"submitted,omitzero"`
	Started   time.Time     `json:"started,omitzero"`
	Ended     time.Time     `json:"ended,omitzero"`
	WallTime  time.Duration `json:"wall_time,omitempty"`
	CPUTime   time.Duration `json:"cpu_time,omitempty"`
	MaxMemory int64         `json:"max_memory,omitempty" unit:"kb"` // kB
	Output    string        `json:"output,omitempty"`               // where its output was brought
	// Assigned is the site at which an attempt at a tree of managers has got the job a place, Holding whether it is held.
	Assigned string  `json:"assigned,omitempty"`
	Holding  Holding `json:"holding,omitempty"`
	// Until is for how long an attempt that may turn up late is looked up, or a place that is held seen to.
	Until time.Time `json:"until,omitzero"`
}

// loose reports whether an attempt may still turn up.
func (p Past) loose(now time.Time) bool {
	return p.Number > 0 && p.Holding == "" && now.Before(p.Until)
}

// requestID is the id that travels with an attempt: the job's own for the
// first, "id-2" for the second. So a look-up never finds an older attempt.
func requestID(id string, attempt int) string {
	if attempt <= 1 {
		return id
	}
	return id + "-" + strconv.Itoa(attempt)
}

// number is that of the present attempt.
func (r *Record) number() int {
	if r.Attempt > 0 {
		return r.Attempt
	}
	return r.Attempts + r.Spared
}

// requestID names the present attempt at the back-end.
func (r *Record) requestID() string { return requestID(r.ID, r.number()) }

// loose is until when some attempt of the job is looked up; zero: none is.
func (r *Record) loose() time.Time {
	var until time.Time
	for _, p := range r.Past {
		if p.Until.After(until) {
			until = p.Until
		}
	}
	return until
}

// keepPast puts the present attempt among the past ones, with what p says.
func (r *Record) keepPast(p Past) {
	p.Number, p.Resource, p.At, p.Handle = r.number(), r.Resource, r.At, r.Handle
	p.Sent, p.Submitted = r.Sent, r.Submitted
	r.Past = append(r.Past, p)
}

// stray puts the present attempt among the past ones as one that may turn up.
func (r *Record) stray(why string, now time.Time) {
	r.keepPast(Past{State: plugins.Submitting, Reason: why, Until: now.Add(StrayTime)})
}

// adopt makes a past attempt the present one.
func (r *Record) adopt(attempt int) {
	at := slices.IndexFunc(r.Past, func(p Past) bool { return p.Number == attempt })
	if at < 0 {
		return
	}
	p := r.Past[at]
	r.Past = slices.Delete(r.Past, at, at+1)
	r.Attempt, r.Resource, r.At, r.Sent, r.Submitted = p.Number, p.Resource, p.At, p.Sent, p.Submitted
	r.Site, r.Predicted, r.Guessed, r.StartOdds, r.Environments = "", 0, false, nil, nil
}

// again makes the record ready for a new attempt, keeping the old one with
// all that is known of it.
func (r *Record) again(now time.Time) {
	leave(r)
	if r.Final() && r.Handle.ID != "" {
		p := Past{State: r.State, Native: r.Native, Reason: r.Reason, ExitCode: r.ExitCode, Host: r.Host,
			Started: r.Started, Ended: r.Ended, WallTime: r.WallTime, CPUTime: r.CPUTime, MaxMemory: r.MaxMemory, Output: r.Output}
		if r.State == plugins.Lost {
			p.Until = now.Add(StrayTime) // its back-end may come to know it again
		}
		r.keepPast(p)
	}
	r.Native, r.Reason, r.Owner, r.Fault = "", "", "", ""
	r.nowhere()
	r.ExitCode, r.Host, r.Output = nil, "", ""
	r.Submitted, r.Started, r.Ended, r.Expires, r.Cancelled = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	r.WallTime, r.CPUTime, r.MaxMemory, r.NoRetry = 0, 0, 0, false
	r.Unmatched, r.NotBefore, r.TakenBack, r.Restarted = time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// nowhere is that no back-end has the job.
func (r *Record) nowhere() {
	r.Handle.ID, r.Handle.Owner = "", ""
	r.certain()
}

// certain is that nothing about the present attempt is open.
func (r *Record) certain() { r.Uncertain, r.Since = time.Time{}, clock.Reading{} }

// untry lets the job go to a resource again where it was not really tried;
// not for ever, where requests vanish.
func (r *Record) untry(resource string) {
	vanished := 0
	for _, p := range r.Past {
		if p.Resource == resource && p.State == plugins.Submitting {
			vanished++
		}
	}
	if n := len(r.Tried); vanished < strayTries && n > 0 && r.Tried[n-1] == resource {
		r.Tried = r.Tried[:n-1]
	}
}

// avoided are the resources where the job is not to be sent again. One that
// ran it to its end is no worse than others.
func (r *Record) avoided() []string {
	ran := r.State == plugins.Done || r.Scripts != nil && r.Scripts.JobState == plugins.Done
	if n := len(r.Tried); ran && n > 0 && r.Tried[n-1] == r.Resource {
		return r.Tried[:n-1]
	}
	return r.Tried
}

// missed notes that the back-end does not know the job, and reports whether
// it has not for so long that it is believed.
func (r *Record) missed(asked clock.Reading, now time.Time) bool {
	passed, ok := asked.Since(r.Since)
	if r.Uncertain.IsZero() || !ok {
		r.Uncertain, r.Since = now, asked
		return false
	}
	return passed >= MissingTime
}

// tell writes what the back-end says of the job, but for its state.
func (r *Record) tell(st plugins.Status) {
	r.Native, r.Reason, r.Fault = bounded(st.Native), bounded(st.Reason), st.Fault
	if st.Err != nil && r.Reason == "" {
		r.Reason = bounded(st.Err.Error())
	}
	if st.ExitCode.OK {
		code := st.ExitCode.V
		r.ExitCode = &code
	}
	keep(&r.Host, bounded(st.Node))
	keep(&r.Started, sensible(st.Started))
	keep(&r.Ended, sensible(st.Ended))
	keep(&r.Expires, sensible(st.Expires))
	keep(&r.WallTime, st.WallTime)
	keep(&r.CPUTime, st.CPUTime)
	keep(&r.MaxMemory, st.MaxMemory)
}

// mostSaid bounds a text of a back-end's that a record keeps, in bytes.
const mostSaid = 4 << 10

func bounded(text string) string {
	if len(text) <= mostSaid {
		return text
	}
	return strings.ToValidUTF8(text[:mostSaid], "") + "..."
}

// sensible is a time of a back-end's that a record can keep, else none: JSON
// has no years beyond 9999, and one record that cannot be written would keep
// those from being written that are written with it.
func sensible(t time.Time) time.Time {
	if t.Unix() < 0 || t.Unix() > latest {
		return time.Time{}
	}
	return t
}

// latest is the year 9000, in seconds since 1970.
const latest = 221_845_392_000

// keep replaces old by new where that is known.
func keep[T comparable](old *T, new T) {
	var zero T
	if new != zero {
		*old = new
	}
}

// summary is what is worth a line in the log.
func (r *Record) summary() string {
	s := ""
	add := func(text string) {
		if s != "" {
			s += ", "
		}
		s += text
	}
	if r.Native != "" {
		add(r.Native)
	}
	if r.ExitCode != nil {
		add("exit code " + strconv.Itoa(*r.ExitCode))
	}
	if r.Host != "" {
		add("on " + r.Host)
	}
	if r.Reason != "" {
		add(r.Reason)
	}
	return s
}

// why says how the job ended.
func (r *Record) why() string {
	if r.Reason == "" && r.ExitCode != nil {
		return "exit code " + strconv.Itoa(*r.ExitCode)
	}
	return r.Reason
}
