package classad

// scope is a record where it stands: its attributes, and what is around it.
// Exactly one of ad, ext and sides is set.
type scope struct {
	ad    *Ad
	ext   Scope  // a record known only by name and value
	sides *sides // not a record of the text: the names of a match
	up    *scope // nil: outermost
}

// sides are the names a match adds around a record: my, other and target.
type sides struct {
	my    *scope // nil inside anyMatch and its kin, which leave "my" alone
	other *scope
}

// matchScope returns ad as one side of a match; other nil is no match.
func matchScope(ad *Ad, other Scope) *scope {
	if other == nil {
		return &scope{ad: ad}
	}
	m := &struct { // one allocation for all of a match
		self, there, selfUp, thereUp scope
		mine, theirs                 sides
	}{self: scope{ad: ad}, there: scope{ext: other}}
	if o, ok := other.(*Ad); ok {
		m.there = scope{ad: o}
	}
	m.mine, m.theirs = sides{my: &m.self, other: &m.there}, sides{my: &m.there, other: &m.self}
	m.selfUp, m.thereUp = scope{sides: &m.mine}, scope{sides: &m.theirs}
	m.self.up, m.there.up = &m.selfUp, &m.thereUp
	return &m.self
}

// withOther returns a scope in which other and target are the record.
func withOther(s, record *scope) *scope {
	return &scope{sides: &sides{other: record}, up: s}
}

// names answers the names of a match.
func (s *sides) names(key string) (*scope, bool) {
	switch key {
	case "other", "target":
		return s.other, true
	case "my", "ad":
		return s.my, s.my != nil
	}
	return nil, false
}

// pseudo answers the pseudo attributes of a record.
func (s *scope) pseudo(key string) (v Value, ok bool) {
	var to *scope
	switch key {
	case "self":
		to = s
	case "parent":
		to = s.up
	case "root", "toplevel":
		to = s.root()
	default:
		return Value{}, false
	}
	if to == nil {
		return UndefinedValue(), true
	}
	return recordIn(to), true
}

func (s *scope) root() *scope {
	for s.up != nil {
		s = s.up
	}
	return s
}

// lookup evaluates a name where it is found first: in s, then outwards.
func (ev *evaluator) lookup(name, key string, s *scope) Value {
	asked := false
	for c := s; c != nil; c = c.up {
		if c.sides != nil {
			if to, ok := c.sides.names(key); ok {
				return recordIn(to)
			}
			continue
		}
		if v, ok := ev.attribute(c, name, key); ok {
			return v
		}
		if asked {
			continue
		}
		asked = true
		if v, ok := c.pseudo(key); ok {
			return v
		}
	}
	return UndefinedValue()
}

// attribute evaluates an attribute of one record, where that record stands.
func (ev *evaluator) attribute(c *scope, name, key string) (v Value, ok bool) {
	if c.ext != nil {
		v, ok = c.ext.Lookup(name)
		return v.within(c), ok
	}
	i := c.ad.find(key)
	if i < 0 {
		return Value{}, false
	}
	return ev.attributeAt(c, i), true
}

// attributeAt evaluates attribute i of a record. One that is being evaluated
// already refers to itself: UNDEFINED.
func (ev *evaluator) attributeAt(c *scope, i int) Value {
	this := active{c.ad, i}
	for _, a := range ev.active {
		if a == this {
			return UndefinedValue()
		}
	}
	if len(ev.active) == maxActive {
		return ev.exhaust()
	}
	if c.ad.pack != nil {
		if v, ok := c.ad.pack.value(i); ok {
			ev.spend(1+len(v.elements()), len(v.elements())*valueBytes)
			return v
		}
	}
	ev.active = append(ev.active, this)
	v := ev.eval(c.ad.exprAt(i), c)
	ev.active = ev.active[:len(ev.active)-1]
	return v
}

// within puts the records of a value that came from outside into a scope,
// if they have none around them yet.
func (v Value) within(s *scope) Value {
	switch {
	case v.kind == Record && v.box.rec.up == nil && v.box.rec != s:
		r := *v.box.rec
		r.up = s
		return recordIn(&r)
	case v.kind == List && hasRecord(v.box.list):
		vs := make([]Value, len(v.box.list))
		for i, e := range v.box.list {
			vs[i] = e.within(s)
		}
		return ListValue(vs)
	}
	return v
}

func hasRecord(vs []Value) bool {
	for _, v := range vs {
		if v.kind == Record || v.kind == List && hasRecord(v.box.list) {
			return true
		}
	}
	return false
}
