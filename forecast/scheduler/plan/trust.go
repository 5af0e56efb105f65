package plan

// trusts is into how many classes foretold chances are cut; trusted, how many bunches
// of bookings that came as foretold what is foretold is worth; telling, how many of a class
// it takes to tell it apart from the others; lately, of how many bunches a class is at
// most: older ones count less. Bookings that begin within a bunch, in seconds, mostly come
// or fail together: many at a time tell not much more than one.
const (
	trusts  = 20
	trusted = 100
	telling = 150
	lately  = 3000
	bunch   = 1800
)

// Trust is what was learned of what a cluster's agent tells: how many bookings were
// missed of those that were to be by the chances told and the bookings' risks, in all and by
// the chance foretold. So the chances published come to be the shares kept, whatever the
// agent is wrong by. The zero Trust believes all.
type Trust struct {
	All     TrustClass         `json:"all"`
	Classes [trusts]TrustClass `json:"by_chance"`
}

// TrustClass is bookings of one class, or all.
type TrustClass struct {
	N        float64 `json:"n"`
	Foretold float64 `json:"foretold"` // how many of them were to be missed
	Missed   float64 `json:"missed"`
	// Bunches is how many bunches they came in; Since, when the last of them began.
	Bunches float64 `json:"bunches"`
	Since   int64   `json:"since"`
}

// foretell is the chance, 0 to 1, that a booking is missed by what the agent tells of its
// slot and its own risk (see wire.Deep), and the class that it is in.
func foretell(told, risk float64) (missed float64, class int) {
	missed = min(1, max(0.005, 1-told)*risk)
	return missed, max(0, min(trusts-1, int((1-missed)*trusts)))
}

// Believe is the chance, 0 to 1, that a booking of a risk is kept of whose slot the agent
// tells one.
func (t *Trust) Believe(told, risk float64) float64 {
	missed, class := foretell(told, risk)
	times, c := t.All.times(), &t.Classes[class]
	return min(1, max(0, 1-times*missed-c.off(times)))
}

// times is how many times as often as foretold bookings were missed.
func (c *TrustClass) times() float64 {
	if c.N <= 0 {
		return 1
	}
	prior := trusted * c.Foretold / max(1, c.Bunches)
	return (prior + c.Missed) / (prior + c.Foretold)
}

// off is by how much more often bookings were missed than so many times what was foretold.
func (c *TrustClass) off(times float64) float64 {
	if c.N <= 0 {
		return 0
	}
	return (c.Missed - times*c.Foretold) / (c.N + telling*c.N/max(1, c.Bunches))
}

// Count learns from a booking whose time has come; it began then, or was to, in
// seconds of Unix time.
func (t *Trust) Count(told, risk float64, kept bool, began int64) {
	missed, class := foretell(told, risk)
	for _, c := range []*TrustClass{&t.All, &t.Classes[class]} {
		c.count(missed, kept, began)
	}
}

func (c *TrustClass) count(missed float64, kept bool, began int64) {
	if max(began-c.Since, c.Since-began) >= bunch {
		if c.Bunches >= lately {
			const keep = 1 - 1.0/lately
			c.N, c.Foretold, c.Missed, c.Bunches = c.N*keep, c.Foretold*keep, c.Missed*keep, c.Bunches*keep
		}
		c.Bunches, c.Since = c.Bunches+1, began
	}
	c.N++
	if c.Foretold += missed; !kept {
		c.Missed++
	}
}
