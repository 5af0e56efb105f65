package plan

// trusts is into how many classes the chances that are told are cut; telling, how
// many bunches of bookings make a class speak for itself: with fewer its neighbours
// are asked, too; trusted, how many bunches that came as told what is told is worth;
// lately, of how many bunches a class is at most: older ones count less. Bookings
// that begin within a bunch, in seconds, mostly come or fail together: many at a time
// tell not much more than one.
const (
	trusts  = 20
	telling = 300
	trusted = 10
	lately  = 3000
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

func (t *Trust) class(told float64) int { return max(0, min(trusts-1, int(told*trusts))) }

// Believe is the chance, 0 to 1, that a booking is kept of which the agent tells one.
// Chances that too little is known of to tell them apart are told as one.
func (t *Trust) Believe(told float64) float64 {
	c, middle := t.around(told)
	prior := trusted * max(1, c.N/max(1, c.Bunches))
	told = (prior*told + middle) / (prior + c.N)
	return min(1, (prior*told+c.Kept)/(prior+c.N))
}

// around is the class of a chance with as many of its neighbours on both sides as it
// takes to have enough, and the sum of what was told with their bookings, about.
func (t *Trust) around(told float64) (all TrustClass, middle float64) {
	at := t.class(told)
	for far := 0; far < trusts && all.Bunches < telling; far++ {
		for _, i := range []int{at - far, at + far}[:min(2, far+1)] {
			if i < 0 || i >= trusts {
				continue
			}
			c := &t.Classes[i]
			all.N, all.Kept, all.Bunches = all.N+c.N, all.Kept+c.Kept, all.Bunches+c.Bunches
			middle += c.N * (float64(i) + 0.5) / trusts
		}
	}
	return all, middle
}

// Count learns from a booking whose time has come; it began then, or was to, in
// seconds of Unix time.
func (t *Trust) Count(told float64, kept bool, began int64) {
	c := &t.Classes[t.class(told)]
	if max(began-c.Since, c.Since-began) >= bunch {
		if c.Bunches >= lately {
			const keep = 1 - 1.0/lately
			c.N, c.Kept, c.Bunches = c.N*keep, c.Kept*keep, c.Bunches*keep
		}
		c.Bunches, c.Since = c.Bunches+1, began
	}
	c.N++
	if kept {
		c.Kept++
	}
}
