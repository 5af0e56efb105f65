package classad

// Option changes how a text is parsed.
type Option func(*config)

type config struct {
	warn     func(*Diagnostic)
	tolerant bool // read as ReadAd does
}

// WithWarnings hands every warning to f, in the order of the text.
func WithWarnings(f func(*Diagnostic)) Option {
	return func(c *config) { c.warn = f }
}

// What a text may make the parser do: far above any real description.
const (
	mostText    = 256 << 20 // size of the text
	mostNested  = 500       // nesting of brackets, prefix operators and conditionals
	mostListed  = 100_000   // elements of a list: a description makes no more jobs, and no job has more files
	mostNames   = 100_000   // attributes of a record, as many as a DAG has nodes
	mostChained = 100_000   // height of a tree: operators in a row, as in a+b+c
)

func newConfig(opts []Option) config {
	c := config{warn: func(*Diagnostic) {}}
	for _, o := range opts {
		o(&c)
	}
	return c
}
