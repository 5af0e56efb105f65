package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Health is what is known of one resource, for people. Resource is its ID, or
// "host NAME" for a computing element that did not answer.
type Health struct {
	Resource string    `json:"resource"`
	State    string    `json:"state"` // ok, suspect, banned, trial, pinned up, pinned down
	Op       string    `json:"op,omitempty"`
	Failures int       `json:"failures"` // in a row
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	Reason   string    `json:"reason,omitempty"`
	Jobs     int       `json:"jobs"`    // that came to their end
	Success  float64   `json:"success"` // part of the lately ended that went well; -1: none ended
	// WaitRatio is actual over predicted wait; 0: not known.
	WaitRatio float64 `json:"wait_ratio,omitempty"`
	// Odd is how many jobs in a row ended well in less than a tenth of the
	// time such jobs take.
	Odd int `json:"odd,omitempty"`
}

// Health lists every resource the registry knows, the troubled first.
func (r *Registry) Health(ctx context.Context) ([]Health, error) {
	var list []Health
	err := r.tx(ctx, func(tx *sql.Tx) error {
		k, err := load(tx, nil)
		if err != nil {
			return err
		}
		list = k.health(r.now())
		return nil
	})
	return list, err
}

func (k knowledge) health(now time.Time) []Health {
	names := map[string]bool{}
	for name := range k.tallies {
		names[name] = true
	}
	for name := range k.breakers {
		names[name] = true
	}
	for name := range k.pins {
		names[name] = true
	}
	var list []Health
	for name := range names {
		list = append(list, k.one(name, now))
	}
	slices.SortFunc(list, func(a, b Health) int {
		return cmp.Or(cmp.Compare(b.urgency(), a.urgency()), strings.Compare(a.Resource, b.Resource))
	})
	return list
}

func (h Health) urgency() int {
	return slices.Index([]string{"ok", "pinned up", "suspect", "trial", "banned", "pinned down"}, h.State)
}

func (k knowledge) one(name string, now time.Time) Health {
	h := Health{Resource: name, State: "ok", Success: -1}
	if t, ok := k.tallies[name]; ok {
		h.Jobs = t.jobs
		if t.ended > 0 {
			h.Success = t.good / t.ended
		}
		if t.waits >= minWaits && t.predicted > 0 {
			h.WaitRatio = t.waited / t.predicted
		}
		if h.Odd = int(t.odd); h.Odd > 0 {
			h.State, h.Reason = "suspect", fmt.Sprintf("the last %d ended well in less than a tenth of the usual time", h.Odd)
		}
	}
	for op, b := range k.breakersOf(name) {
		until, reason, canary := b.state(now)
		if h.Failures == 0 || until.After(h.Until) {
			h.Op, h.Failures, h.Since, h.Reason = op, b.failures, b.first, b.reason
		}
		if until.After(h.Until) {
			h.State, h.Until, h.Reason = "banned", until, reason
		} else if canary && h.State != "banned" {
			h.State = "trial"
		}
	}
	if up, ok := k.pins[name]; ok {
		h.State, h.Until = "pinned down", time.Time{}
		if up {
			h.State = "pinned up"
		}
	}
	return h
}

func (k knowledge) breakersOf(name string) map[string]breaker {
	ops := map[string]breaker{}
	for _, b := range k.breakers[name] {
		ops[b.op] = b
	}
	return ops
}

// errUnknown is a resource the registry has never heard of.
var errUnknown = errors.New("nothing is known of this resource")

// Clear forgets failures and bans of the named resources, or of all when none
// is named. Run times and waits stay.
func (r *Registry) Clear(ctx context.Context, resources ...string) error {
	return r.tx(ctx, func(tx *sql.Tx) error {
		if len(resources) == 0 {
			_, err := tx.Exec("DELETE FROM breakers; UPDATE resources SET odd = 0")
			return err
		}
		for _, name := range resources {
			res, err := tx.Exec("DELETE FROM breakers WHERE resource = ?", name)
			if err != nil {
				return err
			}
			if _, err := tx.Exec("UPDATE resources SET odd = 0 WHERE resource = ?", name); err != nil {
				return err
			}
			if n, _ := res.RowsAffected(); n > 0 {
				continue
			}
			var known int
			if err := tx.QueryRow("SELECT (SELECT count(*) FROM resources WHERE resource = ?1) + (SELECT count(*) FROM pins WHERE resource = ?1)", name).Scan(&known); err != nil {
				return err
			}
			if known == 0 {
				return fmt.Errorf("%s: %w", name, errUnknown)
			}
		}
		return nil
	})
}

// Pin overrides the breakers of a resource: up never bans it, down always.
func (r *Registry) Pin(ctx context.Context, resource string, up bool) error {
	return r.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT OR REPLACE INTO pins VALUES (?,?)", resource, up)
		return err
	})
}

// Unpin ends a pin; there being none is no error.
func (r *Registry) Unpin(ctx context.Context, resource string) error {
	return r.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM pins WHERE resource = ?", resource)
		return err
	})
}

func loadBreaker(tx *sql.Tx, resource, op string) (breaker, error) {
	var b breaker
	row := tx.QueryRow("SELECT failures, first, last, until, trial, reason FROM breakers WHERE resource = ? AND op = ?", resource, op)
	err := b.scan(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return breaker{}, nil
	}
	return b, err
}

func (b *breaker) scan(scan func(...any) error, more ...any) error {
	var first, last, until, trial int64
	err := scan(append(more, &b.failures, &first, &last, &until, &trial, &b.reason)...)
	b.first, b.last, b.until, b.trial = moment(first), moment(last), moment(until), moment(trial)
	return err
}

func moment(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// maxReason bounds a stored reason, in bytes.
const maxReason = 500

func saveBreaker(tx *sql.Tx, resource, op string, b breaker) error {
	reason := b.reason
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "..."
	}
	_, err := tx.Exec("INSERT OR REPLACE INTO breakers VALUES (?,?,?,?,?,?,?,?)",
		resource, op, b.failures, seconds(b.first), seconds(b.last), seconds(b.until), seconds(b.trial), reason)
	return err
}

func loadBreakers(tx *sql.Tx) (map[string][]breaker, error) {
	all := map[string][]breaker{}
	err := query(tx, "SELECT resource, op, failures, first, last, until, trial, reason FROM breakers", nil, func(scan func(...any) error) error {
		var name string
		var b breaker
		err := b.scan(scan, &name, &b.op)
		all[name] = append(all[name], b)
		return err
	})
	return all, err
}
