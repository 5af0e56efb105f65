package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"gridbroker/forecast/wire"
)

// nodeClass is what nodes are told apart by.
type nodeClass struct {
	features []string
	gpus     int32
}

// maxFeatures bounds the features of the classes of one cluster's nodes, each class counted once: all of them are looked
// at for every kind of job. Nodes beyond that count as such that have no feature and no GPU.
const maxFeatures = 50_000

// maxClasses is how many classes there are in all. Beyond that it is the same.
const maxClasses = 1 << 16

// bare is the class of nodes that have nothing.
const bare = 0

// classify tells the nodes of a cluster apart.
func (m *memory) classify(c *cluster) {
	c.class, c.classes, c.bare = make(map[string]uint16, len(c.site.Nodes)), nil, 0
	left, own := maxFeatures, map[string]uint16{}
	for i := range c.site.Nodes {
		n := &c.site.Nodes[i]
		key, features := classKey(n)
		class, known := own[key]
		if cost := len(features) + 1; !known && cost <= left {
			left -= cost
			class = m.classOf(key, nodeClass{features, n.GPUs})
			own[key] = class
		}
		if class == bare && (len(features) > 0 || n.GPUs != 0) {
			c.bare++
		}
		c.class[n.Name] = class
		for len(c.classes) <= int(class/64) {
			c.classes = append(c.classes, 0)
		}
		c.classes[class/64] |= 1 << (class % 64)
	}
}

// classKey is what nodes of one class have in common, and the features in order.
func classKey(n *wire.Node) (key string, features []string) {
	features = slices.Clone(n.Features)
	slices.Sort(features)
	return fmt.Sprint(n.GPUs, "\x00", strings.Join(features, "\x00")), features
}

// classOf numbers a class.
func (m *memory) classOf(key string, class nodeClass) uint16 {
	if len(m.features) == 0 {
		none, _ := classKey(&wire.Node{})
		m.classes[none], m.features = bare, append(m.features, nodeClass{})
	}
	at, ok := m.classes[key]
	if !ok && len(m.features) < maxClasses {
		at = uint16(len(m.features))
		m.classes[key] = at
		m.features = append(m.features, class)
		m.named += len(class.features) + 1
	}
	return at
}

// forgetClasses numbers the classes anew that there are: a cluster whose nodes have others every
// time would fill the memory with those that they had.
func (m *memory) forgetClasses() {
	clear(m.classes)
	m.features, m.named = nil, 0
	for _, c := range m.clusters {
		m.classify(c)
	}
	m.forgetAt = 2*m.named + maxFeatures
}
