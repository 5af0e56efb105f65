package wire

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// What is booked first is the surest, what is left is the less sure the more of all that
// is foretold comes before it, and surer where more comes behind.
func TestRiskRisesWithDepth(t *testing.T) {
	slots := []Slot{{ID: 1, Node: "a", CPUs: 10, Memory: 1000, From: 50}, {ID: 2, Node: "b", CPUs: 10, From: 50, To: 500}, {ID: 3, Node: "b", CPUs: 4, From: 300},
		{ID: 4, Node: "a", CPUs: 1, From: 60, Priority: 2}}
	got, last, at := "", 9.0, uint64(3)
	for _, v := range Deepen(slots, nil, 100, 40) {
		if v.Priority > 0 {
			if v.Risk != 1 {
				t.Errorf("the slot of a waiting job has risk %.2f", v.Risk)
			}
			continue
		}
		got += fmt.Sprint(v.ID, "x", v.CPUs, " ")
		if at != 3 && v.Risk >= last { // those of 3 are behind those of 1 and 2, later

			t.Errorf("slot %d: risk %.2f after %.2f", v.ID, v.Risk, last)
		}
		if last, at = v.Risk, v.ID; v.ID == 1 && v.Memory != 200 {
			t.Errorf("%d of 10 processors have %d MB of 1000", v.CPUs, v.Memory)
		}
	}
	if want := "3x2 3x2 2x2 2x2 2x2 2x2 2x2 1x2 1x2 1x2 1x2 1x2 "; got != want {
		t.Errorf("cut into %s\nwant     %s", got, want)
	}
	free := Deepen(slots[:1], nil, 100, 40)
	busy := Deepen(slots[:1], map[string][]Use{"b": {{From: 90, To: 400, CPUs: 10}, {From: 0, To: 100, CPUs: 99}}}, 100, 40)
	if a, b := free[len(free)-1].Risk, busy[len(busy)-1].Risk; a >= b {
		t.Errorf("the risk of the first processor is %.2f, behind ten booked ones %.2f", a, b)
	}
}

// Whatever the slots are, all their processors come back, each once.
func TestDeepenKeepsProcessors(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 2))
	for range 300 {
		var slots []Slot
		want := map[uint64]int32{}
		busy := map[string][]Use{}
		for i := range r.IntN(20) {
			v := Slot{ID: uint64(i), CPUs: 1 + r.Int32N(40), From: r.Int64N(1000), Memory: r.Int64N(100)}
			if r.IntN(2) > 0 {
				v.To = v.From + 1 + r.Int64N(1000)
			}
			busy["n"] = append(busy["n"], Use{From: v.From / 2, To: v.From*2 + 1, CPUs: 1 + r.Int32N(90)})
			slots, want[v.ID] = append(slots, v), v.CPUs
		}
		for _, v := range Deepen(slots, busy, r.Int64N(1500), r.IntN(200)) {
			if want[v.ID] -= v.CPUs; v.CPUs < 1 || !(v.Risk > 0 && v.Risk < 3) {
				t.Fatalf("%+v", v)
			}
		}
		for id, left := range want {
			if left != 0 {
				t.Fatalf("%d processors of slot %d are left over", left, id)
			}
		}
	}
}
