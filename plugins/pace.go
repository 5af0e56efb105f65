package plugins

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// slowestRate is how many bytes a second an answer brings at least on the average, once
// its grace is over.
const slowestRate = 4 << 10

// ErrSlow is an answer that was given up.
var ErrSlow = errors.New("the answer comes too slowly to be waited for")

// Paced is an answer that is given up when it comes too slowly: one that comes a byte at a
// time never stalls, and would never end. Only the time for which it is waited for counts.
type Paced struct {
	From  io.Reader
	Grace time.Duration // before the rate counts
	End   func()        // has a Read of From that is under way return

	waited time.Duration
	got    int64
}

// Read implements io.Reader. Once it is too late it fails with ErrSlow.
func (p *Paced) Read(b []byte) (int, error) {
	left := p.Grace + time.Duration(p.got/slowestRate)*time.Second - p.waited
	if left <= 0 {
		p.End()
		return 0, ErrSlow
	}
	var late atomic.Bool
	timer := time.AfterFunc(left, func() { late.Store(true); p.End() })
	start := time.Now()
	n, err := p.From.Read(b)
	timer.Stop()
	p.waited += time.Since(start)
	p.got += int64(n)
	if late.Load() && !errors.Is(err, io.EOF) {
		err = ErrSlow
	}
	return n, err
}
