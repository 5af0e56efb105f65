package managers

import "math/bits"

// pace is how far a manager is behind with its messages: a mean of how many
// waited while it handled one, in sixteenths. Who is behind tells its neighbours
// so with its own changes, and they leave more time between theirs.
type pace int

// maxPace bounds by how many doublings changes are held back.
const maxPace = 3

// see takes in how many messages wait.
func (p *pace) see(messages int) { *p += pace(min(max(messages, 0), 1<<20)) - *p/16 }

// wanted returns by how many doublings changes should be further apart.
func (p *pace) wanted(rules *Rules) int {
	if !rules.Paced {
		return 0
	}
	return min(bits.Len(uint(*p/16)), maxPace)
}
