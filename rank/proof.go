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
func (s *score) keepBack(limit int) {
	var wait, run float64
	for _, t := range s.terms {
		switch {
		case t.Name == TermRun:
			run = t.Seconds
		case t.OnWait():
			wait += t.Seconds
		}
	}
	proof := min(wait+min(run, ProofRun.Seconds()), ProofWait.Seconds())
	s.terms = append(s.terms, Term{Name: TermProof, Raw: float64(limit), Unit: "jobs at first", Seconds: proof, Source: "prior", Weight: 1})
	s.value -= proof
}
