package arcrest

import (
	"errors"
	"io"
	"time"
)

// slowest is how many bytes a second an answer brings at least, seen from its
// beginning, once a timeout is over: one that comes a byte at a time never
// stalls, and would never end.
const slowest = 4 << 10

var errSlow = errors.New("the answer comes too slowly to be waited for")

// paced is an answer that is given up when it comes too slowly.
type paced struct {
	r     io.Reader
	grace time.Duration
	start time.Time
	got   int64
}

func pace(c *client, r io.Reader) io.Reader {
	return &paced{r: r, grace: c.o.Timeout, start: time.Now()}
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.got += int64(n)
	if late := time.Since(p.start) - p.grace; err == nil && late > 0 && p.got < int64(late.Seconds()*slowest) {
		err = errSlow
	}
	return n, err
}
