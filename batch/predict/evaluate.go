package predict

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"gridbroker/batch"
)

// Report is how good the forecasts of the starts of a workload were.
type Report struct {
	Jobs     int     `json:"jobs"` // judged
	MeanWait float64 `json:"mean_wait_seconds"`
	Waiting  int     `json:"waiting_jobs"` // that waited or were foretold to
	Drifts   int     `json:"drifts"`
	Scores   []Score `json:"scores"`
	Classes  []Class `json:"classes"`
}

// Class is how the calibrated quantiles kept their word for a class of jobs.
type Class struct {
	Name    string  `json:"class"`
	Waiting int     `json:"waiting_jobs"`
	Below   float64 `json:"waiting_below_10"`
	Above   float64 `json:"waiting_above_90"`
}

// Evaluation foretells every start of a workload when the job is submitted, from
// what was known then, by a Model and by others, and judges all. Run it once.
type Evaluation struct {
	Queue func(id int64) string // of a job; nil: there is one queue
	Skip  int                   // the first jobs, which only teach

	ensemble *Ensemble
	model    *Model
	peers    []peer
	open     map[int64]*asked
	scores   []scorer
	classes  map[string]*scorer
	jobs     int
	wait     float64
	waiting  int
}

// asked is a job whose start was foretold.
type asked struct {
	outlook peerOutlook
	waits   bool
	told    []quantiles // by predictor, the model first
	classes [4]string
}

// Run replays tasks on a machine and passes every start on.
func (e *Evaluation) Run(m *batch.Machine, tasks iter.Seq2[batch.Task, error]) iter.Seq2[batch.Start, error] {
	e.ensemble, e.model, e.open = NewEnsemble(), NewModel(), map[int64]*asked{}
	e.classes = map[string]*scorer{}
	e.peers = []peer{
		&history{newWaits()}, &bounds{map[string]*bounded{}},
		&replayed{belief: batch.Estimate{}, called: "user estimate"}, &replayed{belief: batch.NewHistory(), called: "history + errors", at: 1},
	}
	e.scores = make([]scorer, 1+len(e.peers))
	return func(yield func(batch.Start, error) bool) {
		for s, err := range m.Watch(tasks, e) {
			if err == nil {
				e.started(s)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// Submitted implements batch.Watcher.
func (e *Evaluation) Submitted(t batch.Task, p *batch.Prospect) {
	a := &asked{waits: p.Waits()}
	a.outlook = peerOutlook{replays: make([]int64, len(e.peers))}
	a.outlook.Outlook = Outlook{Procs: t.Procs, Limit: t.Limit, Run: e.ensemble.Run(&t, 0), Waiting: p.Waiting(), Waits: make([]int64, members)}
	if e.Queue != nil {
		a.outlook.Queue = e.Queue(t.ID)
	}
	a.told = make([]quantiles, len(e.scores))
	if a.waits {
		for i, b := range e.ensemble.members {
			a.outlook.Waits[i] = p.Start(b) - t.Submit
		}
		a.waits = slices.Max(a.outlook.Waits) > 0 // else it starts as soon as the policy is woken
	}
	if a.waits {
		d := e.model.Promise(strconv.FormatInt(t.ID, 10), t.Submit, a.outlook.Outlook)
		for k, level := range judged {
			a.told[0][k] = math.Round(d.Quantile(level))
		}
		a.classes = a.outlook.classes(d.at[nLevels/2])
	}
	for i, peer := range e.peers {
		if r, ok := peer.(*replayed); ok && a.waits {
			a.outlook.replays[r.at] = p.Start(r.belief) - t.Submit
		}
		a.told[i+1] = peer.foretell(&a.outlook)
	}
	e.open[t.ID] = a
}

// Ended implements batch.Watcher.
func (e *Evaluation) Ended(t batch.Task) {
	e.ensemble.Learn(&t)
	for _, p := range e.peers {
		if r, ok := p.(*replayed); ok {
			r.belief.Learn(&t)
		}
	}
}

func (e *Evaluation) started(s batch.Start) {
	a := e.open[s.ID]
	delete(e.open, s.ID)
	wait := float64(s.Start - s.Submit)
	if s.ID > int64(e.Skip) {
		e.judge(a, wait)
	}
	for _, p := range e.peers {
		p.learn(&a.outlook, wait)
	}
	if a.waits {
		e.model.Started(strconv.FormatInt(s.ID, 10), s.Start)
	} else {
		e.model.Known(a.outlook.Outlook, wait)
	}
}

func (e *Evaluation) judge(a *asked, wait float64) {
	e.jobs++
	e.wait += wait
	waiting := a.waits || wait > 0
	if waiting {
		e.waiting++
	}
	for i := range a.told {
		e.scores[i].add(a.told[i], wait, waiting)
	}
	if !a.waits {
		return
	}
	for _, name := range a.classes[1:] {
		if e.classes[name] == nil {
			e.classes[name] = &scorer{}
		}
		e.classes[name].add(a.told[0], wait, true)
	}
}

// Model is what has been learned.
func (e *Evaluation) Model() *Model { return e.model }
