package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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

// BenchmarkStored plays jobs of one processor through the central scheduler with its database.
func BenchmarkStored(b *testing.B) {
	s := stored(b, 400)
	for b.Loop() {
		if _, err := s.Play(b.Context(), sim.Stored, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1000/400, "ms/job")
}

// BenchmarkStoredYear plays a day and more of BenchmarkYear through the central scheduler with its database.
func BenchmarkStoredYear(b *testing.B) {
	s := year(b, 1000)
	for b.Loop() {
		if _, err := s.Play(b.Context(), sim.Stored, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "ms/job")
}

func stored(b *testing.B, jobs int) *sim.Scenario {
	text := &strings.Builder{}
	fmt.Fprintf(text, "policies = [\"scheduler\"]\nlatency = \"10s\"\ncycle = \"1m\"\n[jobs]\ncount = %d\nload = 0.25\nmax_procs = 1\nmax_run = \"2h\"\nusers = 8\n", jobs)
	for _, procs := range []int{32, 48, 64} {
		fmt.Fprintf(text, "[[site]]\nname = \"c%d\"\nprocs = %d\nlocal_load = 0.55\nrefresh = \"60s\"\n", procs, procs)
	}
	return parsed(b, text.String())
}

// BenchmarkClusters plays jobs over a thousand clusters: what one more job costs.
func BenchmarkClusters(b *testing.B) {
	for _, policy := range []string{"random", "fastest-queue", "paper", "hybrid", sim.Tree} {
		b.Run(policy, func(b *testing.B) {
			few, many := clusters(b, 100), clusters(b, 1100)
			for b.Loop() {
				begin := time.Now()
				play(b, few, policy)
				between := time.Now()
				play(b, many, policy)
				b.ReportMetric((time.Since(between)-between.Sub(begin)).Seconds()*1000/1000, "ms/job")
			}
		})
	}
}

func play(b *testing.B, s *sim.Scenario, policy string) {
	if _, err := s.Play(b.Context(), policy, 1); err != nil {
		b.Fatal(err)
	}
}

func clusters(b *testing.B, jobs int) *sim.Scenario {
	text := &strings.Builder{}
	fmt.Fprintf(text, "policies = [\"random\"]\n[jobs]\ncount = %d\nload = 0.35\nmax_procs = 64\n", jobs)
	for i := range 1000 {
		fmt.Fprintf(text, "[[site]]\nname = \"c%d\"\nprocs = %d\nlocal_load = 0.35\nrefresh = \"5m\"\n", i, 64*(1+i%8))
	}
	return parsed(b, text.String())
}

func parsed(b *testing.B, text string) *sim.Scenario {
	s, err := sim.Parse("bench.toml", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func year(b *testing.B, jobs int) *sim.Scenario {
	text := &strings.Builder{}
	fmt.Fprintf(text, "policies = [\"random\"]\n[jobs]\ncount = %d\nload = 0.35\nmax_procs = 64\n", jobs)
	for procs := 256; procs <= 1280; procs += 256 {
		fmt.Fprintf(text, "[[site]]\nname = \"c%d\"\nprocs = %d\nlocal_load = 0.35\n", procs, procs)
	}
	return parsed(b, text.String())
}
