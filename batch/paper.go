package batch

// paper is memory in which one question after the other is worked out: a copy of
// the machine with the job asked about, and a run of that copy. There may be none.
type paper struct {
	copied *Machine
	run    *forward
}

// machine is where to copy a machine to.
func (p *paper) machine() *Machine {
	switch {
	case p == nil:
		return &Machine{}
	case p.copied == nil:
		p.copied = &Machine{}
	}
	return p.copied
}

// last is the run of the last question, whose memory is free again.
func (p *paper) last() *forward {
	if p == nil {
		return nil
	}
	return p.run
}

// keep keeps the memory of a run for the next question.
func (p *paper) keep(run *forward) {
	if p != nil {
		p.run = run
	}
}
