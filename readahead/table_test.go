package readahead

import (
	"slices"
	"testing"
)

// FuzzTable plays any order of calls against a plain model of the table.
func FuzzTable(f *testing.F) {
	f.Add(3, []byte{1, 2, 3, 4, 1, 0x81, 5, 0x42})
	f.Fuzz(func(t *testing.T, cells int, calls []byte) {
		cells = 1 + (cells&0xff)%9
		table := newTable(cells)
		var order []Portion // most recently used first
		for _, c := range calls {
			p := Portion{File: int(c>>4) & 1, Index: int64(c & 0xf)}
			switch s := table.Find(p); {
			case s != None && c&0x80 != 0:
				table.Drop(s)
				order = slices.DeleteFunc(order, func(q Portion) bool { return q == p })
			case s != None:
				table.Use(s)
				order = append([]Portion{p}, slices.DeleteFunc(order, func(q Portion) bool { return q == p })...)
			default:
				_, evicted, had, ok := table.Insert(p)
				if !ok || had != (len(order) == cells) || had && evicted != order[len(order)-1] {
					t.Fatalf("insert %v: evicted %v %v, order %v", p, evicted, had, order)
				}
				if had {
					order = order[:len(order)-1]
				}
				order = append([]Portion{p}, order...)
			}
			checkTable(t, table, order)
		}
	})
}

func checkTable(t *testing.T, table *Table, order []Portion) {
	t.Helper()
	var got []Portion
	for s := table.newest; s != None; s = table.cells[s].next {
		p, state := table.State(s)
		if table.Find(p) != s || state == Free {
			t.Fatalf("cell %d: table and cells disagree about %v", s, p)
		}
		got = append(got, p)
	}
	if !slices.Equal(got, order) || table.Len() != len(order) || table.Len() > table.Cells() {
		t.Fatalf("order %v, want %v", got, order)
	}
}

func TestPinnedCellsStay(t *testing.T) {
	table := newTable(2)
	a, _, _, _ := table.Insert(Portion{Index: 1})
	b, _, _, _ := table.Insert(Portion{Index: 2})
	table.Pin(a)
	if _, evicted, _, ok := table.Insert(Portion{Index: 3}); !ok || evicted.Index != 2 {
		t.Errorf("evicted %v, want the one without a pin", evicted)
	}
	table.Pin(b)
	if _, _, _, ok := table.Insert(Portion{Index: 4}); ok {
		t.Error("a portion found room where every cell is pinned")
	}
	table.Unpin(a)
	if _, evicted, _, ok := table.Insert(Portion{Index: 4}); !ok || evicted.Index != 1 {
		t.Errorf("evicted %v, want 1", evicted)
	}
}
