package plan

import "math"

// radix sorts places by rising key, in time linear in their number.
func radix(list []int32, keys []float32) []int32 {
	other := make([]int32, len(list))
	for shift := 0; shift < 32; shift += 11 {
		var count [2049]int32
		for _, i := range list {
			count[ordered(keys[i])>>shift&2047+1]++
		}
		for k := 1; k < len(count); k++ {
			count[k] += count[k-1]
		}
		for _, i := range list {
			k := ordered(keys[i]) >> shift & 2047
			other[count[k]] = i
			count[k]++
		}
		list, other = other, list
	}
	return list
}

// ordered maps floats to integers of the same order.
func ordered(f float32) uint32 {
	b := math.Float32bits(f)
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}
