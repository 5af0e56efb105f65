package batch

// due is something that happens to a job at a time; the ticket orders what
// happens at one instant.
type due struct {
	at, ticket int64
	job        int32
}

// agenda is a binary heap of what is due, the next first.
type agenda []due

func (d due) before(e due) bool { return d.at < e.at || d.at == e.at && d.ticket < e.ticket }

func (h *agenda) push(d due) {
	list := append(*h, d)
	i := len(list) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !d.before(list[up]) {
			break
		}
		list[i] = list[up]
		i = up
	}
	list[i] = d
	*h = list
}

func (h *agenda) pop() due {
	list := *h
	first, last := list[0], list[len(list)-1]
	if *h = list[:len(list)-1]; len(*h) > 0 {
		h.down(0, last)
	}
	return first
}

// down puts d, which belongs at place i or below, into its place.
func (h *agenda) down(i int, d due) {
	list := *h
	for down := 2*i + 1; down < len(list); down = 2*i + 1 {
		if down+1 < len(list) && list[down+1].before(list[down]) {
			down++
		}
		if !list[down].before(d) {
			break
		}
		list[i] = list[down]
		i = down
	}
	list[i] = d
}

// order makes a heap of entries in any order.
func (h *agenda) order() {
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.down(i, (*h)[i])
	}
}
