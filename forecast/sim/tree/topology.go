package tree

import "gridbroker/forecast/managers"

// node is one manager of the simulation with what surrounds it.
type node struct {
	manager  *managers.Manager
	peers    []int                      // by neighbour: the number of the other manager
	links    map[int]managers.Neighbour // by the other manager
	nodes    int                        // of its system, 0 for a domain
	parent   int
	children []int
	dead     bool
	inbox    []int // messages in the store
	busy     bool
	busyTime int64
	taken    int   // messages taken in
	wakeAt   int64 // when a wake event is due, 0 for none
}

// build makes the managers: systems first, then domains level by level.
func (s *sim) build(nodes []int) {
	rules := s.config.rules()
	for _, n := range nodes {
		r := rules
		r.ForwardAll = s.config.Mode == "dispatch"
		s.nodes = append(s.nodes, newNode(managers.NewManager(r, managers.Resources{CPUs: n})))
		s.nodes[len(s.nodes)-1].nodes = n
	}
	level := make([]int, len(nodes))
	for i := range level {
		level[i] = i
	}
	fanout := s.config.Fanout
	switch s.config.Mode {
	case "independent":
		return
	case "dispatch":
		fanout = max(2, len(nodes))
		rules.AnswersOnly = true
	}
	for len(level) > 1 {
		var up []int
		for at := 0; at < len(level); at += fanout {
			d := len(s.nodes)
			s.nodes = append(s.nodes, newNode(managers.NewDomain(rules)))
			for _, child := range level[at:min(at+fanout, len(level))] {
				s.join(child, d)
			}
			up = append(up, d)
		}
		level = up
	}
}

func newNode(m *managers.Manager) *node {
	return &node{manager: m, links: map[int]managers.Neighbour{}, parent: -1}
}

// join makes two managers child and parent, link down.
func (s *sim) join(child, parent int) {
	s.addLink(child, parent, managers.Parent)
	s.addLink(parent, child, managers.Child)
	s.nodes[child].parent = parent
	s.nodes[parent].children = append(s.nodes[parent].children, child)
}

func (s *sim) addLink(at, to int, role managers.Role) {
	n := s.nodes[at]
	if k, ok := n.links[to]; ok {
		n.manager.SetRole(k, role)
		return
	}
	n.links[to] = n.manager.AddLink(role)
	n.peers = append(n.peers, to)
}

// connect brings a link up at both ends.
func (s *sim) connect(a, b int) {
	s.apply(a, s.nodes[a].manager.Up(s.now, s.nodes[a].links[b]))
	s.apply(b, s.nodes[b].manager.Up(s.now, s.nodes[b].links[a]))
}
