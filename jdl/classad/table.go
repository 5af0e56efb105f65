package classad

import "sync"

// Table holds many records by column, so that one expression can be evaluated
// against all of them fast. A column is made when an expression first asks
// for it, and kept. The rows must not change. A Table may be used from
// several goroutines.
type Table struct {
	rows []Scope

	mu      sync.Mutex
	columns map[string]*column // by name in lower case
	texts   textIDs
}

// NewTable returns a table of records, for instance of the resources of one
// snapshot. An *Ad as a row is evaluated with the sides swapped, as by
// Ad.Eval.
func NewTable[S Scope](rows []S) *Table {
	t := &Table{rows: make([]Scope, len(rows)), columns: make(map[string]*column)}
	for i, r := range rows {
		t.rows[i] = r
	}
	return t
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// column returns a column, making it if need be.
func (t *Table) column(name string) *column {
	key := Fold(name)
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.columns[key]
	if c == nil {
		c = t.newColumn(name)
		t.columns[key] = c
	}
	return c
}

// id returns the numbers of a text and of its lower case, if a column has
// either.
func (t *Table) id(s string) (exact, folded uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.texts.ids[s], t.texts.ids[Fold(s)]
}

// textIDs numbers distinct texts from 1 on.
type textIDs struct {
	ids    map[string]uint32
	texts  []string // texts[id]
	folded []uint32 // folded[id] is the number of texts[id] in lower case
}

// add returns the numbers of a text and of its lower case.
func (d *textIDs) add(s string) (exact, folded uint32) {
	if id, ok := d.ids[s]; ok {
		return id, d.folded[id]
	}
	low := Fold(s)
	folded = d.put(low)
	d.folded[folded] = folded
	exact = d.put(s)
	d.folded[exact] = folded
	return exact, folded
}

func (d *textIDs) put(s string) uint32 {
	if id, ok := d.ids[s]; ok {
		return id
	}
	if d.ids == nil {
		d.ids = make(map[string]uint32)
		d.texts, d.folded = []string{""}, []uint32{0} // number 0 is no text
	}
	id := uint32(len(d.texts))
	d.ids[s] = id
	d.texts, d.folded = append(d.texts, s), append(d.folded, 0)
	return id
}
