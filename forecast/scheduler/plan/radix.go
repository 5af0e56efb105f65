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

// few is how many places are sorted by comparing them: more of them by digits.
const few = 48

// byStart sorts slots by start, those of one start as they were. It uses memory
// that it returns.
func byStart(work []Slot, list, spare []int32) []int32 {
	if len(list) <= few {
		for k := 1; k < len(list); k++ {
			i, at := list[k], k
			for ; at > 0 && work[list[at-1]].From > work[i].From; at-- {
				list[at] = list[at-1]
			}
			list[at] = i
		}
		return spare
	}
	low, high := int32(Never), int32(-Never)
	for _, i := range list {
		low, high = min(low, work[i].From), max(high, work[i].From)
	}
	spare = append(spare[:0], list...)
	from, to := spare, list
	for shift, span := 0, uint32(high)-uint32(low); span>>shift > 0; shift += 8 {
		var count [257]int32
		for _, i := range from {
			count[(uint32(work[i].From)-uint32(low))>>shift&255+1]++
		}
		for k := 1; k < len(count); k++ {
			count[k] += count[k-1]
		}
		for _, i := range from {
			k := (uint32(work[i].From) - uint32(low)) >> shift & 255
			to[count[k]] = i
			count[k]++
		}
		from, to = to, from
	}
	copy(list, from)
	return spare
}
