package batch

import "maps"

// numbers gives things numbers from 1 on, in the order in which they come.
type numbers[K comparable] struct{ number map[K]int }

func (n *numbers[K]) of(k K) int {
	i, ok := n.number[k]
	if !ok {
		if n.number == nil {
			n.number = map[K]int{}
		}
		i = len(n.number) + 1
		n.number[k] = i
	}
	return i
}

func (n *numbers[K]) clone() numbers[K] { return numbers[K]{maps.Clone(n.number)} }
