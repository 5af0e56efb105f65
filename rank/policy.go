package rank

import (
	"fmt"
	"strings"
)

// Policy says how candidates are ordered.
//
// A Rank in the job decides in policies hybrid and jdl; the others are whole
// orders of their own and are used only when the user asks for them by name.
type Policy struct {
	Name    string
	Model   Model
	Formula *Formula // of policy "formula"
}

// Names of the policies.
const (
	Hybrid       = "hybrid"            // expected completion in seconds, static and dynamic terms
	Paper        = "paper"             // the published hybrid algorithm: M = rand(0, 1/S)
	JDL          = "jdl"               // gLite: Rank or its default, ties uniform
	FastestQueue = "fastest-queue"     // shortest queue relative to slots; among idle ones most free slots
	ARCFastest   = "arc-fastest-queue" // the same as ARC's broker really does it, to compare with
	Metacluster  = "metacluster"       // the least loaded: slots taken and asked for, per slot
	ForecastOnly = "forecast"          // earliest start
	Data         = "data"              // shortest stage-in
	Random       = "random"            // uniform
	FormulaName  = "formula"           // the user's own expression
)

// score is what a policy makes of a candidate; see Ranked.
type score struct {
	value, sigma float64
	terms        []Term
	unranked     string
}

// scorer gives one candidate's score. Its terms lie where the scene says.
type scorer func(p *Policy, sc *scene, c *Candidate) score

// kinds is the table of policies.
var kinds = map[string]struct {
	usesRank bool
	score    scorer
}{
	Hybrid:       {true, scoreHybrid},
	Paper:        {false, scorePaper},
	JDL:          {true, scoreNone},
	FastestQueue: {false, scoreFastestQueue},
	ARCFastest:   {false, scoreARCFastest},
	Metacluster:  {false, scoreMetacluster},
	ForecastOnly: {false, scoreForecast},
	Data:         {false, scoreData},
	Random:       {false, scoreNone},
	FormulaName:  {false, scoreFormula},
}

// Names lists the policies, the default first.
func Names() []string {
	return []string{Hybrid, Paper, JDL, FastestQueue, ARCFastest, Metacluster, ForecastOnly, Data, Random, FormulaName + ":EXPR"}
}

// ParsePolicy reads a policy's name, or "formula:" and an expression.
func ParsePolicy(s string, m Model) (Policy, error) {
	if code, ok := strings.CutPrefix(s, FormulaName+":"); ok {
		f, err := CompileFormula(code)
		return Policy{Name: FormulaName, Model: m, Formula: f}, err
	}
	if s == "" {
		s = Hybrid
	}
	if _, ok := kinds[s]; !ok || s == FormulaName {
		return Policy{}, fmt.Errorf("no such policy: %s (known: %s)", s, strings.Join(Names(), ", "))
	}
	return Policy{Name: s, Model: m}, nil
}

// UsesRank reports whether a Rank in the job decides.
func (p Policy) UsesRank() bool { return kinds[p.Name].usesRank || p.Name == "" }

func scoreHybrid(p *Policy, sc *scene, c *Candidate) score {
	done := p.Model.complete(sc, c)
	return score{value: -done.total, sigma: done.sigma, terms: done.terms}
}

func scoreForecast(p *Policy, sc *scene, c *Candidate) score {
	wait, sigma, terms := p.Model.wait(sc, c)
	return score{value: -clamp(wait, 0, worst), sigma: sigma, terms: terms}
}

func scoreData(p *Policy, sc *scene, c *Candidate) score {
	t := p.Model.stageIn(sc, c)
	return score{value: 0 - t.Seconds, terms: append(sc.terms(), t)}
}

func scoreNone(*Policy, *scene, *Candidate) score { return score{} }

// scoreFastestQueue is what ARC's broker of that name means to do: among
// resources with nothing waiting the one with most free slots, else the
// least waiting jobs per slot. One that does not publish all three numbers
// comes last.
func scoreFastestQueue(_ *Policy, sc *scene, c *Candidate) score {
	r := c.Resource
	waiting, ok := c.published()
	if !ok || !r.Waiting.OK || !r.FreeSlots.OK || !r.TotalSlots.OK || r.TotalSlots.V <= 0 {
		return score{value: -worst, terms: append(sc.terms(), Term{Name: "queue per slot", Unit: "jobs per slot", Source: "prior"})}
	}
	free := float64(r.FreeSlots.V) - float64(c.Placed.slots())
	queue := (float64(waiting) + max(0, -free)) / float64(r.TotalSlots.V)
	t := Term{Name: "queue per slot", Raw: queue, Unit: "jobs per slot", Source: r.Source, Age: c.Age, Weight: 1, OK: true}
	value := -queue
	if queue == 0 {
		value = free
	}
	return score{value: clamp(value, -worst, worst), terms: append(sc.terms(), t)}
}

// scoreARCFastest is the order of ARC's FastestQueueBroker as its clients of
// versions 6.17 and 7.0 have it: waiting jobs per slot, and among idle
// resources the one with fewer free slots first.
func scoreARCFastest(p *Policy, sc *scene, c *Candidate) score {
	r := scoreFastestQueue(p, sc, c)
	if r.value > 0 {
		r.value = 1 / (1 + r.value)
	}
	return r
}
