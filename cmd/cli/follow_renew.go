package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/credential"
	"gridbroker/durable"
	"gridbroker/jobs"
)

// renewal is what is noted of the last one, for grid follow --once: without it that would
// renew each time, or never.
type renewal struct {
	At    time.Time `json:"at"`
	Until time.Time `json:"until"` // when what was renewed with runs out
}

// renewalFile is its place in the state directory.
const renewalFile = "renewed.json"

// renew keeps the credentials of jobs alive.
func (f *follower) renew(ctx context.Context) error {
	if !f.flags.once && clock.Passed(f.renewed, f.env.Now()) < f.flags.renew {
		return nil
	}
	f.renewed = f.env.Now()
	var records []*jobs.Record
	for _, o := range f.jobs {
		if !o.Final() {
			records = append(records, o.Record)
		}
	}
	live := renewable(f.session, jobs.Outcomes(records)) // of their own: the descriptions that are read for it are not kept
	if len(live) == 0 {
		return nil
	}
	set, err := credentialSet(f.deps)
	if err != nil || f.flags.once && !f.renewsNow(set) {
		return err
	}
	if err := renewCredentials(ctx, f.deps, f.session, set, live); err != nil {
		return err
	}
	report(f.deps, live)
	text, err := json.Marshal(renewal{f.env.Now(), lasts(set)})
	return cmp.Or(err, durable.WriteFile(f.renewalFile(), text))
}

func (f *follower) renewalFile() string {
	return filepath.Join(stateDir(f.deps, f.session.conf), renewalFile)
}

// renewsNow tells whether the last renewal, by whatever process, was long ago, when the clock was ahead, or with
// a credential that ends before the one at hand.
func (f *follower) renewsNow(set *credential.Set) bool {
	var last renewal
	text, err := durable.ReadFile(f.renewalFile(), 1000)
	if err != nil || json.Unmarshal(text, &last) != nil { // there was none that is known of
		return true
	}
	now := f.env.Now()
	return clock.Passed(last.At, now) >= f.flags.renew || last.At.After(now) || lasts(set).After(last.Until)
}

// lasts is when a credential runs out that something is delegated of, or its VOMS attributes.
func lasts(set *credential.Set) time.Time {
	switch {
	case set.X509 != nil:
		end, of := set.X509.NotAfter(), credential.AttributesEnd(set.X509)
		if !of.IsZero() && of.Before(end) {
			return of
		}
		return end
	case set.Token != nil:
		return set.Token.Expiry()
	}
	return time.Time{}
}
