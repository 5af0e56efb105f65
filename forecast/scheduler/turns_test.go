package scheduler

import (
	"fmt"
	"testing"
)

// Who keeps the time himself leads as by the clock: what the outbox has done is known in the same turn, and not a cycle later, as
// if sending had taken that long. A site to which it takes no time at all is one of which it is known: its slots are booked at once.
func TestTurnsTakeInWhatWasDone(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 600)
	w.step(1) // agents tell of their sites
	turns, err := NewTurns(t.Context(), w.s)
	if err != nil {
		t.Fatal(err)
	}
	var ahead []int64
	for k := range 2 {
		id := w.submit("alice", fmt.Sprint("k", k), 60)
		if err := turns.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		j := w.job(id)
		if j.State != Sent || j.Sent != w.now.Unix() {
			t.Fatalf("job %d is %s, sent at %d, and it is %d", k, j.State, j.Sent, w.now.Unix())
		}
		ahead = append(ahead, j.Booking.From-j.Booking.Made)
	}
	if ahead[0] < 30 || ahead[1] > 2 {
		t.Errorf("booked %d s ahead: the first, of whose site nothing was known, a cycle at least, and the next at once", ahead)
	}
}
