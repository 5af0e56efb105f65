package scheduler

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// expiries reads until when the users' delegated credentials are good, in
// seconds of Unix time: of all, or of one. Who has delegated none is not among them.
func (h handle) expiries(ctx context.Context, only ...string) (map[string]int64, error) {
	of := map[string]int64{}
	err := h.rows(ctx, func(scan func(...any) error) error {
		var owner string
		var expires int64
		err := scan(&owner, &expires)
		of[owner] = expires
		return err
	}, "select owner, expires from credential where $1 = '' or owner = $1", strings.Join(only, ""))
	return of, err
}

// expired tells whether what a user has delegated has run out.
func (m *memory) expired(owner string, now int64) bool {
	until, has := m.expires[owner]
	return has && until <= now
}

// credentials tells of jobs whose credential ends before they do, once for each
// credential: they go on, and wait for the next one where it is needed.
func (w *work) credentials() {
	now := w.now.Unix()
	for _, j := range w.mem.pick(func(j *Job) bool { return w.mem.untold(j, now) }) {
		until := w.mem.expires[j.Owner]
		at := time.Unix(until, 0).UTC().Format(time.RFC3339)
		switch {
		case until <= now:
			if j.State == Waiting {
				j.Blocked = errExpired.Error()
			}
			w.tell(j, until, "%v (it was good until %s)", errExpired, at)
		default:
			w.tell(j, until, "the credential is good until %s, and the job may run until %s: renew it before, grid auth renew",
				at, time.Unix(j.Booking.To, 0).UTC().Format(time.RFC3339))
		}
	}
}

// untold tells whether a job's credential ends before it does, and that was not said yet.
func (m *memory) untold(j *Job, now int64) bool {
	until, has := m.expires[j.Owner]
	return has && j.Told != until && (until <= now || j.Booking != nil && until < j.Booking.To)
}

func (w *work) tell(j *Job, until int64, format string, args ...any) {
	j.Told = until
	w.change(j)
	w.say(j, "", "credential", "%s", fmt.Sprintf(format, args...))
}
