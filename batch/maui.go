package batch

import (
	"fmt"
	"slices"
	"strings"
)

// Maui holds the parameters of Maui's scheduling iteration, by the names and
// with the defaults of its administrator's guide (chapters 5, 7 and 8).
type Maui struct {
	Backfill          string // BACKFILLPOLICY: FIRSTFIT (default), BESTFIT, GREEDY or NONE
	Metric            string // BACKFILLMETRIC of BESTFIT and GREEDY: PROCS (default), SECONDS or PROCSECONDS
	BackfillDepth     int    // BACKFILLDEPTH: waiting jobs considered for backfill; 0: all
	ReservationDepth  int    // RESERVATIONDEPTH: jobs that hold a reservation; 0: the default 1; Unlimited: all
	ReservationPolicy string // RESERVATIONPOLICY: CURRENTHIGHEST (default), HIGHEST or NEVER
}

// Unlimited is a ReservationDepth that gives every waiting job a reservation.
const Unlimited = -1

func (p Maui) check() error {
	for _, c := range []struct {
		param, value string
		known        []string
	}{
		{"BACKFILLPOLICY", p.Backfill, []string{"", "FIRSTFIT", "BESTFIT", "GREEDY", "NONE"}},
		{"BACKFILLMETRIC", p.Metric, []string{"", "PROCS", "SECONDS", "PROCSECONDS"}},
		{"RESERVATIONPOLICY", p.ReservationPolicy, []string{"", "CURRENTHIGHEST", "HIGHEST", "NEVER"}},
	} {
		if !slices.Contains(c.known, c.value) {
			return fmt.Errorf("%s %q: want one of %s", c.param, c.value, strings.Join(c.known[1:], ", "))
		}
	}
	if p.BackfillDepth < 0 || p.ReservationDepth < Unlimited {
		return fmt.Errorf("BACKFILLDEPTH %d, RESERVATIONDEPTH %d: a depth is not negative", p.BackfillDepth, p.ReservationDepth)
	}
	return nil
}
