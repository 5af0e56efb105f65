package scheduler

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// State is where a job of the global queue is.
type State string

// The states. The last three are final.
const (
	Waiting    State = "waiting"    // in the global queue
	Booked     State = "booked"     // has a slot; being launched
	Sent       State = "sent"       // at its site, waits for its slot
	Running    State = "running"    // never moved from here on
	Collecting State = "collecting" // has ended; its output is being brought
	Done       State = "done"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
)

// Final tells whether the job will not change any more.
func (s State) Final() bool { return s == Done || s == Failed || s == Cancelled }

// Plugins is the state in the words that all back-ends share.
func (s State) Plugins() plugins.State {
	switch s {
	case Waiting, Booked, Sent:
		return plugins.Queued
	case Collecting:
		return plugins.Finishing
	}
	return plugins.State(s)
}

// Fallback is what becomes of a job that is not in its slot in time.
type Fallback string

// The policies.
const (
	Replan Fallback = "replan" // withdrawn from the site and planned again
	Stay   Fallback = "stay"   // stays in the site's queue
)

// Job is one job as the queue keeps it. Times are seconds of Unix time.
type Job struct {
	ID       string   `json:"id"`
	Seq      int64    `json:"-"` // order of arrival
	Owner    string   `json:"owner"`
	Key      string   `json:"key"`
	VO       string   `json:"vo,omitempty"`
	FQANs    []string `json:"fqans,omitempty"`
	Named    string   `json:"named,omitempty"`  // VO that the credential named, believed or not, that it was handed in with
	Lapses   bool     `json:"lapses,omitempty"` // VO and FQANs were shown by what ends: for how long they count, others say
	Name     string   `json:"name"`
	JDL      string   `json:"jdl"`
	Priority float64  `json:"priority"` // global: what each processor-hour costs
	Fallback Fallback `json:"fallback,omitempty"`
	Procs    int32    `json:"procs"`
	Nodes    int32    `json:"nodes,omitempty"`
	Memory   int32    `json:"memory,omitempty"` // MB per node
	GPUs     int32    `json:"gpus,omitempty"`
	Wall     int32    `json:"wall"` // seconds
	Tags     []string `json:"tags,omitempty"`
	Match    string   `json:"match"`            // equal for jobs that match the same resources
	Inputs   []string `json:"inputs,omitempty"` // small files that came with it

	State    State  `json:"state"`
	Native   string `json:"native,omitempty"` // the site's own word
	Reason   string `json:"reason,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Node     string `json:"node,omitempty"`
	Ending   State  `json:"ending,omitempty"` // of a collecting job: what it will be
	Cancel   bool   `json:"cancel,omitempty"` // its owner wants it to end
	OnHold   bool   `json:"on_hold,omitempty" doc:"its owner holds it: it is not planned until he releases it"`

	Submitted int64          `json:"submitted"`
	Sent      int64          `json:"sent,omitempty"`
	Started   int64          `json:"started,omitempty"`
	Ended     int64          `json:"ended,omitempty"`
	SeenRun   int64          `json:"seen_run,omitempty"` // when it was first seen running
	Booking   *Place         `json:"booking,omitempty"`
	Outlook   *Place         `json:"outlook,omitempty"` // planned, not booked yet
	Handle    plugins.Handle `json:"handle,omitzero"`

	Blocked  string           `json:"blocked,omitempty"` // what stands most in the way of a slot
	Held     bool             `json:"held,omitempty"`    // its owner's credential has run out: it is not planned until there is a newer one
	Bypassed int32            `json:"bypassed,omitempty"`
	Tries    int              `json:"tries,omitempty"`  // bookings made
	Past     int              `json:"past,omitempty"`   // the greatest number that a request of it at a site was found to have
	Misses   int              `json:"misses,omitempty"` // of them not kept
	Withdraw bool             `json:"withdraw,omitempty"`
	Moved    int              `json:"moved,omitempty"`   // times it was taken out of a queue for a better place
	Avoid    map[string]int64 `json:"avoid,omitempty"`   // clusters, until when
	Leads    map[string]int64 `json:"leads,omitempty"`   // seconds that sending took where it was too slow, by cluster
	Charged  int64            `json:"charged,omitempty"` // thousandths
	Output   []string         `json:"output,omitempty"`
	Told     int64            `json:"told,omitempty"` // until when the credential is good that its owner was warned of

	unknown map[string]json.RawMessage // fields of newer programs: written as they were read

	wishes string   // its wish where it avoids nobody; "": not worked out yet
	parsed *jdl.Job // what its JDL says, which nobody changes, as other jobs have the same one; nil: it is read again
}

// Place is a booking, or the outlook of one.
type Place struct {
	Key     string  `json:"key,omitempty"`
	Cluster string  `json:"cluster"`
	From    int64   `json:"from"`
	To      int64   `json:"to"`   // From + wall time
	Done    int64   `json:"done"` // expected completion
	Chance  float64 `json:"chance"`
	Told    float64 `json:"told,omitempty"` // the chance as the agent told it
	Risk    float64 `json:"risk,omitempty"` // as wire.Deep has it; 0: 1
	Made    int64   `json:"made"`
	Parts   []Share `json:"parts,omitempty"`
	// Turn: no slot, but its turn in the site's own queue, which is foretold for From.
	Turn bool `json:"turn,omitempty"`
	// Early and Late are when the turn has come with one chance in ten, and nine; 0: not told.
	Early int64 `json:"early,omitempty"`
	Late  int64 `json:"late,omitempty"`
	// Endpoint and Interface are where its job is sent, as the configuration said when it was made.
	Endpoint  string `json:"endpoint,omitempty"`
	Interface string `json:"interface,omitempty"`
	// body is what the site's agent is told, and nobody changes; nil: the table has it.
	body *wire.Booking
}

// Share is what a booking takes of one node.
type Share struct {
	Slot uint64 `json:"slot"`
	Node string `json:"node"`
	CPUs int32  `json:"cpus"`
}

// request is our name for one booking of the job at its site.
func (j *Job) request() string { return j.ID + "-" + strconv.Itoa(j.Tries) }

// newID makes ids that sort by time; those of one millisecond are told apart by chance.
func newID(now time.Time, chance io.Reader) string {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	id := make([]byte, 20)
	v := uint64(now.UnixMilli())
	for i := 9; i >= 0; i-- {
		id[i] = digits[v&31]
		v >>= 5
	}
	if chance == nil {
		chance = rand.Reader
	}
	var r [10]byte
	io.ReadFull(chance, r[:]) // a simulation's never fails, and the system's ends the program
	for i, b := range r {
		id[10+i] = digits[b&31]
	}
	return "s" + string(id)
}

// DefaultWall is the wall time, in seconds, of a job that names none.
const DefaultWall = 3600

// describe takes from a job's description what planning needs.
func (j *Job) describe(said *reading) error {
	job := said.job
	if job.VO != "" && !j.member(job.VO) {
		return &strangeError{job.VO}
	}
	d := job.Demand
	if most := max(d.Slots, d.Nodes, d.GPUs); most > maxAsked {
		return fmt.Errorf("it asks for %d processors, nodes or GPUs: no cluster has more than %d", most, maxAsked)
	}
	j.Priority = cmp.Or(job.Priority, j.Priority, 1)
	j.wishes, j.parsed = "", nil
	j.JDL, j.Name, j.Tags, j.Match = said.text, job.Name, d.RuntimeEnvironments, said.match
	j.VO = cmp.Or(job.VO, j.VO)
	j.Procs, j.Nodes, j.GPUs = int32(max(1, d.Slots)), int32(d.Nodes), int32(d.GPUs)
	j.Wall = int32(min(d.WallTime/time.Second, 1<<30))
	if j.Wall <= 0 {
		j.Wall = DefaultWall
	}
	if j.Nodes == 1 || j.Procs == 1 {
		j.Nodes = min(j.Nodes, 1)
	}
	each := j.Procs
	if j.Nodes > 1 {
		each = (j.Procs + j.Nodes - 1) / j.Nodes
	}
	j.Memory = int32(min(d.Memory*int64(each), 1<<30))
	return nil
}

// read is what its JDL says.
func (j *Job) read() (*jdl.Job, error) {
	if j.parsed != nil {
		return j.parsed, nil
	}
	return jdl.LoadJob(j.JDL)
}

// strangeError is a job for a VO that its owner has not shown to belong to.
type strangeError struct{ vo string }

// Error implements error.
func (e *strangeError) Error() string {
	return fmt.Sprintf("it is for VO %q: your credential does not show you to be a member of that", e.vo)
}

// maxAsked is above what any cluster has, and far below what the numbers here hold.
const maxAsked = 100_000_000

// member tells whether the owner has shown that he belongs to a VO.
func (j *Job) member(vo string) bool {
	return vo == j.VO || slices.ContainsFunc(j.FQANs, func(f string) bool {
		of, _, _ := strings.Cut(strings.TrimPrefix(f, "/"), "/")
		return of == vo
	})
}
