package plan

// trusts is into how many classes the chances that are told are cut; trusted, how
// many bunches of bookings that came as told each is worth at first; lately, of how
// many bookings a class is at most: older ones count less. Bookings that begin
// within a bunch, in seconds, mostly come or fail together: many at a time tell not
// much more than one.
const (
	trusts  = 20
	trusted = 10
	lately  = 20_000
	bunch   = 1800
)

// Trust is what was learned of the chances that a cluster's agent tells: of the
// bookings by the chance they were told with, how many were kept. So the chances
// published come to be the shares kept, whatever the agent is wrong by. The zero Trust
// believes all.
type Trust struct {
	Classes [trusts]TrustClass `json:"classes"`
}

// TrustClass is one class of chances told, the first from 0 to a twentieth.
type TrustClass struct {
	N    float64 `json:"n"`    // bookings
	Kept float64 `json:"kept"` // of these
	// Bunches is how many bunches they came in; Since, when the last of them began.
	Bunches float64 `json:"bunches,omitempty"`
	Since   int64   `json:"since,omitempty"`
}

func (t *Trust) class(told float64) *TrustClass {
	return &t.Classes[max(0, min(trusts-1, int(told*trusts)))]
}

// Believe is the chance, 0 to 1, that a booking is kept of which the agent tells one.
func (t *Trust) Believe(told float64) float64 {
	c := t.class(told)
	prior := trusted * max(1, c.N/max(1, c.Bunches))
	return min(1, (prior*told+c.Kept)/(prior+c.N))
}

// Count learns from a booking whose time has come; it began then, or was to, in
// seconds of Unix time.
func (t *Trust) Count(told float64, kept bool, began int64) {
	c := t.class(told)
	if c.N >= lately {
		const keep = 1 - 1.0/lately
		c.N, c.Kept, c.Bunches = c.N*keep, c.Kept*keep, c.Bunches*keep
	}
	if max(began-c.Since, c.Since-began) >= bunch {
		c.Bunches, c.Since = c.Bunches+1, began
	}
	c.N++
	if kept {
		c.Kept++
	}
}
