package classad

// column is one attribute of all the rows of a table.
type column struct {
	name  string
	table *Table
	kinds []Kind   // of each cell; dynamic for one that has to be evaluated
	num   []uint64 // bits of the cells that are Bool, Int, Real or RelTime
	str   []string // cells that are String; nil if there are none
	exact []uint32 // number of the text, of cells that are String
	fold  []uint32 // number of the text in lower case
	lists []span   // cell r, if a List, is elems[lists[r].from:lists[r].to]; nil if there are none
	elems []uint32 // numbers of texts in lower case, 0 for what is no text

	longest  int  // elements of the longest list
	distinct int  // how many different texts the cells hold
	mixed    bool // some cells are no Int, no Bool and not UNDEFINED
	reals    bool // some cells are Real
	evaluate bool // some cells are dynamic
}

// span is a stretch of elems. Rows that have one and the same list share it.
type span struct{ from, to uint32 }

// dynamic marks a cell whose value depends on the other side, or is too large
// to be looked at without counting.
const dynamic Kind = 255

// Bounds of what a cell may be and still count as small.
const (
	cellText  = 4096
	cellElems = 1024
)

// newColumn reads a column; t.mu is held.
func (t *Table) newColumn(name string) *column {
	c := &column{name: name, table: t, kinds: make([]Kind, len(t.rows))}
	key := Fold(name)
	seen, lists := make(map[uint32]bool), make(map[*box]span)
	for r, row := range t.rows {
		v, ok := cell(row, name, key)
		if !ok {
			c.kinds[r], c.mixed, c.evaluate = dynamic, true, true
			continue
		}
		c.kinds[r] = v.kind
		switch v.kind {
		case Int, Bool:
			c.number(r, v)
		case Real, RelTime:
			c.number(r, v)
			c.mixed, c.reals = true, c.reals || v.kind == Real
		case String:
			c.text(r, v.str)
			seen[c.exact[r]] = true
			c.mixed = true
		case List:
			c.list(r, v.box, lists)
			c.mixed = true
		case Undefined:
		default:
			c.mixed = true
		}
	}
	c.distinct = len(seen)
	return c
}

// cell looks up an attribute of a row. It is false when the value is large or
// not a constant.
func cell(row Scope, name, key string) (Value, bool) {
	ad, ok := row.(*Ad)
	if !ok {
		v, published := row.Lookup(name)
		if !published { // whatever v is then
			return Value{}, true
		}
		return v, v.small()
	}
	i := ad.find(key)
	if i < 0 {
		return Value{}, true
	}
	v, ok := ad.valueAt(i)
	return v, ok && v.small()
}

// small reports whether a value is cheap to handle.
func (v Value) small() bool {
	switch v.kind {
	case String:
		return len(v.str) <= cellText
	case List:
		for _, e := range v.box.list {
			if e.kind == List || e.kind == Record || !e.small() {
				return false
			}
		}
		return len(v.box.list) <= cellElems
	case Record:
		return false
	}
	return true
}

// constant is the value of an expression that is a literal or a list of them.
func constant(e Expr) (Value, bool) {
	switch e := e.(type) {
	case *Literal:
		return e.Value, true
	case *ListExpr:
		vs := make([]Value, len(e.Elems))
		for i, x := range e.Elems {
			l, ok := x.(*Literal)
			if !ok {
				return Value{}, false
			}
			vs[i] = l.Value
		}
		return ListValue(vs), true
	}
	return Value{}, false
}

func (c *column) number(r int, v Value) {
	if c.num == nil {
		c.num = make([]uint64, len(c.kinds))
	}
	c.num[r] = v.num
}

func (c *column) text(r int, s string) {
	if c.str == nil {
		n := len(c.kinds)
		c.str, c.exact, c.fold = make([]string, n), make([]uint32, n), make([]uint32, n)
	}
	c.str[r] = s
	c.exact[r], c.fold[r] = c.table.texts.add(s)
}

// list enters a list; known are those that are in the column.
func (c *column) list(r int, b *box, known map[*box]span) {
	if c.lists == nil {
		c.lists = make([]span, len(c.kinds))
	}
	at, ok := known[b]
	if !ok {
		at.from = uint32(len(c.elems))
		c.longest = max(c.longest, len(b.list))
		for _, v := range b.list {
			id := uint32(0)
			if v.kind == String {
				_, id = c.table.texts.add(v.str)
			}
			c.elems = append(c.elems, id)
		}
		at.to = uint32(len(c.elems))
		known[b] = at
	}
	c.lists[r] = at
}

// value is a cell; ok is false for one that has to be evaluated.
func (c *column) value(r int) (v Value, ok bool) {
	switch k := c.kinds[r]; k {
	case Undefined:
		return Value{}, true
	case Error:
		return ErrorValue(), true
	case Bool, Int, Real, RelTime:
		return Value{kind: k, num: c.num[r]}, true
	case String:
		return StringValue(c.str[r]), true
	case dynamic:
		return Value{}, false
	}
	v, _ = cell(c.table.rows[r], c.name, Fold(c.name))
	return v, true
}

// has reports whether a list cell holds a text, given by the number of its
// lower case.
func (c *column) has(r int, folded uint32) bool {
	for _, id := range c.elems[c.lists[r].from:c.lists[r].to] {
		if id == folded {
			return true
		}
	}
	return false
}
