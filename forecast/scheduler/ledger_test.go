package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Whatever is entered, balances are the sums of entries and the ledger adds up to
// zero; one that was tampered with is found.
func TestBalances(t *testing.T) {
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": func(t testing.TB) string { return sqliteDSN(t) }, "postgres": postgresDSN} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, dsn(t), 1, 0)
			r := rand.New(rand.NewPCG(1, 15))
			want := map[string]int64{}
			for n := range 40 {
				var rows []ledgerRow
				for k := range 1 + r.IntN(4) {
					user, amount := fmt.Sprint("u", r.IntN(3)), int64(r.IntN(1000))
					rows = append(rows, deal(int64(n), fmt.Sprint("d", n, k), purse(user), fees, amount, "", "booked")...)
					want[user] -= amount
				}
				rows = append(rows, rows[0]) // twice in one statement
				for range 2 {                // and in two
					if err := w.store.tx(t.Context(), func(h handle) error { return h.accounts.enter(t.Context(), rows) }); err != nil {
						t.Fatal(err)
					}
				}
			}
			for user := range want {
				if err := w.store.Grant(t.Context(), 50, user, 1000, "g"); err != nil {
					t.Fatal(err)
				}
			}
			list, err := w.store.Budgets(t.Context(), "")
			if err != nil || len(list) != len(want) {
				t.Fatal(list, err)
			}
			for _, b := range list {
				if left := float64(want[b.User]+1_000_000) / 1000; b.Left != left {
					t.Errorf("%s has %v left, and not %v", b.User, b.Left, left)
				}
			}
			if sum, err := w.store.Audit(t.Context()); err != nil || sum != 0 {
				t.Errorf("the ledger adds up to %d, %v", sum, err)
			}
			for _, tampered := range []string{"update balance set amount = amount + 1 where account = 'fees'", "delete from balance where account = 'fees'"} {
				if _, err := w.store.db.Exec(tampered); err != nil {
					t.Fatal(err)
				}
				if _, err := w.store.Audit(t.Context()); err == nil {
					t.Error("not found: ", tampered)
				}
			}
		})
	}
}
