package batch

import "math/bits"

// berths are the room for a job on nodes: so many processors on each whose bit is set,
// none on the others.
type berths struct {
	free []int32 // by node
	some []uint64
}

// sized are berths for so many nodes, in the same memory where it is enough, with room
// on none.
func (b berths) sized(nodes int) berths {
	if len(b.free) != nodes {
		return berths{make([]int32, nodes), make([]uint64, (nodes+63)/64)}
	}
	clear(b.some)
	return b
}

// at is the room on a node.
func (b *berths) at(node int32) int32 {
	if b.some[node>>6]>>(node&63)&1 == 0 {
		return 0
	}
	return b.free[node]
}

// set notes the room on a node.
func (b *berths) set(node, free int32) {
	b.free[node] = free
	if bit := uint64(1) << (node & 63); free > 0 {
		b.some[node>>6] |= bit
	} else {
		b.some[node>>6] &^= bit
	}
}

// copy takes over the room of others.
func (b *berths) copy(from *berths) {
	copy(b.free, from.free)
	copy(b.some, from.some)
}

// each visits the nodes that have room, in order. The one visited may change.
func (b *berths) each(visit func(node, free int32)) {
	for i, w := range b.some {
		for ; w != 0; w &= w - 1 {
			node := int32(i<<6 + bits.TrailingZeros64(w))
			visit(node, b.free[node])
		}
	}
}
