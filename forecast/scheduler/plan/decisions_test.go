package plan

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// digest is the sum of all that a plan says.
func digest(list []Booking) uint64 {
	h := fnv.New64a()
	for _, b := range list {
		binary.Write(h, binary.LittleEndian, []int32{b.Job, b.From, b.Done, int32(b.Chance * 1000), int32(len(b.Parts))})
		binary.Write(h, binary.LittleEndian, b.Tentative)
		for _, p := range b.Parts {
			binary.Write(h, binary.LittleEndian, []int32{p.Slot, int32(p.CPUs)})
		}
	}
	return h.Sum64()
}

// Who gets which slot is the same from version to version: how the index looks
// for slots is no part of it. The sums were written by its first version; one
// that differs is a change of decisions, to be meant (-update).
func TestDecisionsStay(t *testing.T) {
	testbed.Computes(t)
	const file = "testdata/decisions.sums"
	var out strings.Builder
	for seed := range uint64(400) {
		jobs, slots, rules := varied(t, seed)
		list := Lookahead{}.Plan(jobs, slots, rules)
		fmt.Fprintf(&out, "%d %d jobs %d slots %d clusters: %d %016x\n", seed, len(jobs), len(slots), len(rules.Clusters), len(list), digest(list))
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(want), "\n")
	for k, line := range strings.Split(out.String(), "\n") {
		if k >= len(lines) || line != lines[k] {
			t.Fatalf("decisions differ: %s, line %d: %s", file, k+1, line)
		}
	}
}

// varied is a world of some size with all that planning knows.
func varied(t *testing.T, seed uint64) ([]Job, []Slot, *Rules) {
	r := rand.New(rand.NewPCG(seed, 21))
	size, clusters := 1+r.IntN(300), 1+r.IntN(30)
	if seed%40 == 0 {
		size, clusters = 10_000, 300 // more groups of clusters than there are rooms
	}
	jobs, slots, rules := world(r, 1+r.IntN(size), 1+r.IntN(3*size), clusters, 0.3)
	for i := range jobs {
		if r.IntN(10) == 0 {
			jobs[i].Nodes, jobs[i].Procs = 0, int32(1+r.IntN(40))
		}
		if r.IntN(10) == 0 {
			jobs[i].Procs = max(1, jobs[i].Nodes) * int32(1+r.IntN(4))
		}
		jobs[i].Memory = int32(r.IntN(20_000))
		jobs[i].Bypassed = int32(r.IntN(1050))
	}
	for i := range slots {
		s := &slots[i]
		s.Class = uint16(r.IntN(3))
		if r.IntN(3) == 0 {
			s.Priority = 0
		}
		if r.IntN(20) == 0 {
			s.To = Never
		}
		s.Memory = []int32{0, 4000, 16_000}[r.IntN(3)]
		s.Start = uint8(1 + r.IntN(100))
	}
	for w := range rules.Wishes {
		rules.Wishes[w].Classes = []uint64{1 + uint64(r.IntN(7))}
	}
	for u := range rules.Users {
		if r.IntN(3) == 0 {
			rules.Users[u].Left = float64(r.IntN(3000))
		}
	}
	if seed%3 == 0 {
		r.Shuffle(len(slots), func(a, b int) { slots[a], slots[b] = slots[b], slots[a] })
	}
	variedClusters(t, r, rules)
	return jobs, slots, rules
}

func variedClusters(t *testing.T, r *rand.Rand, rules *Rules) {
	for k := range rules.Clusters {
		c := &rules.Clusters[k]
		c.Drained, c.OutOfTurn = r.IntN(12) == 0, r.IntN(3) > 0
		c.TMin, c.TMax = int32(r.IntN(200)), int32(300+r.IntN(900))
		if r.IntN(8) == 0 {
			c.MaxGuest = int32(600 + r.IntN(3600))
		}
		if r.IntN(8) == 0 {
			text := []string{"priority * 2", "hour > 12 ? priority : priority / 2", "procs > 2 ? priority : priority / 3", "waiting > 3 ? 0.0 : priority"}[r.IntN(4)]
			f, err := CompileFormula(text)
			if err != nil {
				t.Fatal(err)
			}
			c.Local = f
		}
	}
	rules.MaxBypass = int32(r.IntN(2) * 1000)
	rules.Horizon = int32(600 + r.IntN(8*3600))
}
