package slurm

import (
	"testing"
	"time"

	"gridbroker/batch"
)

// TestTurnsInReservations: in which of several reservations jobs of a 22.05 and a 24.11 ran, that each wanted all of its one
// node: c began first, then b, d and a, seconds from c's begin. long_ba waited for a when b was over.
func TestTurnsInReservations(t *testing.T) {
	now := time.Unix(1795916749, 0)
	at := func(s int) time.Time { return time.Unix(1795916820+int64(s), 0) }
	s := batch.State{Now: now}
	for _, r := range []struct {
		name, node string
		from, to   int
	}{{"a", "n1", 1680, 3480}, {"b", "n2", 180, 1080}, {"c", "n3", 0, 1080}, {"d", "n4", 480, 11880}} {
		s.Nodes = append(s.Nodes, batch.Node{Name: r.node, CPUs: 8, Up: true})
		s.Reservations = append(s.Reservations, batch.Reservation{Name: r.name, Start: at(r.from), End: at(r.to), Nodes: []string{r.node}, ByName: true})
	}
	want := map[string]string{"09": "b", "10": "b", "11": "b", "12": "a", "13": "d", "14": "c", "15": "c", "16": "c", "17": "c", "18": "none,other", "19": "d"}
	for _, j := range []struct {
		id, in  string
		minutes int
	}{{"09", "a,b", 5}, {"10", "b,a", 5}, {"11", "a,b", 20}, {"12", "b,a", 20}, {"13", "b,a,d", 100}, {"14", "c,b", 5}, {"15", "b,c", 5}, {"16", "c,b", 5}, {"17", "c,d", 18}, {"18", "none,other", 5}} {
		s.Jobs = append(s.Jobs, batch.Job{ID: j.id, Procs: 8, Requested: time.Duration(j.minutes) * time.Minute, Reservation: j.in})
	}
	s.Jobs = append(s.Jobs, batch.Job{ID: "19", Procs: 8, Reservation: "a,d", Started: now, Placed: []batch.Placement{{Node: "n4", Procs: 8}}, Requested: 9 * time.Minute})
	inOneReservation(&s)
	for _, j := range s.Jobs {
		if j.Reservation != want[j.ID] {
			t.Errorf("%s waits in %s, want %s", j.ID, j.Reservation, want[j.ID])
		}
	}
}
