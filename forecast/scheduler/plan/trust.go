package plan

// trusts is into how many classes the chances that are told are cut; trusted, how
// many bookings that came as told each is worth at first; lately, of how many a class
// is at most: older ones count less.
const (
	trusts  = 20
	trusted = 9
	lately  = 20_000
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
}

func (t *Trust) class(told float64) *TrustClass {
	return &t.Classes[max(0, min(trusts-1, int(told*trusts)))]
}

// Believe is the chance, 0 to 1, that a booking is kept of which the agent tells one.
func (t *Trust) Believe(told float64) float64 {
	c := t.class(told)
	return min(1, (trusted*told+c.Kept)/(trusted+c.N))
}

// Count learns from a booking whose time has come.
func (t *Trust) Count(told float64, kept bool) {
	c := t.class(told)
	if c.N >= lately {
		c.N, c.Kept = c.N*(1-1.0/lately), c.Kept*(1-1.0/lately)
	}
	c.N++
	if kept {
		c.Kept++
	}
}
