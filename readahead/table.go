package readahead

// Portion names one portion of one file.
type Portion struct {
	File  int
	Index int64
}

// State is the state of a cell.
type State uint8

// The states of a cell.
const (
	Free State = iota
	OnWay
	Valid
)

func (s State) String() string { return [...]string{"free", "on its way", "valid"}[s] }

// Slot is the number of a cell; None stands for no cell.
type Slot int32

// None is the slot of a portion that is not held.
const None Slot = -1

type cell struct {
	portion    Portion
	state      State
	pins       int32
	ahead      bool // fetched ahead and not yet read
	prev, next Slot // neighbours in order of use; prev was used later
}

// Table is the directory of a cache: which cell holds which portion. It decides
// what makes room and touches no data. The zero value is not usable; see newTable.
type Table struct {
	cells  []cell
	where  map[Portion]Slot
	newest Slot
	oldest Slot
	room   int // cells the table may come to have
	free   []Slot
}

// newTable returns an empty table of the given number of cells, at least one.
func newTable(cells int) *Table {
	cells = max(1, cells)
	return &Table{where: make(map[Portion]Slot, min(cells, 64)), newest: None, oldest: None, room: cells}
}

// Cells returns how many cells the table may use.
func (t *Table) Cells() int { return t.room }

// Len returns how many portions are held or on their way.
func (t *Table) Len() int { return len(t.where) }

// Find returns the cell of p, or None. It does not count as a use.
func (t *Table) Find(p Portion) Slot {
	if s, ok := t.where[p]; ok {
		return s
	}
	return None
}

// State returns the state of a cell and the portion it stands for.
func (t *Table) State(s Slot) (Portion, State) { return t.cells[s].portion, t.cells[s].state }

// Use makes the cell the most recently used one.
func (t *Table) Use(s Slot) {
	t.unlink(s)
	t.pushFront(s)
}

// Insert gives p a cell in state OnWay, as the most recently used one. p must
// not be held. Where no cell is free the least recently used one without a pin
// gives way; evicted is the portion that was in it. ok is false if every cell
// is pinned: then nothing has changed.
func (t *Table) Insert(p Portion) (s Slot, evicted Portion, had, ok bool) {
	s = t.spare()
	if s == None {
		if s = t.victim(); s == None {
			return None, Portion{}, false, false
		}
		evicted, had = t.cells[s].portion, true
		delete(t.where, evicted)
		t.unlink(s)
	}
	t.cells[s] = cell{portion: p, state: OnWay, pins: t.cells[s].pins, prev: None, next: None}
	t.where[p] = s
	t.pushFront(s)
	return s, evicted, had, true
}

// Settle says that the data of the cell has come.
func (t *Table) Settle(s Slot) { t.cells[s].state = Valid }

// Drop frees a cell. Its pins remain to be taken back.
func (t *Table) Drop(s Slot) {
	delete(t.where, t.cells[s].portion)
	t.unlink(s)
	t.cells[s] = cell{pins: t.cells[s].pins, prev: None, next: None}
	t.free = append(t.free, s)
}

// MarkAhead says that the cell was asked for ahead of any reader.
func (t *Table) MarkAhead(s Slot) { t.cells[s].ahead = true }

// TakeAhead says whether the cell was asked for ahead and is read for the first time now.
func (t *Table) TakeAhead(s Slot) bool {
	was := t.cells[s].ahead
	t.cells[s].ahead = false
	return was
}

// Pin keeps a cell from giving way until as many calls of Unpin.
func (t *Table) Pin(s Slot) { t.cells[s].pins++ }

// Unpin takes one Pin back.
func (t *Table) Unpin(s Slot) { t.cells[s].pins-- }

// spare returns a cell that is in no use, or None.
func (t *Table) spare() Slot {
	if n := len(t.free); n > 0 {
		s := t.free[n-1]
		t.free = t.free[:n-1]
		return s
	}
	if len(t.cells) < t.room {
		t.cells = append(t.cells, cell{})
		return Slot(len(t.cells) - 1)
	}
	return None
}

// victim returns the least recently used cell without a pin, or None.
func (t *Table) victim() Slot {
	s := t.oldest
	for s != None && t.cells[s].pins > 0 {
		s = t.cells[s].prev
	}
	return s
}

func (t *Table) unlink(s Slot) {
	c := &t.cells[s]
	if c.prev == None {
		t.newest = c.next
	} else {
		t.cells[c.prev].next = c.next
	}
	if c.next == None {
		t.oldest = c.prev
	} else {
		t.cells[c.next].prev = c.prev
	}
	c.prev, c.next = None, None
}

func (t *Table) pushFront(s Slot) {
	t.cells[s].next = t.newest
	if t.newest != None {
		t.cells[t.newest].prev = s
	} else {
		t.oldest = s
	}
	t.newest = s
}

// Restore fills an empty table: held tells which portion a cell holds, if any.
func (t *Table) Restore(held func(Slot) (Portion, bool)) {
	for s := range Slot(t.room) {
		t.cells = append(t.cells, cell{prev: None, next: None})
		p, ok := held(s)
		if _, twice := t.where[p]; !ok || twice {
			t.free = append(t.free, s)
			continue
		}
		t.cells[s] = cell{portion: p, state: Valid, prev: None, next: None}
		t.where[p] = s
		t.pushFront(s)
	}
}
