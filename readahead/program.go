package readahead

// splitmix is the generator SplitMix64 (Steele, Lea, Flood 2014).
type splitmix uint64

func (s *splitmix) next() uint64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// unit returns a number in [0, 1).
func (s *splitmix) unit() float64 { return float64(s.next()>>11) / (1 << 53) }

// below returns a whole number in [0, n).
func (s *splitmix) below(n int64) int64 { return int64(s.unit() * float64(n)) }

// operation is one read of a branch: count blocks of one file from a position.
type operation struct {
	file  int
	block int64
}

// program draws the reads of one branch.
type program struct {
	rng    splitmix
	params *Params
	at     []int64 // where the last read of each file ended
}

// newProgram starts the stream of a branch: a random start in every file.
func newProgram(p *Params, seed uint64, branch int) *program {
	g := &program{rng: splitmix(seed*1000 + uint64(branch)), params: p, at: make([]int64, p.Remote+p.Local)}
	for f := range g.at {
		g.at[f] = g.rng.below(p.Blocks)
	}
	return g
}

// random returns where a read that does not go on begins.
func (g *program) random() int64 { return g.rng.below(max(1, g.params.Blocks-g.params.PerRead)) }

func (g *program) next() operation {
	f := g.file()
	u := g.rng.unit()
	if u >= g.params.Next || g.at[f]+g.params.PerRead >= g.params.Blocks {
		g.at[f] = g.random()
	}
	op := operation{file: f, block: g.at[f]}
	g.at[f] += g.params.PerRead
	return op
}

// file draws a file; each of the remote ones has the weight given, a local one has 1.
func (g *program) file() int {
	p := g.params
	x := g.rng.unit() * (float64(p.Remote)*p.Weight + float64(p.Local))
	for f := range p.Remote {
		if x -= p.Weight; x < 0 {
			return f
		}
	}
	return min(p.Remote+int(x), p.Remote+p.Local-1)
}
