package tree

// kind is what an event is. Of one tick ends come first, submissions last, the
// rest between them in the order in which they were made.
type kind uint8

const (
	end kind = iota
	submit
	arrive // a message at a manager
	served // a manager is done with a message
	wake   // a manager's own time has come
	begin  // a job starts away from home
	fail
	detect
)

type event struct {
	at   int64
	seq  int64
	kind kind
	who  int // manager
	what int // job, or message in the store
}

// calendar is a heap of events in order of time, kind and sequence.
type calendar struct {
	heap []event
	seq  int64
}

func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	a, b := e.rank(), o.rank()
	return a < b || a == b && e.seq < o.seq
}

// rank orders the kinds.
func (e *event) rank() int {
	switch e.kind {
	case end:
		return 0
	case submit:
		return 2
	}
	return 1
}

func (c *calendar) add(at int64, k kind, who, what int) {
	c.seq++
	h := append(c.heap, event{at: at, seq: c.seq, kind: k, who: who, what: what})
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !h[i].before(&h[p]) {
			break
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
	c.heap = h
}

// next takes the first event out; ok is false at the end.
func (c *calendar) next() (e event, ok bool) {
	h := c.heap
	if len(h) == 0 {
		return e, false
	}
	e = h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	c.heap = h
	for i := 0; ; {
		l := 2*i + 1
		if l >= last {
			break
		}
		if r := l + 1; r < last && h[r].before(&h[l]) {
			l = r
		}
		if !h[l].before(&h[i]) {
			break
		}
		h[i], h[l] = h[l], h[i]
		i = l
	}
	return e, true
}
