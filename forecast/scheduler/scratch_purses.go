package scheduler

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// purses are accounts in memory. Of deals they have those of jobs that have not ended, and what all others came to.
type purses struct {
	budget map[string]float64     // by user, in units
	holds  map[string]int64       // by account, in thousandths
	deals  map[string][]ledgerRow // by job, or by the deal of none
}

// enter implements accounts.
func (p *purses) enter(_ context.Context, rows []ledgerRow) error {
	for _, r := range rows {
		of := cmp.Or(r.Job, r.Deal)
		same := func(o ledgerRow) bool { return o.Deal == r.Deal && o.Account == r.Account }
		if slices.ContainsFunc(p.deals[of], same) {
			continue
		}
		p.deals[of] = append(p.deals[of], r)
		p.holds[r.Account] += r.Amount
	}
	return nil
}

// given implements accounts.
func (p *purses) given(_ context.Context, user string, _ bool) (budget float64, known bool, err error) {
	budget, known = p.budget[user]
	return budget, known, nil
}

// give implements accounts.
func (p *purses) give(_ context.Context, user string, budget float64) error {
	p.budget[user] = budget
	return nil
}

// budgets implements accounts.
func (p *purses) budgets(_ context.Context, user string) (list []Budget, err error) {
	for _, name := range slices.Sorted(maps.Keys(p.budget)) {
		if user == "" || user == name {
			b := Budget{User: name, Given: p.budget[name], Left: float64(p.holds[purse(name)]) / 1000}
			b.Used = b.Given - b.Left
			list = append(list, b)
		}
	}
	return list, nil
}
