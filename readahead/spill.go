package readahead

import "slices"

// maxSpill bounds what is kept in memory of portions that the disk does not take, in bytes; two portions may be.
const maxSpill = 4 << 20

// spill has the last portions that could not be written: who reads them by small pieces
// need not fetch a portion for each, and what was fetched ahead is there for its reader.
type spill struct {
	data  map[Slot][]byte
	order []Slot // as they came
}

// put keeps a portion of a cache's portions. The cell that gave way for it holds nothing any more; None if there is room.
func (s *spill) put(slot Slot, data []byte, portion int64) (gone Slot) {
	if s.data == nil {
		s.data = map[Slot][]byte{}
	}
	gone = None
	if int64(len(s.order)) >= max(2, maxSpill/portion) {
		gone = s.order[0]
		s.drop(gone)
	}
	s.data[slot], s.order = data, append(s.order, slot)
	return gone
}

// drop forgets what a cell had.
func (s *spill) drop(slot Slot) {
	if _, ok := s.data[slot]; ok {
		delete(s.data, slot)
		s.order = slices.DeleteFunc(s.order, func(o Slot) bool { return o == slot })
	}
}
