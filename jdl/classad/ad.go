package classad

import "slices"

// indexFrom is the number of attributes from which a record keeps a map: that of a job is as large as its attributes.
const indexFrom = 17

// Attrs returns the attributes in the order of the text. The slice must not
// be changed.
func (a *Ad) Attrs() []Attr {
	if a.pack == nil {
		return a.attrs
	}
	attrs := make([]Attr, a.Len())
	for i := range attrs {
		attrs[i] = a.attrAt(i)
	}
	return attrs
}

// Len is the number of attributes.
func (a *Ad) Len() int {
	if a.pack != nil {
		return len(a.pack.slots)
	}
	return len(a.attrs)
}

// Expr returns the expression of an attribute, unevaluated.
func (a *Ad) Expr(name string) (Expr, bool) {
	if i := a.place(name); i >= 0 {
		return a.exprAt(i), true
	}
	return nil, false
}

// Attr returns an attribute with its spelling and place.
func (a *Ad) Attr(name string) (Attr, bool) {
	if i := a.place(name); i >= 0 {
		return a.attrAt(i), true
	}
	return Attr{}, false
}

func (a *Ad) attrAt(i int) Attr {
	if a.pack != nil {
		return Attr{Name: a.pack.name(i), Expr: a.pack.expr(i), NamePos: a.pack.namePos(i)}
	}
	return a.attrs[i]
}

func (a *Ad) exprAt(i int) Expr {
	if a.pack != nil {
		return a.pack.expr(i)
	}
	return a.attrs[i].Expr
}

// valueAt is the value of an attribute that is a constant or a list of
// constants.
func (a *Ad) valueAt(i int) (v Value, ok bool) {
	if a.pack != nil {
		return a.pack.value(i)
	}
	return constant(a.attrs[i].Expr)
}

// unpack makes a ready to be changed.
func (a *Ad) unpack() {
	if a.pack == nil {
		return
	}
	a.attrs = a.Attrs()
	a.pack = nil
	a.reindex()
}

// Set gives an attribute a new expression, in its place when there is one of
// that name, at the end otherwise.
func (a *Ad) Set(name string, e Expr) { a.Put(Attr{Name: name, Expr: e}) }

// Delete removes an attribute, if there is one of that name.
func (a *Ad) Delete(name string) {
	a.unpack()
	i := a.place(name)
	if i < 0 {
		return
	}
	a.attrs = slices.Delete(slices.Clone(a.attrs), i, i+1)
	a.reindex()
}

// Clone returns a copy whose attributes can be set and deleted without
// changing a. The expressions are shared.
func (a *Ad) Clone() *Ad {
	c := &Ad{at: a.at, attrs: slices.Clone(a.Attrs())}
	c.reindex()
	return c
}

// put adds an attribute or replaces the one of the same name, whose spelling
// stays. It reports whether there was one.
func (a *Ad) Put(t Attr) (replaced bool) {
	a.unpack()
	if i := a.place(t.Name); i >= 0 {
		a.attrs[i].Expr, a.attrs[i].NamePos = t.Expr, t.NamePos
		return true
	}
	a.attrs = append(a.attrs, t)
	if a.index != nil {
		a.index[Fold(t.Name)] = len(a.attrs) - 1
	} else if len(a.attrs) == indexFrom {
		a.reindex()
	}
	return false
}

func (a *Ad) reindex() {
	a.index = nil
	if len(a.attrs) < indexFrom {
		return
	}
	a.index = make(map[string]int, len(a.attrs))
	for i, t := range a.attrs {
		a.index[Fold(t.Name)] = i
	}
}

// find returns the place of a lower-cased name, or -1.
func (a *Ad) find(key string) int {
	if a.pack != nil {
		return a.pack.find(key)
	}
	if a.index != nil {
		if i, ok := a.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range a.attrs {
		if EqualFold(a.attrs[i].Name, key) {
			return i
		}
	}
	return -1
}

// place is find for a name as it is written. It makes no lower-cased copy of usual ones: a fifth of the time that many jobs
// took to read went into those.
func (a *Ad) place(name string) int {
	var room [48]byte
	switch {
	case a.pack == nil && a.index == nil:
		return a.find(name) // which compares without regard to case
	case a.pack != nil || len(name) > len(room):
		return a.find(Fold(name))
	}
	for i := range len(name) {
		room[i] = lower(name[i])
	}
	if i, ok := a.index[string(room[:len(name)])]; ok {
		return i
	}
	return -1
}
