package registry

import (
	"context"
	"fmt"
	"io"
	"time"
)

// least is what an answer brings in each window, while somebody waits for it.
const least = 64 << 10

// A paced answer ends with an error where it comes too slowly: one byte now and then, or signs of life of the connection
// alone, would hold those who wait for it for ever. The time that its reader takes does not count.
type paced struct {
	body   io.ReadCloser
	home   string // the registry's host
	cancel context.CancelFunc
	window time.Duration
	waited time.Duration
	got    int
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	began := time.Now()
	timer := time.AfterFunc(p.window-p.waited, p.cancel)
	n, err := p.body.Read(b)
	timer.Stop()
	p.waited += time.Since(began)
	if p.got += n; p.got >= least {
		p.got, p.waited = 0, 0
	}
	switch {
	case err == io.EOF:
	case p.waited >= p.window:
		p.cancel()
		err = fmt.Errorf("registry %s sends less than %d kB in %v", p.home, least>>10, p.window)
	case err != nil:
		err = fmt.Errorf("registry %s: %w", p.home, err)
	}
	return n, err
}

// Close implements io.Closer.
func (p *paced) Close() error {
	defer p.cancel()
	return p.body.Close()
}
