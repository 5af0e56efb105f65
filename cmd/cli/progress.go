package cli

import (
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"gridbroker/foreign"
	"gridbroker/plugins"
)

// progress shows a bar per piece of work on a terminal's standard error.
type progress struct {
	mu   sync.Mutex
	out  *mpb.Progress
	bars map[string]*mpb.Bar
}

// progress returns what back-ends report to, and a function that ends the
// display. Where standard error is no terminal, or with --json, nothing is shown.
func showProgress(d *deps) (p plugins.Progress, stop func()) {
	if !draws(d, d.env.ErrTerminal) || d.json {
		return nil, func() {}
	}
	b := &progress{out: mpb.New(mpb.WithOutput(d.rawErr), mpb.WithWidth(40)), bars: map[string]*mpb.Bar{}}
	return b, b.stop
}

// Step implements plugins.Progress.
func (p *progress) Step(what string, n, total int64) {
	what = foreign.Text(what)
	p.mu.Lock()
	bar := p.bars[what]
	if bar == nil {
		bar = p.out.AddBar(total,
			mpb.PrependDecorators(decor.Name(what, decor.WCSyncSpaceR)),
			mpb.AppendDecorators(decor.CountersNoUnit("%d of %d"), decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 8}), "")))
		p.bars[what] = bar
	}
	p.mu.Unlock()
	bar.SetTotal(total, false)
	bar.IncrInt64(n)
}

// stop ends every bar where it stands.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, bar := range p.bars {
		bar.Abort(false)
	}
	p.out.Wait()
}
