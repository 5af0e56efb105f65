package managers

import (
	"slices"
	"strings"
)

// Shape is what a child knows of the tree above it, to find another place in it
// when its parent is gone.
type Shape struct {
	Path     []string `json:"path"`     // the parent, its parent, ..., the root
	Children []string `json:"children"` // of the parent, in its order, this child among them
}

// Bounds of a shape: managers of a path, and bytes of their names; children.
const (
	maxPath      = 1000
	maxPathBytes = 1 << 20
	maxChildren  = 100_000
	maxAllBytes  = 1 << 20 // of the names of children
)

// Check finds shapes beyond all bounds.
func (s *Shape) Check() error {
	if s == nil {
		return nil
	}
	if len(s.Path) == 0 || withinBounds(s.Path, maxPath, maxPathBytes) < len(s.Path) || len(s.Children) > maxChildren {
		return errShape
	}
	if slices.ContainsFunc(s.Path, senseless) || slices.ContainsFunc(s.Children, senseless) {
		return errName
	}
	return nil
}

// senseless says whether a name cannot be an address: what is written of it must not be longer than it is.
func senseless(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' })
}

// withinBounds is how many managers of a list, from its beginning, may be told.
func withinBounds(list []string, most, mostBytes int) int {
	bytes := 0
	for i, name := range list {
		if bytes += len(name); i == most || bytes > mostBytes {
			return i
		}
	}
	return len(list)
}

// Candidates returns whom to ask for a place when the parent is gone, in order:
// the parent's ancestors, nearest first; under a lost root the earlier children
// of it. A manager that finds none of them becomes root. As everybody joins only
// those that were before it in the tree, no loop can form.
func (s Shape) Candidates(self string) []string {
	if len(s.Path) > 1 {
		return slices.Clone(s.Path[1:])
	}
	if at := slices.Index(s.Children, self); at > 0 {
		return slices.Clone(s.Children[:at])
	}
	return nil
}

// healing is what a manager knows of its place in the tree.
type healing struct {
	name  string
	names []string // of the neighbours, by number; "" in simulations
	shape Shape
	told  []Shape // by neighbour
	below *Shape  // what children are to know, all of them the same; nil: not found out since the last event
}

// call tells a neighbour's name.
func (h *healing) call(n Neighbour, name string) {
	for len(h.names) <= int(n) {
		h.names = append(h.names, "")
		h.told = append(h.told, Shape{})
	}
	h.names[n] = name
}

// above says whether a name is the manager's own or that of one of its ancestors.
func (h *healing) above(name string, t *tables) bool {
	return name == h.name || t.parent() != Here && slices.Contains(h.shape.Path, name)
}

// learn takes in what the parent tells of the tree.
func (h *healing) learn(s *Shape, role Role) {
	if s != nil && role == Parent {
		h.shape = Shape{Path: slices.Clone(s.Path), Children: slices.Clone(s.Children)}
	}
}

// toChildren returns what a child is to know; it has no path without a name.
func (h *healing) toChildren(t *tables) Shape {
	if h.below == nil {
		s := h.find(t)
		h.below = &s
	}
	return *h.below
}

func (h *healing) find(t *tables) (s Shape) {
	if h.name == "" {
		return s
	}
	s.Path = []string{h.name}
	if t.parent() != Here {
		s.Path = append(s.Path, h.shape.Path...)
		s.Path = s.Path[:withinBounds(s.Path, maxPath, maxPathBytes)] // one that a parent made as long as may be is no child's trouble
	}
	for i := range t.links {
		if t.links[i].up && t.links[i].role == Child && i < len(h.names) {
			s.Children = append(s.Children, h.names[i])
		}
	}
	s.Children = s.Children[:withinBounds(s.Children, maxChildren, maxAllBytes)]
	return s
}

// news returns what a child is to be told, nil if it knows.
func (h *healing) news(n Neighbour, t *tables) *Shape {
	if !h.differs(n, t) {
		return nil
	}
	s := h.toChildren(t)
	h.told[n] = s
	return &s
}

// differs says whether a child knows another tree than there is.
func (h *healing) differs(n Neighbour, t *tables) bool {
	if h.name == "" || int(n) >= len(h.told) || t.links[n].role != Child {
		return false
	}
	s, told := h.toChildren(t), &h.told[n]
	return t.links[n].fresh || !slices.Equal(s.Path, told.Path) || !slices.Equal(s.Children, told.Children)
}
