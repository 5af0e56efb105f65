package classad

// Err tells why calls of regexp and its kin were ERROR for some rows: nil when
// none was because the program's regular expressions took too many steps.
func (p *Program) Err() error { return p.ev.searches.err }

// Nodes are compiled of the evaluation's programs, all together, and Plain tells that a program leaves every row to the
// reference evaluator.
func (x *Evaluation) Nodes() int { return x.nodes }
func (p *Program) Plain() bool   { return p.plain }

// MaxNodes and MaxTotal bound what is compiled of one expression and of all of an evaluation.
const (
	MaxNodes = maxNodes
	MaxTotal = maxTotal
)
