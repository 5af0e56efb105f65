package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// authority is until when a job may be begun, in seconds of Unix time, and why not later: until what its owner has
// delegated runs out, the token that he has shown, or the attributes that he handed the job in with.
type authority struct {
	until int64
	lack  error
	named int64 // of what was delegated: until when its VOMS attributes are good; 0: it has none
}

// Why a job is held whose owner's authority has run out.
var (
	errExpired  = errors.New("the credential that was delegated to the scheduler has run out; renew it: grid auth proxy, then submit or follow again")
	errNameless = errors.New("the VOMS attributes of the credential that was delegated to the scheduler have run out, and sites would not know what its owner may do; renew it: grid auth proxy --voms VO, then submit or follow again")
	errUnshown  = errors.New("the token that was shown to the scheduler has run out; show it a newer one, with grid follow or any other question about your jobs")
)

// begins tells that nothing but beginning a job takes the authority: with tokens and attributes nothing is done at sites.
func (a authority) begins() bool { return a.lack != errExpired }

// authorities are those of the users: what they have delegated or shown, and who vouches for their attributes.
type authorities struct {
	of      map[string]authority // who has delegated nothing, and shown no token that ends, is not among them
	vouched map[string]vouched
}

// expiries reads the authorities of all users, or of one.
func (h handle) expiries(ctx context.Context, only ...string) (all authorities, err error) {
	all.of = map[string]authority{}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var owner string
		var size int
		var until, named int64
		err := scan(&owner, &until, &named, &size)
		all.of[owner] = authorityOf(until, named, size)
		return err
	}, "select owner, expires, attributes, length(body) from credential where $1 = '' or owner = $1", strings.Join(only, ""))
	if err == nil {
		all.vouched, err = vouchers(ctx, h, only...)
	}
	return all, err
}

// authorityOf is that of what is kept of a user, by its size: one who shows tokens has delegated nothing.
func authorityOf(until, named int64, size int) authority {
	if size <= sealSize {
		return authority{until: until, lack: errUnshown}
	}
	return authority{until, errExpired, named}
}

// toBegin is the authority as jobs are begun by it.
func (a authority) toBegin() authority {
	if a.named != 0 && a.named < a.until {
		return authority{until: a.named, lack: errNameless}
	}
	return a
}

// over is why an authority is none any more; nil: it is one.
func (a authority) over(now int64) error {
	if a.until > now {
		return nil
	}
	return a.lack
}

// authority is that of a job: of what has to be good for it the first that ends. Who it is begun as matters
// until it has been sent.
func (m *memory) authority(j *Job) (a authority, has bool) {
	a, has = m.expires.of[j.Owner]
	if j.State != Waiting && j.State != Booked {
		return a, has
	}
	a = a.toBegin()
	if !j.Lapses {
		return a, has
	}
	if until := m.expires.vouched[j.Owner].until(j); !has || until < a.until {
		a = authority{until: until, lack: errLapsed}
	}
	return a, true
}

// expired is why a job may not be begun; nil: it may.
func (m *memory) expired(j *Job, now int64) error {
	if a, has := m.authority(j); has {
		return a.over(now)
	}
	return nil
}

// credentials tells of jobs whose owner's authority ends before they do, once for each: those
// that wait are held, the others go on, and wait for the next one where it is needed.
func (w *work) credentials() {
	now := w.now.Unix()
	for _, j := range w.mem.pick(func(j *Job) bool { return w.mem.untold(j, now) }) {
		a, _ := w.mem.authority(j)
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
	a, has := m.authority(j)
	switch {
	case !has:
		return false
	case j.Held || j.State == Waiting && a.until <= now:
		return j.Held != (a.until <= now)
	case a.begins() || j.Told == a.until:
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

// showToken notes until when somebody's token is good, who asks about jobs: until then, and
// Config.TokenGrace longer, jobs of his are begun. What he has delegated stays, and counts.
func showToken(ctx context.Context, s *Scheduler, who Person) error {
	if !who.Token || who.Expires.IsZero() {
		return nil
	}
	until := who.Expires.Add(s.conf.TokenGrace).Unix()
	key := shownKey(who.Subject, nil)
	if !s.shown.later(key, until) {
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
		s.shown.note(key, until)
	}
	return err
}
