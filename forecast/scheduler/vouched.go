package scheduler

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
)

// A job is begun as a member of the VO and groups that its owner showed when he handed it in, as long as
// somebody still vouches for that: VOMS attributes have an end of their own, groups of tokens that of the
// token. What he shows later counts for the jobs that he has handed in before.

// errLapsed is why a job is held whose owner has not shown lately that he is what he handed it in as.
var errLapsed = errors.New("the VOMS attributes or groups that it was handed in with have run out, and its owner has shown no newer ones; " +
	"get them (grid auth proxy --voms VO), then submit, follow or ask about your jobs")

// names are what is vouched for of somebody: his attributes, and of one without any his VO.
func names(vo string, fqans []string) []string {
	if len(fqans) == 0 && vo != "" {
		return []string{"/" + vo}
	}
	return fqans
}

// vouched is until when each attribute of somebody is good, in seconds of Unix time; what is not in it is not good.
type vouched map[string]int64

// until is until when all that a job needs is good.
func (v vouched) until(j *Job) int64 {
	list := names(j.VO, j.FQANs)
	until := v[list[0]]
	for _, name := range list[1:] {
		until = min(until, v[name])
	}
	return until
}

// vouchers implements wallet.
func (h walletTable) vouchers(ctx context.Context, only ...string) (map[string]vouched, error) {
	of := map[string]vouched{}
	err := h.rows(ctx, func(scan func(...any) error) error {
		var owner, name string
		var until int64
		err := scan(&owner, &name, &until)
		if of[owner] == nil {
			of[owner] = vouched{}
		}
		of[owner][name] = until
		return err
	}, "select owner, name, expires from attribute where $1 = '' or owner = $1", strings.Join(only, ""))
	return of, err
}

// showings is until when what users have shown this replica is good, as the tables have it: by owner and, of
// attributes, their names.
type showings struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]int64
}

// maxShown bounds what is remembered: of the rest the tables are asked anew.
const maxShown = 10_000

func shownKey(owner string, names []string) [sha256.Size]byte {
	return sha256.Sum256([]byte(owner + "\x00" + strings.Join(names, "\x01")))
}

// later tells whether something is good for longer than what was shown before.
func (s *showings) later(key [sha256.Size]byte, until int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return until > s.of[key]
}

func (s *showings) note(key [sha256.Size]byte, until int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= maxShown {
		s.of = map[[sha256.Size]byte]int64{}
	}
	s.of[key] = max(until, s.of[key])
}

// maxVouched bounds what is kept of a user: what ends last. No single credential has more.
const maxVouched = 1000

// showAttributes notes until when the attributes of somebody are good, who asks about jobs. Those of VOMS count until
// their end, as the proxy does that was delegated; a token's groups as the token does.
func showAttributes(ctx context.Context, s *Scheduler, who Person) error {
	list := slices.Compact(slices.Sorted(slices.Values(names(who.VO, who.FQANs))))
	if len(list) == 0 || who.Vouched.IsZero() {
		return nil
	}
	end := who.Vouched
	if who.Token {
		end = end.Add(s.conf.TokenGrace)
	}
	key, until := shownKey(who.Subject, list), end.Unix()
	if !s.shown.later(key, until) {
		return nil
	}
	err := s.store.tx(ctx, func(h handle) error { return h.wallet.vouch(ctx, who.Subject, list, until) })
	if err == nil {
		s.shown.note(key, until)
	}
	return err
}

// vouch implements wallet.
func (h walletTable) vouch(ctx context.Context, owner string, attributes []string, until int64) error {
	text, err := jsonText(attributes)
	if err != nil {
		return err
	}
	_, err = h.exec(ctx, `insert into attribute (owner, name, expires) select cast($2 as text), t.value, cast($3 as {int}) from {texts} where true
		on conflict (owner, name) do update set expires = excluded.expires where attribute.expires < excluded.expires`, text, owner, until)
	if err != nil {
		return err
	}
	return h.write(ctx, `delete from attribute where owner = $1 and name not in (
		select name from attribute where owner = $1 order by expires desc, name limit $2)`, owner, maxVouched)
}

// unentitled is why a job may not be begun, with the credential of its owner and as what he handed it in as; nil: it may.
func unentitled(j *Job, cred authority, of vouched, now int64) error {
	if why := cred.toBegin().over(now); why != nil {
		return why
	}
	if j.Lapses && of.until(j) <= now {
		return errLapsed
	}
	return nil
}
