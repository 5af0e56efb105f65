package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gridbroker/forecast/wire"
)

// As many cores as are booked, both times, and once only.
func TestSlurmReservations(t *testing.T) {
	b := wire.Booking{From: 1_800_000_000, To: 1_800_000_600, Slots: []wire.Part{{Node: "n2", CPUs: 2}, {Node: "n1", CPUs: 1}, {Node: "n1", CPUs: 1}}}
	for name, c := range map[string]struct {
		says   []string // to each call; "": done
		calls  int
		failed bool
	}{
		"granted":       {[]string{""}, 1, false},
		"there already": {[]string{"Error creating the reservation: Duplicate reservation name"}, 1, false},
		"whole nodes":   {[]string{"Error creating the reservation: Invalid core count", ""}, 2, false},
		"refused":       {[]string{"Invalid user id", "Invalid user id"}, 2, true},
	} {
		var calls []string
		r := SlurmReservations{Users: "guest", Run: func(_ context.Context, argv ...string) ([]byte, error) {
			calls = append(calls, strings.Join(argv, " "))
			if said := c.says[len(calls)-1]; said != "" {
				return []byte(said), errors.New("exit status 1")
			}
			return nil, nil
		}}
		if err := r.Reserve(t.Context(), "gras_x", b); (err != nil) != c.failed || len(calls) != c.calls {
			t.Errorf("%s: %v after %q", name, err, calls)
		}
		for _, want := range []string{"starttime=20", "endtime=20", "users=guest", "nodes=n1,n2", "flags=IGNORE_JOBS"} {
			if !strings.Contains(calls[0], want) {
				t.Errorf("%s: no %s in %s", name, want, calls[0])
			}
		}
		if !strings.HasSuffix(calls[0], "corecnt=2,2") || c.calls > 1 && strings.Contains(calls[1], "corecnt") {
			t.Errorf("%s: %q", name, calls)
		}
	}
}
