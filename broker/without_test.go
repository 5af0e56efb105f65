package broker

import (
	"fmt"
	"slices"
	"testing"

	"gridbroker/glue"
	"gridbroker/rank"
)

// What is said against some survivors takes out these, with their rows; lists that
// a service may still look at stay as they are.
func TestWithout(t *testing.T) {
	for _, out := range [][]int{nil, {0}, {4}, {1, 3}, {0, 1, 2, 3, 4}} {
		m := &Match{rows: []int32{10, 11, 12, 13, 14}}
		cs := make([]rank.Candidate, 5)
		for i := range cs {
			cs[i].Resource = &glue.Resource{ID: fmt.Sprint(i)}
			m.Survivors = append(m.Survivors, cs[i].Resource)
		}
		rows, survivors := m.rows, m.Survivors
		before := slices.Clone(survivors)
		asked := 0
		left := m.without(cs, func(c *rank.Candidate) *Reason {
			asked++
			if slices.Contains(out, int(c.Resource.ID[0]-'0')) {
				return &Reason{Filter: ByHealth}
			}
			return nil
		})
		if asked != 5 || len(m.later) != len(out) || len(left) != 5-len(out) || len(m.rows) != len(left) || len(m.Survivors) != len(left) {
			t.Fatalf("without %v: %d of %d rows left, %d rejected, asked %d times", out, len(left), len(m.rows), len(m.later), asked)
		}
		for i, c := range left {
			if n := int(c.Resource.ID[0] - '0'); slices.Contains(out, n) || m.Survivors[i] != c.Resource || int(m.rows[i]) != 10+n {
				t.Errorf("without %v: %s is left in row %d, survivor %s", out, c.Resource.ID, m.rows[i], m.Survivors[i].ID)
			}
		}
		if !slices.Equal(survivors, before) || !slices.Equal(rows, []int32{10, 11, 12, 13, 14}) {
			t.Errorf("without %v: the lists are %v now", out, rows)
		}
	}
}
