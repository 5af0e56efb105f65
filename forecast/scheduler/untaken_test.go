package scheduler

import (
	"fmt"
	"maps"
	"testing"
)

// A cluster that takes none of the jobs sent there is told of with its own words; one that refuses some jobs is not.
func TestClustersThatTakeNothing(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 6)
	n := 0
	launched := func(cluster string, said ...string) {
		for _, text := range said {
			n++
			err := w.store.tx(t.Context(), func(h handle) error {
				if _, err := h.exec(t.Context(), `insert into booking (key, job, cluster, state, begins, ends, procs, epoch, body) values ($1, $1, $2, 'missed', 1, 2, 1, 1, '{}')`, fmt.Sprint("j", n), cluster); err != nil {
					return err
				}
				_, err := h.exec(t.Context(), `insert into action (key, job, verb, epoch, due, done, result) values ($1, $1, 'launch', 1, 1, 1, $2)`, fmt.Sprint("launch/j", n), text)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	launched("broken", "", "quota", "disk", "no such account")
	launched("twice", "one", "two")
	launched("sometimes", "no", "no", "", "no", "no")
	launched("cancelled", byOwner, isOver, byOwner, errExpired.Error())
	launched("well", "", "", "")
	got, err := Untaken(t.Context(), w.store)
	if want := map[string]string{"broken": "no such account"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
