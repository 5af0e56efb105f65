package predict

import (
	"encoding/json"
	"fmt"
	"sync"

	"gridbroker/batch"
)

// Tracker keeps the promises of a Model for a cluster that is looked at again
// and again: each job is promised a start when it is first seen waiting, and
// teaches when it starts or goes away. The batch.Forecaster of the cluster is to
// have a Beside. Its methods may be called by several goroutines.
type Tracker struct {
	mu    sync.Mutex
	model *Model
	seen  int64           // Unix time of the last look; 0: there was none
	just  map[string]bool // jobs that it showed to have started in that second

	asking  sync.Mutex // held before mu
	askedOf *batch.Forecast
	asked   map[string]Outlook // what was worked out of that forecast, by job
}

// NewTracker has learned nothing.
func NewTracker() *Tracker { return &Tracker{model: NewModel()} }

// atOnce is how long a job that was never seen waiting may have waited, in
// seconds, to count as one that started at once.
const atOnce = 60

// Look takes in what a look at the cluster shows and what accounting says of
// jobs that ended since the last: how promises came out. What waits and is held,
// or may not start yet, and what is gone without a start is known to have
// waited until then.
func (t *Tracker) Look(s batch.State, ended []batch.Ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := s.Now.Unix()
	waiting := 0 // of those that were promised a start
	for i := range s.Jobs {
		j := &s.Jobs[i]
		_, promised := t.model.Promised(j.ID)
		switch {
		case promised && !j.Started.IsZero():
			t.model.Started(j.ID, j.Started.Unix())
		case promised && (j.Held || j.Begin.Unix() > now):
			t.model.Left(j.ID, now)
		case promised:
			waiting++
		case t.new(j):
			t.known(j)
		}
	}
	if waiting < len(t.model.open) {
		t.missing(s, ended)
	}
	t.model.Advance(now)
	t.justStarted(s)
	t.seen = now
}

// missing takes in those of which a start was promised, and that a look does not show.
func (t *Tracker) missing(s batch.State, ended []batch.Ending) {
	there := make(map[string]bool, len(s.Jobs))
	for i := range s.Jobs {
		there[s.Jobs[i].ID] = true
	}
	starts := make(map[string]int64, len(ended))
	for _, e := range ended {
		if !e.Started.IsZero() {
			starts[e.ID] = e.Started.Unix()
		}
	}
	for _, id := range t.model.Open() {
		if start, ran := starts[id]; !there[id] && ran {
			t.model.Started(id, start)
		} else if !there[id] {
			t.model.Left(id, t.seen)
		}
	}
}

// new tells whether a running job has started since the last look.
func (t *Tracker) new(j *batch.Job) bool {
	at := j.Started.Unix()
	return !j.Started.IsZero() && t.seen > 0 && (at > t.seen || at == t.seen && !t.just[j.ID])
}

// justStarted keeps which jobs started in the second of a look: others may, that
// the look does not show.
func (t *Tracker) justStarted(s batch.State) {
	t.just = map[string]bool{}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; !j.Started.IsZero() && j.Started.Unix() >= s.Now.Unix() {
			t.just[j.ID] = true
		}
	}
}

// known takes in a job that started without having been seen waiting.
func (t *Tracker) known(j *batch.Job) {
	o := Outlook{Queue: j.Queue, Procs: j.Procs, Limit: int64(j.Requested.Seconds())}
	wait := max(0, j.Started.Sub(j.Submitted).Seconds())
	if wait <= atOnce {
		o.Waits = make([]int64, members)
	}
	t.model.Known(o, wait)
}

// Missing tells whether a job with a promise is not among those seen, and when
// the last look was (Unix time).
func (t *Tracker) Missing(s batch.State) (since int64, missing bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	there := make(map[string]bool, len(s.Jobs))
	for i := range s.Jobs {
		there[s.Jobs[i].ID] = true
	}
	for _, id := range t.model.Open() {
		if !there[id] {
			return t.seen, true
		}
	}
	return t.seen, false
}

// Doubt is a policy that the cluster may have instead of the one that is taken,
// with the chance of that. Where the policies disagree about a start its quantiles
// are those of either with its chance: wider.
type Doubt struct {
	Policy batch.Policy
	Chance float64
}

// Promise foretells the start of every waiting job of a forecast that has no
// promise yet.
func (t *Tracker) Promise(f *batch.Forecast, doubts ...Doubt) {
	t.mu.Lock()
	var fresh []string
	for i := range f.Jobs {
		if _, promised := t.model.Promised(f.Jobs[i].ID); !promised {
			fresh = append(fresh, f.Jobs[i].ID)
		}
	}
	t.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	list := f.Foresee(Members, fresh)
	others := make([][]Other, len(list))
	for _, d := range doubts {
		waits := map[string]int64{}
		if other, err := f.Under(d.Policy); err == nil {
			for _, j := range other.Foresee(similar, fresh) {
				waits[j.Job.ID] = j.Waits[0]
			}
		}
		for i := range list {
			if wait, ok := waits[list[i].Job.ID]; ok {
				others[i] = append(others[i], Other{wait, d.Chance})
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		o := outlook(f, &list[i], len(f.Jobs))
		o.Others = others[i]
		t.model.Promise(list[i].Job.ID, f.At.Unix(), o)
	}
}

// outlook is what is known of a job beside so many that wait.
func outlook(f *batch.Forecast, j *batch.Foreseen, waiting int) Outlook {
	return Outlook{
		Queue: j.Job.Queue, Procs: j.Job.Procs, Limit: j.Limit, Run: j.Run, Waiting: waiting,
		Waited: max(0, f.At.Unix()-j.Job.Submitted.Unix()), Waits: j.Waits,
	}
}

// similar is the belief that doubts are run under.
func similar(s *batch.Similar) []batch.Belief { return []batch.Belief{s} }

// Learned is the number of starts that it has learned from, Open that of the
// promises whose outcome is still to come, and Drifts how often the world was
// found to have changed, up to a hundred times.
func (t *Tracker) Learned() (starts int64, open, drifts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.model.Learned(), len(t.model.open), len(t.model.Drifts())
}

// trackerMemory is the document of a Tracker. It only ever gains fields.
type trackerMemory struct {
	Schema string          `json:"schema"` // trackerSchema
	Seen   int64           `json:"seen"`
	Just   map[string]bool `json:"just,omitempty"`
	Model  *Model          `json:"model"`
}

const trackerSchema = "grid.predict-tracker/v1"

// MarshalJSON implements json.Marshaler: the model, its open promises among it.
func (t *Tracker) MarshalJSON() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return json.Marshal(trackerMemory{trackerSchema, t.seen, t.just, t.model})
}

// UnmarshalJSON implements json.Unmarshaler: it takes in what was learned in
// place of all that was known.
func (t *Tracker) UnmarshalJSON(document []byte) error {
	m := trackerMemory{Model: NewModel()}
	if err := json.Unmarshal(document, &m); err != nil {
		return err
	}
	if m.Schema != trackerSchema || m.Model == nil || m.Seen < 0 {
		return fmt.Errorf("memory of a tracker: schema %q, want %q with a model", m.Schema, trackerSchema)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.model, t.seen, t.just = m.Model, m.Seen, m.Just
	return nil
}
