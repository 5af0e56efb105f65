package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Maui holds the parameters of Maui's scheduling iteration, by the names and
// with the defaults of its administrator's guide (chapters 5, 7 and 8).
type Maui struct {
	Backfill          string // BACKFILLPOLICY: FIRSTFIT (default), BESTFIT, GREEDY or NONE
	Metric            string // BACKFILLMETRIC of BESTFIT and GREEDY: PROCS (default), SECONDS or PROCSECONDS
	Search            string // BACKFILLSEARCH of GREEDY, ours: ENUMERATION, ANNEALING, GENETIC or EXACT; empty: the plain enumeration
	BackfillDepth     int    // BACKFILLDEPTH: waiting jobs considered for backfill; 0: all
	ReservationDepth  int    // RESERVATIONDEPTH: jobs that hold a reservation; 0: the default 1; Unlimited: all
	ReservationPolicy string // RESERVATIONPOLICY: CURRENTHIGHEST (default), HIGHEST or NEVER
	Weights           Weights
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
		{"BACKFILLSEARCH", p.Search, []string{"", "ENUMERATION", "ANNEALING", "GENETIC", "EXACT"}},
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

// Set sets a parameter by Maui's name for it, as in Set("RESERVATIONDEPTH", "4").
func (p *Maui) Set(name, value string) error {
	name, value = strings.ToUpper(name), strings.ToUpper(value)
	switch name {
	case "BACKFILLPOLICY":
		p.Backfill = value
	case "BACKFILLMETRIC":
		p.Metric = value
	case "BACKFILLSEARCH":
		p.Search = value
	case "RESERVATIONPOLICY":
		p.ReservationPolicy = value
	case "BACKFILLDEPTH":
		return depth(name, value, &p.BackfillDepth)
	case "RESERVATIONDEPTH":
		if value == "UNLIMITED" {
			p.ReservationDepth = Unlimited
			return nil
		}
		return depth(name, value, &p.ReservationDepth)
	default:
		return p.Weights.set(name, value)
	}
	return p.check()
}

func depth(name, value string, n *int) (err error) {
	if *n, err = strconv.Atoi(value); err != nil || *n < 0 {
		return fmt.Errorf("%s %q: want a number, 0 or more", name, value)
	}
	return nil
}
