package cli

import "runtime/metrics"

// What a follower may take of memory before it collects all garbage at once: reading the records and answers of the first look
// makes more of that than all later looks.
const (
	followMemory   = 24 << 20 // without any jobs
	followedMemory = 4 << 10  // for a job
	followBeside   = 16 << 20 // beside what is in use: stacks, the runtime's own, garbage
)

// followLimit is how much memory a follower of some jobs may take, in bytes, where so much is in use. Records of long
// descriptions need more than others: a limit below what is in use would have it collect garbage without end.
func followLimit(jobs int, used int64) int64 {
	return max(followMemory+followedMemory*int64(jobs), followBeside+used+used/8)
}

// heapInUse is what the last collection of garbage found to be in use, in bytes.
func heapInUse() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(live); live[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(live[0].Value.Uint64())
}
