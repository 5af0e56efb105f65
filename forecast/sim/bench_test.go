package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"gridbroker/forecast/sim"
)

// BenchmarkYear plays jobs over five clusters; 350,000 of them are a year.
func BenchmarkYear(b *testing.B) {
	for _, policy := range []string{"random", "fastest-queue", "hybrid", sim.GrAS, sim.Tree} {
		b.Run(policy, func(b *testing.B) {
			s := year(b, 20_000)
			for b.Loop() {
				if _, err := s.Play(b.Context(), policy, 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*350/20, "s/year")
		})
	}
}

func year(b *testing.B, jobs int) *sim.Scenario {
	text := &strings.Builder{}
	fmt.Fprintf(text, "policies = [\"random\"]\n[jobs]\ncount = %d\nload = 0.35\nmax_procs = 64\n", jobs)
	for procs := 256; procs <= 1280; procs += 256 {
		fmt.Fprintf(text, "[[site]]\nname = \"c%d\"\nprocs = %d\nlocal_load = 0.35\n", procs, procs)
	}
	s, err := sim.Parse("year.toml", []byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	return s
}
