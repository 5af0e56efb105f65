package cli

import (
	"runtime"
	"testing"
)

// TestFollowersOfLongDescriptionsHaveRoom: a follower's limit of memory goes by its jobs, and is above what is in use, which is
// known.
func TestFollowersOfLongDescriptionsHaveRoom(t *testing.T) {
	held := make([]byte, 64<<20)
	runtime.GC()
	used := heapInUse()
	if used < int64(len(held)) {
		t.Errorf("%d bytes are in use, and %d of them held", used, len(held))
	}
	if got := followLimit(10, used); got < used+used/8 {
		t.Errorf("%d jobs of %d bytes: %d", 10, used, got)
	}
	if got := followLimit(5000, 16<<20); got != followMemory+5000*followedMemory {
		t.Errorf("5000 jobs: %d", got)
	}
	runtime.KeepAlive(held)
}
