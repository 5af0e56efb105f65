package jdl

import "slices"

// indexFrom is the number of attributes from which a record keeps a map.
const indexFrom = 9

// Attrs returns the attributes in the order of the text. The slice must not
// be changed.
func (a *Ad) Attrs() []Attr { return a.attrs }

// Len is the number of attributes.
func (a *Ad) Len() int { return len(a.attrs) }

// Expr returns the expression of an attribute, unevaluated.
func (a *Ad) Expr(name string) (Expr, bool) {
	if i := a.find(fold(name)); i >= 0 {
		return a.attrs[i].Expr, true
	}
	return nil, false
}

// Attr returns an attribute with its spelling and place.
func (a *Ad) Attr(name string) (Attr, bool) {
	if i := a.find(fold(name)); i >= 0 {
		return a.attrs[i], true
	}
	return Attr{}, false
}

// Set gives an attribute a new expression, in its place when there is one of
// that name, at the end otherwise.
func (a *Ad) Set(name string, e Expr) { a.put(Attr{Name: name, Expr: e}) }

// Delete removes an attribute, if there is one of that name.
func (a *Ad) Delete(name string) {
	i := a.find(fold(name))
	if i < 0 {
		return
	}
	a.attrs = slices.Delete(slices.Clone(a.attrs), i, i+1)
	a.reindex()
}

// Clone returns a copy whose attributes can be set and deleted without
// changing a. The expressions are shared.
func (a *Ad) Clone() *Ad {
	c := &Ad{at: a.at, attrs: slices.Clone(a.attrs)}
	c.reindex()
	return c
}

// put adds an attribute or replaces the one of the same name, whose spelling
// stays. It reports whether there was one.
func (a *Ad) put(t Attr) (replaced bool) {
	key := fold(t.Name)
	if i := a.find(key); i >= 0 {
		a.attrs[i].Expr, a.attrs[i].NamePos = t.Expr, t.NamePos
		return true
	}
	a.attrs = append(a.attrs, t)
	if a.index != nil {
		a.index[key] = len(a.attrs) - 1
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
		a.index[fold(t.Name)] = i
	}
}

// find returns the place of a lower-cased name, or -1.
func (a *Ad) find(key string) int {
	if a.index != nil {
		if i, ok := a.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range a.attrs {
		if equalFold(a.attrs[i].Name, key) {
			return i
		}
	}
	return -1
}
