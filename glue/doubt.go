package glue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ClusterName is the cluster behind the CE, else the CE.
func (r *Resource) ClusterName() string { return cmp.Or(r.Cluster, r.CE) }

// Doubt is a published value that the rest of the grid makes implausible. It
// is used as published all the same.
type Doubt struct {
	CE   string `json:"ce"`
	Said string `json:"said"` // what is odd, for people
}

// Limits of Doubts: of how many CEs the grid must consist to compare with, and
// how far from their median a wall time is that is off by the 60 of seconds
// and minutes.
const (
	comparableCEs = 4
	offFrom       = 20
	offTo         = 240
)

// Doubts looks for wall time limits published in the wrong unit: GLUE 1.3 has
// minutes, GLUE 2.0 seconds, and some templates mix them up. A CE's longest
// queue is compared with the median of those of all CEs, so that short queues
// raise no doubt.
func Doubts(rs []Resource) []Doubt {
	longest := map[string]time.Duration{}
	for i := range rs {
		if r := &rs[i]; r.MaxWallTime.OK && r.Schema != "self" {
			longest[r.CE] = max(longest[r.CE], r.MaxWallTime.V)
		}
	}
	if len(longest) < comparableCEs {
		return nil
	}
	all := slices.Sorted(maps.Values(longest))
	usual := all[len(all)/2]
	var doubts []Doubt
	for _, ce := range slices.SortedFunc(maps.Keys(longest), strings.Compare) {
		if said := offBySixty(longest[ce], usual); said != "" {
			doubts = append(doubts, Doubt{ce, said})
		}
	}
	return doubts
}

// offBySixty says what is odd about a longest wall time, "" if nothing is.
func offBySixty(d, usual time.Duration) string {
	switch {
	case d*offFrom < usual && usual < d*offTo:
		return fmt.Sprintf("the longest queue allows %s, others of this grid %s: minutes published as seconds?", d, usual)
	case usual*offFrom < d && d < usual*offTo:
		return fmt.Sprintf("the longest queue allows %s, others of this grid %s: seconds published as minutes?", d, usual)
	}
	return ""
}
