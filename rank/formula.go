package rank

import (
	"fmt"
	"math"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// Formula is a user's own score, compiled once. Higher is better.
type Formula struct {
	text    string
	program *vm.Program
}

// FormulaEnv is what a formula sees. Numbers that nobody published are NaN:
// known(x) asks, orElse(x, y) replaces. Times are seconds.
type FormulaEnv struct {
	Wait        float64 `expr:"wait"`
	StageIn     float64 `expr:"stage_in"`
	Run         float64 `expr:"run"`
	Success     float64 `expr:"success"` // 0..1
	Overhead    float64 `expr:"overhead"`
	Completion  float64 `expr:"completion"` // (wait + stage_in + run + overhead) / success
	Uncertainty float64 `expr:"uncertainty"`
	Age         float64 `expr:"age"`
	Rank        float64 `expr:"rank"` // the job's own Rank
	Speed       float64 `expr:"speed"`
	Queue       float64 `expr:"queue"` // total queue by the queue-length service
	Waiting     float64 `expr:"waiting"`
	Running     float64 `expr:"running"`
	Free        float64 `expr:"free"`
	Slots       float64 `expr:"slots"`
	Placed      float64 `expr:"placed"` // jobs sent there by this call, and since its state was published
	Memory      float64 `expr:"memory"` // MB of a node

	ID    string   `expr:"id"`
	Name  string   `expr:"name"`
	Site  string   `expr:"site"`
	CE    string   `expr:"ce"`
	LRMS  string   `expr:"lrms"`
	Share string   `expr:"share"`
	Tags  []string `expr:"tags"`

	Known  func(float64) bool             `expr:"known"`
	OrElse func(float64, float64) float64 `expr:"orElse"`
}

// maxFormula limits a formula's size, in nodes of its tree.
const maxFormula = 500

// CompileFormula checks names and types. The error names line and column.
func CompileFormula(text string) (*Formula, error) {
	program, err := expr.Compile(text, expr.Env(FormulaEnv{}), expr.AsFloat64(), expr.MaxNodes(maxFormula))
	if err != nil {
		return nil, fmt.Errorf("formula: %w", err)
	}
	return &Formula{text: text, program: program}, nil
}

// String returns the text.
func (f *Formula) String() string { return f.text }

func scoreFormula(p *Policy, sc *scene, c *Candidate) score {
	done := p.Model.complete(sc, c)
	out := score{value: math.NaN(), sigma: done.sigma, terms: done.terms}
	v, err := expr.Run(p.Formula.program, formulaEnv(p, c, done))
	if f, ok := v.(float64); err == nil && ok {
		out.value = f
	}
	return out
}

func formulaEnv(p *Policy, c *Candidate, done completion) FormulaEnv {
	r := c.Resource
	speed, _ := p.Model.Speed(c.Resource)
	env := FormulaEnv{
		Wait: done.wait, StageIn: done.stageIn, Run: done.run, Success: done.success, Overhead: done.overhead,
		Completion: done.total, Uncertainty: done.sigma, Age: c.Age.Seconds(),
		Rank: math.NaN(), Speed: speed, Queue: math.NaN(),
		Waiting: number(r.Waiting.V, r.Waiting.OK), Running: number(r.Running.V, r.Running.OK),
		Free: number(r.FreeSlots.V, r.FreeSlots.OK), Slots: number(r.TotalSlots.V, r.TotalSlots.OK),
		Placed: float64(c.Placed.Jobs + c.Placed.EarlierJobs), Memory: number(r.MainMemory.V, r.MainMemory.OK),
		ID: r.ID, Name: r.Name, Site: r.Site, CE: r.CE, LRMS: r.LRMS, Share: r.Queue, Tags: r.RuntimeEnvironments,
		Known:  func(x float64) bool { return !math.IsNaN(x) },
		OrElse: func(x, y float64) float64 { return or(x, y) },
	}
	if f, ok := c.JDLRank.Number(); ok {
		env.Rank = f
	}
	if c.Queue != nil {
		env.Queue = float64(c.Queue.Total())
	}
	return env
}

func number(v int64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return float64(v)
}

func or(x, y float64) float64 {
	if math.IsNaN(x) {
		return y
	}
	return x
}
