package broker

import (
	"context"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// Experience is what a caller knows beyond what is published: of its own jobs
// and of how resources dealt with them. Each part may be nil.
type Experience struct {
	// Avoid names the resources that a job must keep away from, by ID.
	Avoid func(*jdl.Job) []string
	// UnderWay lists the jobs made since a time that a back-end has or may
	// have, by resource ID.
	UnderWay func(ctx context.Context, since time.Time) (map[string][]Sent, error)
	// Caution looks at the candidates for a job before they are ranked. It
	// returns what speaks against each, nil for nothing, and sets the Limit of
	// others.
	Caution func(cs []rank.Candidate, now time.Time) []*Reason
}

// Sent is a job under way.
type Sent struct {
	At    time.Time // of the last request
	Slots int
}

// recently is how far back jobs are looked for that a resource may not have
// published yet.
const recently = 6 * time.Hour

// tally begins with the user's own jobs that were sent after their resource
// made its state public: what is published is minutes old, and calls in a row
// must not all see the same free slots. Where they cannot be listed it is
// empty: the plan is poorer, not wrong.
func (x Experience) tally(ctx context.Context, rs []*glue.Resource, now time.Time) *rank.Tally {
	tally := rank.NewTally()
	if x.UnderWay == nil {
		return tally
	}
	sent, err := x.UnderWay(ctx, now.Add(-recently))
	if err != nil || len(sent) == 0 {
		return tally
	}
	for _, r := range rs {
		made := now.Add(-ageOf(r, now))
		for _, s := range sent[r.ID] {
			if s.At.After(made) {
				tally.Earlier(r, s.Slots)
			}
		}
	}
	return tally
}

// heed takes out the candidates that experience speaks against.
func (x Experience) heed(m *Match, cs []rank.Candidate, now time.Time) []rank.Candidate {
	if x.Caution == nil {
		return cs
	}
	against := map[*glue.Resource]*Reason{}
	for i, why := range x.Caution(cs, now) {
		against[cs[i].Resource] = why
	}
	return m.without(cs, func(c *rank.Candidate) *Reason { return against[c.Resource] })
}
