package scheduler

import (
	"context"
	"fmt"
	"math"

	"gridbroker/forecast/scheduler/plan"
)

// Accounts of the ledger: budget/USER is what a user may still spend, bank is
// where budgets come from, fees is what has been charged.
const (
	bank = "bank"
	fees = "fees"
)

func purse(user string) string { return "budget/" + user }

// ledgerRow is one side of a deal. Amounts are thousandths of a unit: one unit is a
// processor-hour at priority one.
type ledgerRow struct {
	At      int64  `json:"at"`
	Deal    string `json:"deal"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
	Job     string `json:"job"`
	Why     string `json:"why"`
}

// fee is what a booking costs, in thousandths: more than anybody has where it is beyond all numbers.
func fee(priority float64, procs, seconds int32) int64 {
	return int64(min(math.Ceil(plan.Fee(priority, procs, seconds)*1000), 1<<60))
}

// deal moves an amount from one account to another.
func deal(at int64, name, from, to string, amount int64, job, why string) []ledgerRow {
	return []ledgerRow{{at, name, from, -amount, job, why}, {at, name, to, amount, job, why}}
}

// accounts are those of users, as a transaction has them.
type accounts interface {
	// enter books deals; one whose name is there already was booked before.
	enter(ctx context.Context, rows []ledgerRow) error
	// given is what a user was given in all, where he is known, and give notes it. Who is to give locks it.
	given(ctx context.Context, user string, lock bool) (budget float64, known bool, err error)
	give(ctx context.Context, user string, budget float64) error
	// budgets are the accounts of one user, or with "" of all, by name.
	budgets(ctx context.Context, user string) ([]Budget, error)
}

// accountTable are the accounts in tables.
type accountTable struct{ *statements }

// enter implements accounts.
func (h accountTable) enter(ctx context.Context, rows []ledgerRow) error {
	if len(rows) == 0 {
		return nil
	}
	return h.writeEach(ctx, `insert into ledger (at, deal, account, amount, job, why)
		select cast(t.value->>'at' as {int}), t.value->>'deal', t.value->>'account', cast(t.value->>'amount' as {int}),
		t.value->>'job', t.value->>'why' from {each} where true on conflict (deal, account) do nothing`, rows)
}

// Budget is one user's account, in units.
type Budget struct {
	User  string  `json:"user"`
	Given float64 `json:"given"`
	Left  float64 `json:"left"`
	Roles string  `json:"roles,omitempty"`
	Used  float64 `json:"used"`
}

// budgets implements accounts.
func (h accountTable) budgets(ctx context.Context, user string) (list []Budget, err error) {
	err = h.rows(ctx, func(scan func(...any) error) error {
		var b Budget
		var left float64
		if err := scan(&b.User, &b.Roles, &b.Given, &left); err != nil {
			return err
		}
		b.Left = left / 1000
		b.Used = b.Given - b.Left
		list = append(list, b)
		return nil
	}, `select p.name, p.roles, p.budget, coalesce(b.amount, 0) from person p
		left join balance b on b.account = 'budget/' || p.name where p.name = $1 or $1 = '' order by p.name`, user)
	return list, err
}

// Budgets reads the accounts of one user, or with "" of all.
func (s *Store) Budgets(ctx context.Context, user string) (list []Budget, err error) {
	err = s.read(ctx, func(h handle) error {
		list, err = h.accounts.budgets(ctx, user)
		return err
	})
	return list, err
}

// Grant sets what a user was given in all.
func (s *Store) Grant(ctx context.Context, at int64, user string, budget float64, key string) error {
	if math.IsNaN(budget) || budget < 0 || budget > 1e12 {
		return fmt.Errorf("a budget of %v: say 0 to 1e12", budget)
	}
	return s.tx(ctx, func(h handle) error { return grant(ctx, h.accounts, at, user, budget, key) })
}

// grant sets what a user was given in all.
func grant(ctx context.Context, to accounts, at int64, user string, budget float64, key string) error {
	had, _, err := to.given(ctx, user, true)
	if err != nil {
		return err
	}
	if err := to.give(ctx, user, budget); err != nil || had == budget {
		return err
	}
	amount := int64(math.Round((budget - had) * 1000))
	return to.enter(ctx, deal(at, "grant/"+user+"/"+key, bank, purse(user), amount, "", "budget"))
}

// given implements accounts.
func (h accountTable) given(ctx context.Context, user string, lock bool) (budget float64, known bool, err error) {
	query := "select budget from person where name = $1"
	if lock {
		query += forUpdate
	}
	err = h.rows(ctx, func(scan func(...any) error) error { known = true; return scan(&budget) }, query, user)
	return budget, known, err
}

// give implements accounts.
func (h accountTable) give(ctx context.Context, user string, budget float64) error {
	_, err := h.exec(ctx, `insert into person (name, roles, budget) values ($1, '', $2)
		on conflict (name) do update set budget = excluded.budget`, user, budget)
	return err
}

// Audit adds up the ledger: the sum of all accounts is zero. It is an error where a
// balance is not the sum of its account's entries.
func (s *Store) Audit(ctx context.Context) (sum int64, err error) {
	err = s.read(ctx, func(h handle) error {
		if err := h.tx.QueryRowContext(ctx, "select coalesce(sum(amount), 0) from ledger").Scan(&sum); err != nil {
			return err
		}
		return h.rows(ctx, func(scan func(...any) error) error {
			var account string
			var kept, entered int64
			if err := scan(&account, &kept, &entered); err != nil {
				return err
			}
			return fmt.Errorf("account %s holds %d thousandths, and its entries add up to %d", account, kept, entered)
		}, `select account, sum(kept), sum(entered) from (
				select account, amount as kept, 0 as entered from balance union all select account, 0, amount from ledger
			) as both_sides group by account having sum(kept) <> sum(entered) order by account limit 1`)
	})
	return sum, err
}
