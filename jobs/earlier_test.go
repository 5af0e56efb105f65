package jobs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
)

// Ten calls in a row, a job each, see the same published state: they spread
// like the ten jobs of one call, and a state published later is believed.
func TestCallsInARowSeeTheirOwnJobs(t *testing.T) {
	b, f := rig(t)
	small := func(r *glue.Resource) { r.FreeSlots.V, r.TotalSlots.V = 5, 5 }
	found := []*glue.Resource{site("a", small), site("b", small)}
	one := func() { submit(t, b, found, set(stored(t, `Executable = "/bin/true"; WallTime = "10 h";`))) }
	for range 10 {
		one()
	}
	count := map[string]int{}
	for _, q := range f.requests {
		count[q]++
	}
	if count["https://a/arex 1"] != 5 || count["https://b/arex 1"] != 5 {
		t.Errorf("%v", count)
	}
	f.requests = nil
	b.Clock = clock.Set(func() time.Time { return start.Add(time.Minute) })
	found[1].Created = start.Add(30 * time.Second) // and still says 5 free
	for range 5 {
		one()
	}
	if got := fmt.Sprint(f.requests); strings.Contains(got, "a/arex") {
		t.Errorf("%s", got)
	}
}
