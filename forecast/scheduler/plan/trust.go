package plan

// leveled is how many bunches of bookings that were missed as often as foretold what is
// foretold is worth; sloped, how many in which chances that differ by spread, in the mean,
// made slope of the difference: of bookings that are foretold to be surer or less sure than others,
// replays of KTH SP2 and SDSC SP2 kept that part of it. lately is of how many bunches
// Trust is at most: older ones count less. Bookings that begin within a bunch, in seconds, mostly
// come or fail together: many at a time tell not much more than one.
const (
	leveled = 100
	sloped  = 300
	spread  = 0.07
	slope   = 0.7
	lately  = 3000
	bunch   = 1800
)

// Trust is what was learned of what a cluster's agent tells: the straight line from how
// likely bookings were foretold to be missed, by the chances told and the bookings' risks, to
// how often they were. So the chances published come to be the shares kept, and differ no
// more than these. The zero Trust believes all.
type Trust struct {
	N        float64 `json:"n"`        // bookings
	Foretold float64 `json:"foretold"` // how many of them were to be missed
	Missed   float64 `json:"missed"`
	// Square sums up the squares of what Foretold sums up, Both those of what was missed.
	Square float64 `json:"square"`
	Both   float64 `json:"both"`
	// Bunches is how many bunches they came in; Since, when the last of them began.
	Bunches float64 `json:"bunches"`
	Since   int64   `json:"since"`
}

// foretell is the chance, 0 to 1, that a booking is missed by what the agent tells of its
// slot and its own risk (see wire.Deep).
func foretell(told, risk float64) float64 { return min(1, max(0.005, 1-told)*risk) }

// Believe is the chance, 0 to 1, that a booking of a risk is kept of whose slot the agent
// tells one.
func (t *Trust) Believe(told, risk float64) float64 {
	foretold := foretell(told, risk)
	if t.N <= 0 {
		return 1 - foretold
	}
	of := t.N / max(1, t.Bunches) // bookings in a bunch
	mean := t.Foretold / t.N
	level := (leveled*of*mean + t.Missed) / (leveled*of + t.N)
	known := sloped * of * spread * spread
	steep := max(0, (known*slope+t.Both-mean*t.Missed)/(known+t.Square-mean*t.Foretold))
	return min(1, max(0, 1-level-steep*(foretold-mean)))
}

// Count learns from a booking whose time has come; it began then, or was to, in
// seconds of Unix time.
func (t *Trust) Count(told, risk float64, kept bool, began int64) {
	if max(began-t.Since, t.Since-began) >= bunch {
		if t.Bunches >= lately {
			for _, sum := range []*float64{&t.N, &t.Foretold, &t.Missed, &t.Square, &t.Both, &t.Bunches} {
				*sum *= 1 - 1.0/lately
			}
		}
		t.Bunches, t.Since = t.Bunches+1, began
	}
	foretold := foretell(told, risk)
	t.N++
	t.Foretold += foretold
	if t.Square += foretold * foretold; !kept {
		t.Missed++
		t.Both += foretold
	}
}
