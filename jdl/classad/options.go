package classad

// Option changes how a text is parsed.
type Option func(*config)

type config struct {
	warn  func(*Diagnostic)
	limit Limits

	tolerant bool // read as ReadAd does
}

// WithWarnings hands every warning to f, in the order of the text.
func WithWarnings(f func(*Diagnostic)) Option {
	return func(c *config) { c.warn = f }
}

// Limits bound what a text may make the parser do.
type Limits struct {
	Bytes int // size of the text
	Depth int // nesting of brackets, prefix operators and conditionals
	Chain int // height of a tree: operators in a row, as in a+b+c
}

// DefaultLimits are far above any real description.
func DefaultLimits() Limits { return Limits{Bytes: 256 << 20, Depth: 500, Chain: 100_000} }

// WithLimits replaces DefaultLimits.
func WithLimits(l Limits) Option {
	return func(c *config) { c.limit = l }
}

func newConfig(opts []Option) config {
	c := config{warn: func(*Diagnostic) {}, limit: DefaultLimits()}
	for _, o := range opts {
		o(&c)
	}
	return c
}
