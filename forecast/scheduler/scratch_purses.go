package scheduler

import (
	"maps"
	"slices"
)

// purses are the accounts of a scratch database, without the deals.
type purses struct {
	given map[string]float64 // by user, in units
	holds map[string]int64   // by account, in thousandths
}

// enter books deals.
func (p *purses) enter(rows []ledgerRow) {
	for i := range rows {
		p.holds[rows[i].Account] += rows[i].Amount
	}
}

// budgets are the accounts of one user, or with "" of all.
func (p *purses) budgets(user string) (list []Budget) {
	for _, name := range slices.Sorted(maps.Keys(p.given)) {
		if user == "" || user == name {
			b := Budget{User: name, Given: p.given[name], Left: float64(p.holds[purse(name)]) / 1000}
			b.Used = b.Given - b.Left
			list = append(list, b)
		}
	}
	return list
}
