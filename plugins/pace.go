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

// timeFor is how long so many bytes may take at that rate.
func timeFor(bytes int64) time.Duration { return time.Duration(bytes/slowestRate) * time.Second }

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
	left := p.Grace + timeFor(p.got) - p.waited
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

// Pace holds all that is done at a server for one purpose to a least rate: none of many
// small files, or of the pieces of a large one, may be so late that it is given up, and
// all together would still never end. The zero Pace has no grace.
type Pace struct {
	Grace time.Duration // before the rate counts

	begun time.Time
	done  int64
}

// Did counts so many bytes as gone over; those of a thing with a name are Named more. It
// fails with ErrSlow where there should be more by now.
func (p *Pace) Did(bytes int64) error {
	if p.begun.IsZero() {
		p.begun = time.Now()
	}
	if p.done += bytes; time.Since(p.begun) > p.Grace+timeFor(p.done) {
		return ErrSlow
	}
	return nil
}

// Named is what a file or a directory counts for to a Pace beside its bytes: a second.
const Named = slowestRate

// Sent is a text on its way to a server, which is given up where the server takes it too
// slowly: one that takes a byte at a time never stalls.
type Sent struct {
	io.Reader
	Pace
}

// Read implements io.Reader. Once the server is too late it fails with ErrSlow.
func (s *Sent) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if late := s.Did(int64(n)); late != nil {
		return 0, late
	}
	return n, err
}
