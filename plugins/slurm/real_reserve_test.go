package slurm_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
)

// Reservations are made where the cluster is, over SSH too, at the very time
// whatever the time zone here, found by their names and removed.
func TestRealReserve(t *testing.T) {
	zone := time.Local
	time.Local = time.FixedZone("far", 5*3600)
	t.Cleanup(func() { time.Local = zone })
	clusters(t, reserves)
}

func reserves(t *testing.T, c *cluster) {
	for way, url := range c.urls {
		q, err := c.QueueReader(url)
		if err != nil {
			t.Fatal(err)
		}
		r := q.(plugins.Reserver)
		name := fmt.Sprintf("gras_%s_%d", way, os.Getpid())
		from := time.Now().Add(40 * time.Hour).Truncate(time.Second)
		kept := plugins.Kept{From: from, To: from.Add(5 * time.Minute), CPUs: map[string]int{"n7": 2, "n6": 1}}
		for range 2 { // the second time it is there already
			if err := r.Reserve(t.Context(), name, kept); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
		}
		if names, err := r.Reserved(t.Context(), "gras_"+way); err != nil || !slices.Contains(names, name) {
			t.Errorf("%s: %q, %v", way, names, err)
		}
		state, err := q.Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, v := range state.Reservations {
			if v.Name == name {
				found = true
				if !v.Start.Equal(from) || v.End.Sub(v.Start) != 6*time.Minute || strings.Join(v.Nodes, ",") != "n6,n7" {
					t.Errorf("%s: %+v, want %v", way, v, from)
				}
			}
		}
		if !found {
			t.Errorf("%s: the reader does not see the reservation", way)
		}
		for range 2 { // the second time it is gone
			if err := r.Release(t.Context(), name); err != nil {
				t.Errorf("%s: %v", way, err)
			}
		}
	}
}
