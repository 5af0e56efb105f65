package scheduler

import (
	"slices"
	"sync"
)

// A replica does so many actions at once. It leases so many at a time, and none more of a cluster of which
// it has as many: a site that is slow, or does not answer, keeps none from another.
const (
	lane     = 8
	allLanes = 64
)

// lanes count what is being done at each cluster.
type lanes struct {
	mu sync.Mutex
	at map[string]int
}

// enter begins an action at a cluster.
func (l *lanes) enter(cluster string) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.at = map[string]int{}
	}
	l.at[cluster]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.at[cluster]--; l.at[cluster] == 0 {
			delete(l.at, cluster)
		}
	}
}

// full are the clusters at which no more is begun, by name.
func (l *lanes) full() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, n := range l.at {
		if n >= lane {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
