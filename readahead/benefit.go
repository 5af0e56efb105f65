package readahead

// Benefit decides by measurement whether looking ahead pays. Look-ahead starts
// on. After every window of reads the mean wait is compared with what the reads
// would have waited without: those that missed, or hit a portion fetched ahead,
// at the least time a fetch has taken. Where nothing was gained, a window
// without look-ahead is measured, the better way is kept for a while, and then
// the other is tried again; ever more seldom while look-ahead does not pay. Useless look-ahead (few portions used) and a
// link that it fills beyond capacity are both found so, without a model of the
// link. Times may be in any unit. The zero value is not usable; see newBenefit.
type Benefit struct {
	upkeep float64 // cost of look-ahead per read that is not in the waits
	off    bool
	rest   int // windows until the other way is tried
	pause  int // rest after the next trial: doubles while off proves right
	trial  bool

	reads, misses  int
	waited         float64
	least          float64 // of all fetches on demand; 0: none yet
	meanOn, meanNo float64 // mean wait of the last window with, without
}

const (
	benefitWindow = 48
	benefitRest   = 16
	benefitLong   = 1024
)

// newBenefit returns a Benefit with look-ahead on. upkeep is what look-ahead
// costs per read apart from waiting.
func newBenefit(upkeep float64) *Benefit { return &Benefit{upkeep: upkeep} }

// On says whether to look ahead at the next read.
func (b *Benefit) On() bool { return !b.off }

// Fetched tells how long a fetch on demand took.
func (b *Benefit) Fetched(took float64) {
	if took > 0 && (b.least == 0 || took < b.least) {
		b.least = took
	}
}

// Read tells how long a read waited, and whether it would have missed without look-ahead.
func (b *Benefit) Read(wait float64, wouldMiss bool) {
	b.reads++
	b.waited += wait
	if wouldMiss {
		b.misses++
	}
	if b.reads < benefitWindow {
		return
	}
	mean, without := b.waited/float64(b.reads), float64(b.misses)*b.least/float64(b.reads)
	b.reads, b.misses, b.waited = 0, 0, 0
	b.decide(mean, without)
}

// decide closes a window with the mean wait measured and the one expected without look-ahead.
func (b *Benefit) decide(mean, without float64) {
	if b.off {
		b.meanNo = mean
	} else {
		b.meanOn = mean + b.upkeep
	}
	switch {
	case b.trial:
		b.trial = false
		b.off = b.meanNo <= b.meanOn
		b.rest = max(b.pause, benefitRest)
		b.pause = min(2*b.rest, benefitLong)
		if !b.off {
			b.pause = benefitRest
		}
	case b.off:
		if b.rest--; b.rest <= 0 {
			b.off, b.trial = false, true
		}
	case b.rest > 0:
		b.rest--
	case mean+b.upkeep >= without:
		b.off, b.trial = true, true
	}
}
