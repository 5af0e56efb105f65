package managers

import "slices"

// Shape is what a child knows of the tree above it, to find another place in it
// when its parent is gone.
type Shape struct {
	Path     []string `json:"path"`     // the parent, its parent, ..., the root
	Children []string `json:"children"` // of the parent, in its order, this child among them
}

// Check finds shapes beyond all bounds.
func (s *Shape) Check() error {
	if s != nil && (len(s.Path) == 0 || len(s.Path) > 1000 || len(s.Children) > 100_000) {
		return errShape
	}
	return nil
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
}

// SetName gives the manager its name: the address at which others find it.
func (m *Manager) SetName(name string) { m.heal.name = name }

// SetNeighbour tells a neighbour's name.
func (m *Manager) SetNeighbour(n Neighbour, name string) {
	for len(m.heal.names) <= int(n) {
		m.heal.names = append(m.heal.names, "")
		m.heal.told = append(m.heal.told, Shape{})
	}
	m.heal.names[n] = name
}

// Shape returns what is known of the tree above.
func (m *Manager) Shape() Shape { return m.heal.shape }

// Above says whether a name is the manager's own or that of one of its
// ancestors: such a one must not become its child.
func (m *Manager) Above(name string) bool {
	return name == m.heal.name || m.parent() != Here && slices.Contains(m.heal.shape.Path, name)
}

// learnShape takes in what the parent tells of the tree.
func (m *Manager) learnShape(from Neighbour, s *Shape) {
	if s != nil && m.links[from].role == Parent {
		m.heal.shape = Shape{Path: slices.Clone(s.Path), Children: slices.Clone(s.Children)}
	}
}

// shapeNow returns what a child is to know; it has no path without a name.
func (m *Manager) shapeNow() (s Shape) {
	if m.heal.name == "" {
		return s
	}
	s.Path = []string{m.heal.name}
	if m.parent() != Here {
		s.Path = append(s.Path, m.heal.shape.Path...)
	}
	for i := range m.links {
		if m.links[i].up && m.links[i].role == Child && i < len(m.heal.names) {
			s.Children = append(s.Children, m.heal.names[i])
		}
	}
	return s
}

// shapeFor returns what a child is to be told, nil if it knows.
func (m *Manager) shapeFor(n Neighbour) *Shape {
	if !m.shapeDiffers(n) {
		return nil
	}
	s := m.shapeNow()
	m.heal.told[n] = s
	return &s
}

func (m *Manager) shapeDiffers(n Neighbour) bool {
	if m.heal.name == "" || int(n) >= len(m.heal.told) || m.links[n].role != Child {
		return false
	}
	s, told := m.shapeNow(), &m.heal.told[n]
	return m.links[n].fresh || !slices.Equal(s.Path, told.Path) || !slices.Equal(s.Children, told.Children)
}
