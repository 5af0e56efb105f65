package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// Why a job is held whose owner's authority has run out.
var (
	errExpired  = errors.New("the credential that was delegated to the scheduler has run out; renew it: grid auth proxy, then submit or follow again")
	errNameless = errors.New("the VOMS attributes of the credential that was delegated to the scheduler have run out, and sites would not know what its owner may do; renew it: grid auth proxy --voms VO, then submit or follow again")
	errOtherVO  = errors.New("its owner has delegated credentials of other VOs to the scheduler, and none of the VO that it was handed in for: get one (grid auth proxy --voms VO), then submit or follow again")
	errUnshown  = errors.New("the token that was shown to the scheduler has run out; show it a newer one, with grid follow or any other question about your jobs")
)

// authority is that of a job: of what has to be good for it the first that ends. Who it is begun as matters
// until it has been sent.
func (m *memory) authority(j *Job, now int64) (a authority, has bool) {
	a, has = m.expires.of(j.holder(), now)
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

// authorized tells whether any job has an authority, which may end.
func (m *memory) authorized() bool {
	return len(m.expires.own)+len(m.expires.last) > 0 || m.jobs.lapse()
}

// expired is why a job may not be begun; nil: it may.
func (m *memory) expired(j *Job, now int64) error {
	if a, has := m.authority(j, now); has {
		return a.over(now)
	}
	return nil
}

// readAuthorities reads those of the users anew, and what a program of the version before has kept since.
func readAuthorities(ctx context.Context, w *work) (err error) {
	before := w.mem.expires.last
	if w.mem.expires, err = w.h.wallet.expiries(ctx); err != nil || !w.first && maps.Equal(before, w.mem.expires.last) {
		return err
	}
	found, err := adopt(ctx, w.h.statements, w.s.store.seal, "")
	if found && err == nil {
		w.mem.expires, err = w.h.wallet.expiries(ctx)
	}
	return err
}

// credentials tells of jobs whose owner's authority ends before they do, once for each: those
// that wait are held, the others go on, and wait for the next one where it is needed.
func (w *work) credentials() {
	now := w.now.Unix()
	if !w.mem.authorized() {
		return
	}
	for _, j := range pick(func(j *Job) bool { return w.mem.untold(j, now) }, w.mem.jobs.waits(), w.mem.jobs.places()) {
		a, _ := w.mem.authority(j, now)
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
	a, has := m.authority(j, now)
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
	mark := s.store.seal.Close("credential/"+who.Subject, nil)
	err := s.store.tx(ctx, func(h handle) error { return h.wallet.show(ctx, who.Subject, until, mark) })
	if err == nil {
		s.shown.note(key, until)
	}
	return err
}

// show implements wallet.
func (h walletTable) show(ctx context.Context, owner string, until int64, mark []byte) error {
	_, err := h.exec(ctx, `insert into credential (owner, expires, body) values ($1, $2, $3)
		on conflict (owner) do update set expires = excluded.expires, body = excluded.body where credential.expires < excluded.expires and length(credential.body) <= $4`,
		owner, until, mark, sealSize)
	return err
}
