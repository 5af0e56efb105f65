package classad

// Err tells why calls of regexp and its kin were ERROR for some rows: nil when
// none was because the program's regular expressions took too many steps.
func (p *Program) Err() error { return p.ev.searches.err }
