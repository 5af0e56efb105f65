package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// authority is until when jobs of a user may be begun, in seconds of Unix time: until what he has
// delegated runs out, or the token that he has shown. With a token nothing is done at sites.
type authority struct {
	until int64
	token bool
}

// Why a job is held whose owner's authority has run out.
var (
	errExpired = errors.New("the credential that was delegated to the scheduler has run out; renew it: grid auth proxy, then submit or follow again")
	errUnshown = errors.New("the token that was shown to the scheduler has run out; show it a newer one, with grid follow or any other question about your jobs")
)

// expiries reads the authorities of the users: of all, or of one. Who has delegated nothing, and
// shown no token that ends, is not among them.
func (h handle) expiries(ctx context.Context, only ...string) (map[string]authority, error) {
	of := map[string]authority{}
	err := h.rows(ctx, func(scan func(...any) error) error {
		var owner string
		var a authority
		var size int
		err := scan(&owner, &a.until, &size)
		a.token = size <= sealSize
		of[owner] = a
		return err
	}, "select owner, expires, length(body) from credential where $1 = '' or owner = $1", strings.Join(only, ""))
	return of, err
}

// over is why an authority is none any more; nil: it is one.
func (a authority) over(now int64) error {
	switch {
	case a.until > now:
		return nil
	case a.token:
		return errUnshown
	}
	return errExpired
}

// expired is why jobs of a user may not be begun; nil: they may.
func (m *memory) expired(owner string, now int64) error {
	if a, has := m.expires[owner]; has {
		return a.over(now)
	}
	return nil
}

// credentials tells of jobs whose owner's authority ends before they do, once for each: those
// that wait are held, the others go on, and wait for the next one where it is needed.
func (w *work) credentials() {
	now := w.now.Unix()
	for _, j := range w.mem.pick(func(j *Job) bool { return w.mem.untold(j, now) }) {
		a := w.mem.expires[j.Owner]
		at, why := rfc(a.until), a.over(now)
		switch {
		case j.Held && why == nil:
			j.Held, j.Blocked = false, ""
			w.tell(j, j.Told, "renewed, good until %s: the job is planned again", at)
		case why != nil:
			if j.State == Waiting {
				j.Held, j.Blocked, j.Outlook = true, why.Error(), nil
			}
			w.tell(j, a.until, "%v (it was good until %s)", why, at)
		default:
			w.tell(j, a.until, "the credential is good until %s, and the job may run until %s: renew it before, grid auth renew",
				at, rfc(j.Booking.To))
		}
	}
}

// untold tells whether a job's owner is to hear of his authority: it ends before the job does, where
// that needs it, it has ended, or it is good again, and that was not said yet. One that has a
// place needs no token any more.
func (m *memory) untold(j *Job, now int64) bool {
	a, has := m.expires[j.Owner]
	switch {
	case !has:
		return false
	case j.Held || j.State == Waiting && a.until <= now:
		return j.Held != (a.until <= now)
	case a.token || j.Told == a.until:
		return false
	}
	return a.until <= now || j.Booking != nil && a.until < j.Booking.To
}

func rfc(t int64) string { return time.Unix(t, 0).UTC().Format(time.RFC3339) }

func (w *work) tell(j *Job, until int64, format string, args ...any) {
	j.Told = until
	w.change(j)
	w.say(j, "", "credential", "%s", fmt.Sprintf(format, args...))
}

// tokens is until when the tokens are good that users have shown this replica, as the table has it.
type tokens struct {
	mu sync.Mutex
	of map[string]int64
}

// maxShown bounds the users that are remembered: of others the table is asked anew.
const maxShown = 10_000

// later tells whether a token is good for longer than those that its owner has shown before.
func (s *tokens) later(owner string, until int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return until > s.of[owner]
}

func (s *tokens) note(owner string, until int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= maxShown {
		s.of = map[string]int64{}
	}
	s.of[owner] = max(until, s.of[owner])
}

// showToken notes until when somebody's token is good, who asks about jobs: until then, and
// Config.TokenGrace longer, jobs of his are begun. What he has delegated stays, and counts.
func showToken(ctx context.Context, s *Scheduler, who Person) error {
	if !who.Token || who.Expires.IsZero() {
		return nil
	}
	until := who.Expires.Add(s.conf.TokenGrace).Unix()
	if !s.tokens.later(who.Subject, until) {
		return nil
	}
	err := s.store.tx(ctx, func(h handle) error {
		s.store.entrusted = s.store.scratch != nil
		_, err := h.exec(ctx, `insert into credential (owner, expires, body) values ($1, $2, $3)
			on conflict (owner) do update set expires = excluded.expires, body = excluded.body where credential.expires < excluded.expires and length(credential.body) <= $4`,
			who.Subject, until, s.store.seal.Close("credential/"+who.Subject, nil), sealSize)
		return err
	})
	if err == nil {
		s.tokens.note(who.Subject, until)
	}
	return err
}
