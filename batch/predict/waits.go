package predict

import (
	"fmt"
	"math/bits"
	"slices"
)

// waits are the past waits of classes of jobs.
type waits struct {
	Classes map[string]*recent `json:"classes"`
	All     recent             `json:"all"`
}

// recent is a ring of the last waits, in seconds.
type recent struct {
	Last []float64 `json:"last"`
	N    int       `json:"n"`
}

const (
	keptWaits  = 200 // of a class
	keptOfAll  = 5 * keptWaits
	leastWaits = 20   // that a quantile needs
	maxClasses = 4096 // beyond, the waits of all stand in
)

func (r *recent) add(wait float64, keep int) {
	if len(r.Last) < keep {
		r.Last = append(r.Last, wait)
	} else {
		r.Last[r.N%keep] = wait
	}
	r.N++
}

// fit says whether it can be a ring of at most so many waits.
func (r *recent) fit(keep int) bool { return len(r.Last) <= keep && r.N >= len(r.Last) }

// class is the class of a job by its size: powers of two of width and limit.
func class(procs int, limit int64) string {
	return fmt.Sprintf("%d/%d", bits.Len(uint(max(procs, 0))), bits.Len64(uint64(max(limit, 0))))
}

func newWaits() waits { return waits{Classes: map[string]*recent{}} }

func (w *waits) learn(o *Outlook, wait float64) {
	w.All.add(wait, keptOfAll)
	key := class(o.Procs, o.Limit)
	r := w.Classes[key]
	if r == nil {
		if len(w.Classes) >= maxClasses {
			return
		}
		r = &recent{}
		w.Classes[key] = r
	}
	r.add(wait, keptWaits)
}

// foretell gives the quantiles of the job's class, of all jobs where too few of
// the class are known.
func (w *waits) foretell(o *Outlook) Distribution {
	r := w.Classes[class(o.Procs, o.Limit)]
	if r == nil || len(r.Last) < leastWaits {
		r = &w.All
	}
	return r.foretell()
}

// foretell gives the quantiles of the waits; nothing where there are none.
func (r *recent) foretell() Distribution {
	if len(r.Last) == 0 {
		return Distribution{}
	}
	sorted := slices.Clone(r.Last)
	slices.Sort(sorted)
	var at [nLevels]float64
	for k, p := range levels {
		at[k] = scale(quantile(sorted, p))
	}
	return spread(at)
}

// quantile is the p-quantile of a sorted list, between neighbours in proportion.
func quantile(sorted []float64, p float64) float64 {
	at := p*float64(len(sorted)) - 0.5
	i := int(max(at, 0))
	if at <= 0 || i >= len(sorted)-1 {
		return sorted[min(i, len(sorted)-1)]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
