package plan

// tally counts by node: a table of its own, since a search counts a few nodes
// only and there are many searches. A table is empty again at no cost.
type tally struct {
	rows []tallyRow // a power of two of them
	now  uint32     // rows of another time are empty
	used int
}

type tallyRow struct {
	node, count int32
	of          uint32
}

// clear forgets all counts.
func (t *tally) clear() {
	if t.now++; t.now == 0 || t.rows == nil {
		t.rows, t.now = make([]tallyRow, max(64, len(t.rows))), 1
	}
	t.used = 0
}

// at is a node's count. It holds until the next call.
func (t *tally) at(node int32) *int32 {
	if 2*t.used >= len(t.rows) {
		t.grow()
	}
	mask := uint32(len(t.rows) - 1)
	for k := uint32(node) * 2654435769 >> 7 & mask; ; k = (k + 1) & mask {
		row := &t.rows[k]
		if row.of != t.now {
			*row = tallyRow{node, 0, t.now}
			t.used++
			return &row.count
		}
		if row.node == node {
			return &row.count
		}
	}
}

func (t *tally) grow() {
	old := t.rows
	t.rows, t.used = make([]tallyRow, 2*len(old)), 0
	for _, row := range old {
		if row.of == t.now {
			*t.at(row.node) = row.count
		}
	}
}
