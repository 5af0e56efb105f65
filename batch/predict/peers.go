package predict

import (
	"math"
	"slices"

	"gridbroker/batch"
)

// A peer is another way to foretell, to compare with.
type peer interface {
	name() string
	foretell(o *peerOutlook) quantiles
	learn(o *peerOutlook, wait float64)
}

// peerOutlook is an outlook with what other beliefs foretell.
type peerOutlook struct {
	Outlook
	replays []int64 // waits by belief, s
}

// judged are the levels at which predictors are compared.
var judged = [...]float64{0.1, 0.25, 0.5, 0.75, 0.9}

// quantiles are waits in seconds at the judged levels.
type quantiles [len(judged)]float64

// history foretells by the last waits of the job's class.
type history struct{ waits }

func (*history) name() string { return "wait history" }

func (h *history) foretell(o *peerOutlook) (q quantiles) {
	r := h.Classes[class(o.Procs, o.Limit)]
	if r == nil || len(r.Last) < leastWaits {
		r = &h.All
	}
	if len(r.Last) == 0 {
		return q
	}
	sorted := slices.Sorted(slices.Values(r.Last))
	for k, p := range judged {
		q[k] = quantile(sorted, p)
	}
	return q
}

func (h *history) learn(o *peerOutlook, wait float64) { h.waits.learn(&o.Outlook, wait) }

// replayed foretells by what the queue does under one belief and how far that
// was off for starts about as far ahead.
type replayed struct {
	errors batch.Errors
	belief batch.Belief
	called string
	at     int // place of the belief in replays
}

func (r *replayed) name() string { return r.called }

func (r *replayed) foretell(o *peerOutlook) (q quantiles) {
	for k, p := range judged {
		off, _ := r.errors.Quantile(o.replays[r.at], p)
		q[k] = float64(max(0, o.replays[r.at]+off))
	}
	return q
}

func (r *replayed) learn(o *peerOutlook, wait float64) { r.errors.Learn(o.replays[r.at], int64(wait)) }

// bounds foretells as QBETS does (Nurmi, Brevik, Wolski 2008, "QBETS: queue
// bounds estimation from time series"): of the waits of the job's class, bounds
// that hold the quantile with 95 % confidence, outwards on both sides; after
// three waits in a row above the upper one the past is dropped but for as many
// as the bound needs.
type bounds struct{ classes map[string]*bounded }

type bounded struct {
	waits  []float64
	missed int // in a row
}

const (
	qbetsKept   = 4096
	qbetsLeast  = 59 // 0.95^59 < 0.05
	qbetsMisses = 3  // in a row
	qbetsSure   = 1.6448536
)

func (*bounds) name() string { return "QBETS-like" }

func (b *bounds) of(o *peerOutlook) *bounded {
	key := class(o.Procs, o.Limit)
	c := b.classes[key]
	if c == nil {
		c = &bounded{}
		b.classes[key] = c
	}
	return c
}

func (b *bounds) foretell(o *peerOutlook) quantiles { return b.of(o).quantiles() }

func (c *bounded) quantiles() (q quantiles) {
	if len(c.waits) == 0 {
		return q
	}
	sorted := slices.Sorted(slices.Values(c.waits))
	for k, p := range judged {
		n := float64(len(sorted))
		at := p * n
		switch sure := qbetsSure * math.Sqrt(n*p*(1-p)); { // the binomial's, by its normal limit
		case p < 0.5:
			at -= sure
		case p > 0.5:
			at += sure
		}
		q[k] = sorted[min(max(int(at), 0), len(sorted)-1)]
	}
	return q
}

func (b *bounds) learn(o *peerOutlook, wait float64) {
	c := b.of(o)
	if q := c.quantiles(); wait > q[len(q)-1] {
		c.missed++
	} else {
		c.missed = 0
	}
	c.waits = append(c.waits, wait)
	if n := len(c.waits); c.missed >= qbetsMisses && n > qbetsLeast {
		c.waits, c.missed = slices.Clone(c.waits[n-qbetsLeast:]), 0
	} else if n > qbetsKept {
		c.waits = c.waits[1:]
	}
}
