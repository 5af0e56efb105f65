package sim

import (
	"testing"

	"gridbroker/glue"
)

// What a site published stays as it is, and where nobody looks at older records
// the last one does.
func TestPublishKeepsRecords(t *testing.T) {
	c, err := newSite(&Site{Name: "a", Procs: 8, Scheduler: "easy", Speed: 1}, 0, none{})
	if err != nil {
		t.Fatal(err)
	}
	told := func(at int64) *glue.Resource {
		c.busy = int(at)
		c.publish(at)
		return c.resource
	}
	first := told(1)
	second := told(2)
	if first.UsedSlots.V != 1 || second.UsedSlots.V != 2 {
		t.Errorf("%v, %v in use", first.UsedSlots, second.UsedSlots)
	}
	c.spare = new(*c.resource)
	third := told(3)
	fourth := told(4)
	if third.UsedSlots.V != 3 || fourth.UsedSlots.V != 4 || fourth.Name != "a" || !fourth.Created.After(third.Created) {
		t.Errorf("%v, then %v in use, %q, told at %v and %v", third.UsedSlots, fourth.UsedSlots, fourth.Name, third.Created, fourth.Created)
	}
}

// Attempts are read out of the names that they were given.
func TestAttemptsAreRead(t *testing.T) {
	for _, of := range [][2]int{{0, 0}, {7, 1}, {349_999, 12}} {
		if is, want := attemptOf(globalID(of[0], of[1])), theAttempt(of[0], of[1]); is != want {
			t.Errorf("%v: %d, want %d", of, is, want)
		}
	}
}
