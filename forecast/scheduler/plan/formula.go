package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// Load is what a formula may ask of a cluster's present state.
type Load struct{ Waiting, Running, CPUs, Busy int }

// Ask holds the names a formula may use.
type Ask struct {
	Priority float64 `expr:"priority"` // global
	Procs    int     `expr:"procs"`
	Nodes    int     `expr:"nodes"`
	Wall     float64 `expr:"wall"`   // seconds
	Memory   int     `expr:"memory"` // MB
	User     string  `expr:"user"`
	VO       string  `expr:"vo"`
	Hour     int     `expr:"hour"`    // 0 to 23, UTC
	Weekday  int     `expr:"weekday"` // 0 is Sunday
	Waiting  int     `expr:"waiting"` // local jobs
	Running  int     `expr:"running"`
	CPUs     int     `expr:"cpus"`
	Busy     int     `expr:"busy"` // CPUs
}

// Formula is an owner's function from global to local priority. It is safe
// for concurrent use.
type Formula struct {
	text    string
	program *vm.Program
	perJob  bool // uses more of the job than its priority, or is not monotone
	names   []string
	numbers []float64 // and names, that it mentions
	vms     sync.Pool
}

// Bounds of a formula: length, nodes of its tree, and what it may allocate.
const (
	maxFormula = 4096
	maxNodes   = 200
	maxMemory  = 10_000
)

// CompileFormula checks and compiles a formula of expr-lang. It may use the
// names of Ask, arithmetic, comparison, ?: and the functions below; anything
// that could run long is refused.
func CompileFormula(text string) (*Formula, error) {
	if len(text) > maxFormula {
		return nil, fmt.Errorf("the formula has %d bytes, more than %d", len(text), maxFormula)
	}
	look := &visitor{}
	options := []expr.Option{expr.Env(Ask{}), expr.AsFloat64(), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins()}
	for _, f := range []string{"min", "max", "abs", "floor", "ceil", "round"} {
		options = append(options, expr.EnableBuiltin(f))
	}
	p, err := expr.Compile(text, append(options, expr.Patch(look))...)
	if err != nil {
		return nil, err
	}
	if look.err != nil {
		return nil, look.err
	}
	f := &Formula{text: text, program: p, perJob: look.perJob, names: look.names, numbers: look.numbers}
	f.vms.New = func() any { return &vm.VM{MemoryBudget: maxMemory} }
	f.perJob = f.perJob || !f.monotone()
	return f, nil
}

// visitor refuses what could run long and notes what is used of the job.
type visitor struct {
	perJob  bool
	names   []string
	numbers []float64
	err     error
}

// Visit implements ast.Visitor.
func (v *visitor) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case "procs", "nodes", "wall", "memory", "user", "vo":
			v.perJob = true
		}
	case *ast.StringNode:
		v.names = append(v.names, n.Value)
	case *ast.IntegerNode:
		v.numbers = append(v.numbers, float64(n.Value))
	case *ast.FloatNode:
		v.numbers = append(v.numbers, n.Value)
	case *ast.BinaryNode:
		if n.Operator == ".." || n.Operator == "matches" {
			v.err = fmt.Errorf("a formula may not use %q", n.Operator)
		}
	case *ast.PredicateNode, *ast.ArrayNode, *ast.MapNode:
		v.err = errors.New("a formula may not use lists, maps or loops")
	}
}

// Priority is the local priority. One that is no number is an error: the
// owner's "no".
func (f *Formula) Priority(a Ask) (float64, error) {
	m := f.vms.Get().(*vm.VM)
	defer f.vms.Put(m)
	v, err := m.Run(f.program, a)
	if err != nil {
		return 0, err
	}
	p, ok := v.(float64)
	if !ok || math.IsNaN(p) || math.IsInf(p, 0) {
		return 0, fmt.Errorf("the formula %.80q gives %v, no number", f.text, v)
	}
	return p, nil
}

// String is the formula's text.
func (f *Formula) String() string { return f.text }

// How much a formula is tried.
const (
	mostTries = 20_000
	longTried = 200 * time.Millisecond // a foreign one may take its time at each
)

// LetsIn tells what is wrong with a formula that gives no number above 0, which free slots want, whoever asks: it is asked for many jobs and states of the
// cluster, drawn from what is usual and from what it mentions itself.
func (f *Formula) LetsIn() error {
	until := time.Now().Add(longTried)
	rng := rand.New(rand.NewPCG(1, 2))
	names, numbers := append([]string{""}, f.names...), []float64{0, 1, 10, 64, 100, 1000, 1e5, maxPriority}
	for _, n := range f.numbers {
		numbers = append(numbers, n-1, n, n+1)
	}
	name := func() string { return names[rng.IntN(len(names))] }
	number := func() float64 { return max(0, numbers[rng.IntN(len(numbers))]) }
	var why error
	tries := 0
	for ; tries < mostTries && (tries == 0 || time.Now().Before(until)); tries++ {
		a := Ask{Priority: number(), Procs: int(number()), Nodes: int(number()), Wall: number(), Memory: int(number()), User: name(), VO: name(),
			Hour: rng.IntN(24), Weekday: rng.IntN(7), Waiting: int(number()), Running: int(number()), CPUs: int(number()), Busy: int(number())}
		v, err := f.Priority(a)
		if err == nil && v > 0 {
			return nil
		} else if why == nil || err != nil {
			why = cmp.Or(err, errNeverAbove)
		}
	}
	return fmt.Errorf("it lets nobody in, of %d that were tried: %w", tries, why)
}

var errNeverAbove = errors.New("it gives no priority above 0")

// monotone tries some priorities: the threshold of a slot exists only where
// more never buys less.
func (f *Formula) monotone() bool {
	last := math.Inf(-1)
	for _, p := range []float64{0, 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 1e3, 1e4, 1e6} {
		v, err := f.Priority(Ask{Priority: p, Hour: 12, CPUs: 100, Waiting: 1, Running: 1, Busy: 50})
		if err != nil || v < last {
			return false
		}
		last = v
	}
	return true
}

// maxPriority is the highest global priority there is.
const maxPriority = 1e6

// threshold is the greatest global priority that does not beat the local
// priority given: the inverse of the function, by bisection.
func (f *Formula) threshold(a Ask, local float64) float32 {
	beats := func(p float64) bool {
		a.Priority = p
		v, err := f.Priority(a)
		return err == nil && v > local
	}
	low, high := 0.0, float64(maxPriority)
	if beats(low) {
		return float32(math.Inf(-1))
	}
	if !beats(high) {
		return float32(math.Inf(1))
	}
	for range 40 {
		if mid := (low + high) / 2; beats(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return float32(low)
}

// ask is what the formula of a cluster is told of a job.
func (r *Rules) ask(j *Job, c *Cluster) Ask {
	a := r.asks(c)
	a.Priority, a.Procs, a.Nodes = float64(j.Priority), int(j.Procs), int(j.Nodes)
	a.Wall, a.Memory = float64(j.Wall), int(j.Memory)
	if int(j.User) < len(r.Users) {
		a.User = r.Users[j.User].Name
	}
	if int(j.Wish) < len(r.Wishes) {
		a.VO = r.Wishes[j.Wish].VO
	}
	return a
}

// asks is what it is told of time and cluster alone.
func (r *Rules) asks(c *Cluster) Ask {
	at := r.Epoch.Add(time.Duration(r.Now) * time.Second).UTC()
	return Ask{Hour: at.Hour(), Weekday: int(at.Weekday()), Waiting: c.Load.Waiting, Running: c.Load.Running,
		CPUs: c.Load.CPUs, Busy: c.Load.Busy}
}
