package rank_test

import (
	"testing"

	"gridbroker/jdl"
	"gridbroker/rank"
)

// What the ranking alone costs once a grid's resources are candidates: 3000
// with forecasts, queue lengths and history for about half of them.
func BenchmarkRank3000(b *testing.B) {
	cs := randomCandidates(seeded(1), 3000)
	p, err := rank.ParsePolicy(rank.Hybrid, rank.DefaultModel())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p.NewField(&jdl.Job{}, now, cs, rank.NewTally(), nil).Order(seeded(1), 0)
	}
}

// A thousand jobs placed one after the other over them.
func BenchmarkPlace1000Jobs3000(b *testing.B) {
	cs := randomCandidates(seeded(1), 3000)
	p, err := rank.ParsePolicy(rank.Hybrid, rank.DefaultModel())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		tally := rank.NewTally()
		f := p.NewField(&jdl.Job{}, now, cs, tally, nil)
		draws := seeded(1)
		for range 1000 {
			got, _ := f.Order(draws, 10)
			tally.Place(got[0].Resource, 1)
		}
	}
}
