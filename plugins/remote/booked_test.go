package remote

import (
	"fmt"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// timed is a batch system that is told in how many seconds a job is to begin, and to be given up.
type timed struct{ LRMS }

func (timed) Group(_ string, reqs []plugins.Request, jobs []int) ([]*Group, map[int]error) {
	return GroupBy(jobs, 10, func(i int) (string, error) {
		if b := reqs[i].Booking; b != nil {
			return fmt.Sprint(b.Begin.Seconds(), " ", b.Deadline.Seconds()), nil
		}
		return "whenever", nil
	})
}

// The time that files take to be sent is not added to when a booked job is to begin: its slot
// would have gone by.
func TestSlotsDoNotMoveWhileFilesAreSent(t *testing.T) {
	hour := &plugins.Booking{Begin: time.Hour, Deadline: 2 * time.Hour, Nice: 3}
	soon := &plugins.Booking{Begin: time.Minute}
	reqs := []plugins.Request{{ID: "a", Job: &jdl.Job{}, Booking: hour}, {ID: "b", Job: &jdl.Job{}}, {ID: "c", Job: &jdl.Job{}, Booking: soon}, {ID: "d", Job: &jdl.Job{}, Booking: &plugins.Booking{Deadline: time.Minute}}}
	for took, want := range map[time.Duration][]string{0: {"3600 7200", "whenever", "60 0", "0 60"}, 90 * time.Second: {"3510 7110", "whenever", "0 0", "0 1"}} {
		ba := newBatch(&Site{}, timed{}, reqs, []int{0, 1, 2, 3}, make([]plugins.Result, 4))
		ba.catchUp(took)
		var got []string
		for _, g := range ba.groups {
			got = append(got, g.Shared)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after %v: %q, want %q", took, got, want)
		}
	}
	if hour.Begin != time.Hour || reqs[0].Booking != hour {
		t.Errorf("the caller's booking is another now: %+v", reqs[0].Booking)
	}
}
