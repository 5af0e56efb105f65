package rank

import "time"

// What a job shows of a resource, and how long is waited for it.
const (
	// ProofRun is how long a job must have been running to show that its
	// resource is no black hole.
	ProofRun = time.Minute
	// ProofWait is how long jobs may stay in a queue without any failing
	// until the resource is given the others, too: what swallows jobs does
	// not keep them waiting.
	ProofWait = 10 * time.Minute
)

// keepBack adds to a hybrid score the time that jobs beyond the limit are kept
// back: until the first there have shown what the resource is.
func (r *Ranked) keepBack() {
	var wait, run float64
	for _, t := range r.Terms {
		switch {
		case t.Name == TermRun:
			run = t.Seconds
		case t.OnWait():
			wait += t.Seconds
		}
	}
	proof := min(wait+min(run, ProofRun.Seconds()), ProofWait.Seconds())
	r.Terms = append(r.Terms, Term{Name: TermProof, Raw: float64(r.Limit.Jobs), Unit: "jobs at first", Seconds: proof, Source: "prior", Weight: 1})
	r.Score -= proof
}
