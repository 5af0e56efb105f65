package batch

// closure is a time for which a job keeps all others off a node, whatever runs there
// until it begins: a place under slurm.
type closure struct {
	from, to int64
	owner    int64 // the job's seq
}

// closures are those of one node, in no order: there are few.
type closures []closure

// within tells whether the node is closed at some moment of [from, to).
func (list closures) within(from, to int64) bool {
	for i := range list {
		if c := &list[i]; c.from < to && from < c.to {
			return true
		}
	}
	return false
}

// drop takes out those of an owner, which were in [from, to).
func (list *closures) drop(owner int64) (from, to int64) {
	from, to = never, -never
	for i := 0; i < len(*list); {
		c, last := &(*list)[i], len(*list)-1
		if c.owner != owner {
			i++
			continue
		}
		from, to = min(from, c.from), max(to, c.to)
		(*list)[i] = (*list)[last]
		*list = (*list)[:last]
	}
	return from, to
}

// next is when the node is closed next, now or later.
func (list closures) next(now int64) int64 {
	at := never
	for i := range list {
		if c := &list[i]; c.to > now {
			at = min(at, max(c.from, now))
		}
	}
	return at
}

// begin tells whether one is to begin after now.
func (list closures) begin(now int64) bool {
	for i := range list {
		if list[i].from > now {
			return true
		}
	}
	return false
}

// turn is when one begins or ends next.
func (list closures) turn(now int64) int64 {
	at := never
	for i := range list {
		if c := &list[i]; c.from > now {
			at = min(at, c.from)
		} else if c.to > now {
			at = min(at, c.to)
		}
	}
	return at
}

// shutOff keeps all others off a node for a time.
func shutOff(p *nodePlan, node int32, c closure) {
	t := &p.nodes[node]
	t.closed = append(t.closed, c)
	when := c.to
	if c.from > p.now {
		when = c.from
		p.later.add(node, len(p.nodes))
	}
	p.touches.note(node)
	p.rooms.change(node, when)
	p.calendars.close(node, c.from, c.to)
}
