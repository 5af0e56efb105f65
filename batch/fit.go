package batch

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Fit finds out by which of several policies a cluster decides that does not
// say, or that shows only some of its jobs: each candidate is run forward from
// what was seen, with the arrivals and ends that came, and what it starts is held
// against what did start. It is not safe for concurrent use.
type Fit struct {
	policies []Policy
	loss     []float64 // of each, by windows, older ones less
	judged   float64   // windows, older ones less
	best     int
	was      *State // at the beginning of the window under way
	ended    map[string]Ending
}

const (
	fitWindow = time.Minute      // least length of a window
	fitIdle   = 10 * time.Minute // length of one in which nothing starts
	fitGrace  = 30 * time.Second // what should have started so shortly before its end may start yet
	fitBroken = time.Hour        // of longer ones too little is known
	fitOver   = 200              // windows that the losses are of
	fitTrust  = 2                // how the odds of two policies go with the difference of their losses
	fitSwitch = 1.5              // by how much another policy must be better to be taken
)

// NewFit has seen nothing; the first policy is the best until then.
func NewFit(policies ...Policy) *Fit {
	return &Fit{policies: policies, loss: make([]float64, len(policies))}
}

// Best is the policy that has fitted best so far. Another takes its place only
// when it is better by more than chance.
func (f *Fit) Best() Policy { return f.policies[f.best] }

// Misses is the share of starts that the best policy foretells otherwise than
// they came, 0 to 1, mean by window, and the number of windows that says so.
func (f *Fit) Misses() (share, windows float64) {
	if f.judged == 0 {
		return 0, 0
	}
	return f.loss[f.best] / f.judged, f.judged
}

// Weighted is a policy and how likely it is to be the cluster's.
type Weighted struct {
	Policy Policy
	Weight float64
}

// Weights lists the candidates, as they were given, with weights whose sum is 1.
func (f *Fit) Weights() []Weighted {
	list, sum, least := make([]Weighted, len(f.policies)), 0.0, f.loss[f.best]
	for _, loss := range f.loss {
		least = min(least, loss)
	}
	for i, p := range f.policies {
		list[i] = Weighted{p, math.Exp(fitTrust * (least - f.loss[i]))}
		sum += list[i].Weight
	}
	for i := range list {
		list[i].Weight /= sum
	}
	return list
}

// Look takes in a picture of the cluster and what accounting says of jobs that
// ended since the last. It tells whether the policies were judged.
func (f *Fit) Look(s State, ended []Ending) bool {
	if f.was == nil || s.Now.Before(f.was.Now) || s.Now.Sub(f.was.Now) > fitBroken {
		f.open(s)
		return false
	}
	for _, e := range ended {
		f.ended[e.ID] = e
	}
	span := s.Now.Sub(f.was.Now)
	if span < fitWindow || span < fitIdle && len(f.began(s)) == 0 {
		return false
	}
	judged := f.judge(s)
	f.open(s)
	return judged
}

func (f *Fit) open(s State) { f.was, f.ended = &s, map[string]Ending{} }

// began lists the jobs that started since the beginning of the window.
func (f *Fit) began(s State) map[string]bool {
	began := map[string]bool{}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Started.After(f.was.Now) {
			began[j.ID] = true
		}
	}
	waited := map[string]bool{}
	for i := range f.was.Jobs {
		waited[f.was.Jobs[i].ID] = f.was.Jobs[i].Started.IsZero()
	}
	for id, e := range f.ended {
		if waited[id] && e.Started.After(f.was.Now) {
			began[id] = true
		}
	}
	return began
}

// judge holds every policy against what came.
func (f *Fit) judge(s State) bool {
	began := f.began(s)
	state, b := f.replayed(s)
	losses, told := make([]float64, len(f.policies)), len(began) > 0
	for i, p := range f.policies {
		starts, err := startsUntil(state, p, b, s.Now.Unix())
		if err != nil {
			return false
		}
		losses[i] = missed(starts, began, s.Now.Add(-fitGrace).Unix())
		told = told || losses[i] > 0
	}
	if !told {
		return false
	}
	keep := 1.0
	if f.judged >= fitOver {
		keep = 1 - 1/f.judged
	}
	f.judged = f.judged*keep + 1
	for i := range f.loss {
		f.loss[i] = f.loss[i]*keep + losses[i]
		if f.loss[i] < f.loss[f.best]-fitSwitch {
			f.best = i
		}
	}
	return true
}

// missed is the share of the jobs that started or were to start which did but one
// of that.
func missed(starts map[string]int64, began map[string]bool, grace int64) float64 {
	all, wrong := len(began), 0
	for id := range began {
		if _, is := starts[id]; !is {
			wrong++
		}
	}
	for id, at := range starts {
		if !began[id] && at < grace {
			all, wrong = all+1, wrong+1
		}
	}
	return float64(wrong) / float64(max(all, 1))
}

// replayed is the state at the beginning of the window with the jobs that came
// in it, and when those that ended did.
func (f *Fit) replayed(s State) (State, *outcomes) {
	state, b := *f.was, &outcomes{span: s.Now.Unix() - f.was.Now.Unix()}
	state.Jobs = append([]Job(nil), f.was.Jobs...)
	known, now := map[string]bool{}, map[string]*Job{}
	for i := range s.Jobs {
		now[s.Jobs[i].ID] = &s.Jobs[i]
	}
	for i := range state.Jobs {
		j := &state.Jobs[i]
		known[j.ID] = true
		is, there := now[j.ID]
		e, told := f.ended[j.ID]
		switch {
		case told && !e.Started.IsZero():
			b.at(i, e.Ended.Sub(e.Started))
		case there && j.Started.IsZero():
			j.Held = is.Held // also of one that was let go meanwhile
		case !there && j.Started.IsZero(): // cancelled
			j.Held = true
		case !there || is.Started.IsZero(): // gone at some time, or put back
			b.at(i, f.was.Now.Add(s.Now.Sub(f.was.Now)/2).Sub(j.Started))
		}
	}
	for i := range s.Jobs {
		if j := s.Jobs[i]; !known[j.ID] {
			if j.Submitted.After(j.Begin) {
				j.Begin = j.Submitted
			}
			j.Started, j.Placed = time.Time{}, nil
			state.Jobs = append(state.Jobs, j)
		}
	}
	return state, b
}

// outcomes is the belief of who has seen what ended in a window.
type outcomes struct {
	runs map[int64]int64 // seconds, by place in the state
	span int64           // of the window, in seconds: all else outlasts it
}

func (o *outcomes) at(i int, run time.Duration) {
	if o.runs == nil {
		o.runs = map[int64]int64{}
	}
	o.runs[int64(i)] = int64(run / time.Second)
}

// Run implements Belief.
func (o *outcomes) Run(t *Task, elapsed int64) int64 {
	if run, ok := o.runs[t.ID]; ok {
		return max(run, elapsed+1)
	}
	return elapsed + o.span + 1
}

// Learn implements Belief.
func (o *outcomes) Learn(*Task) {}

// startsUntil lists what a policy starts from a state until a time, and when.
func startsUntil(s State, p Policy, b Belief, until int64) (map[string]int64, error) {
	c, err := newCluster(s, p, &names{}, false)
	if err != nil {
		return nil, err
	}
	starts := map[string]int64{}
	run := c.forward(b, nil)
	for j, ok := run.next(); ok && j.start <= until; j, ok = run.next() {
		starts[c.state.Jobs[j.ID].ID] = j.start
	}
	return starts, nil
}

// fitMemory is the document of a Fit.
type fitMemory struct {
	Schema string    `json:"schema"` // fitSchema
	Names  []string  `json:"policies"`
	Loss   []float64 `json:"loss"`
	Judged float64   `json:"judged"`
	Best   int       `json:"best"`
}

const fitSchema = "grid.batch-fit/v1"

// MarshalJSON implements json.Marshaler: how well each policy has fitted.
func (f *Fit) MarshalJSON() ([]byte, error) {
	return json.Marshal(fitMemory{fitSchema, f.names(), f.loss, f.judged, f.best})
}

func (f *Fit) names() (list []string) {
	for _, p := range f.policies {
		list = append(list, p.Name)
	}
	return list
}

// UnmarshalJSON implements json.Unmarshaler: it takes in what was learned of
// the same candidates.
func (f *Fit) UnmarshalJSON(document []byte) error {
	var m fitMemory
	if err := json.Unmarshal(document, &m); err != nil {
		return err
	}
	if m.Schema != fitSchema || fmt.Sprint(m.Names) != fmt.Sprint(f.names()) || len(m.Loss) != len(f.policies) || m.Best < 0 || m.Best >= len(f.policies) || m.Judged < 0 {
		return fmt.Errorf("memory of policies: schema %q of %v, want %q of %v", m.Schema, m.Names, fitSchema, f.names())
	}
	f.loss, f.judged, f.best = m.Loss, m.Judged, m.Best
	return nil
}

// Under is the forecast of the same state were the cluster's policy another, for
// Foresee and AskAbout: it lists no jobs.
func (f *Forecast) Under(p Policy) (*Forecast, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	other := f.f.fork()
	other.Policy = p
	c, err := newCluster(f.c.state.copy(), p, &other.users, false)
	if err != nil {
		return nil, err
	}
	return &Forecast{At: f.At, Cluster: f.Cluster, c: c, f: other}, nil
}
