package desk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/forecast/managers"
)

// maxKey bounds the name that a user gives a job, in bytes.
const maxKey = 128

func checkKey(key string) error {
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("._-", r))
	}) {
		return fmt.Errorf("key %.40q: want 1 to %d letters, digits, dots, dashes or underscores", key, maxKey)
	}
	return nil
}

// submit takes jobs of a user; one that is here already is taken once.
func (d *Desk) submit(subject string, list []managers.UserJob) ([]managers.UserTold, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	out := make([]managers.UserTold, len(list))
	var fresh, heirs []*job
	for i, a := range list {
		out[i] = managers.UserTold{Key: a.Key}
		if knows(d, subject, a.Key) != nil || slices.ContainsFunc(fresh, func(o *job) bool { return o.Key == a.Key }) {
			continue
		}
		j := &job{ID: treeID(subject, a.Key), Subject: subject, Key: a.Key, Need: a.Need, Priority: min(a.Priority, d.config.Priority),
			Submitted: now.UnixMilli(), asked: now, attempt: int(now.UnixMilli())}
		if err := cmp.Or(checkKey(a.Key), (&managers.Job{ID: j.ID, Need: j.Need}).Check(), d.room(j, fresh, now)); err != nil {
			out[i].Error = err.Error()
			continue
		}
		fresh = append(fresh, j)
		if was := knows(d, subject, a.For); was != nil && was.Heir == "" {
			was.Heir, j.Submitted = j.Key, was.Submitted
			heirs = append(heirs, was)
		}
	}
	inTurn(d.users[subject], fresh)
	if err := d.store.put(append(heirs, fresh...)); err != nil {
		for _, was := range heirs {
			was.Heir = ""
		}
		return nil, err
	}
	for _, j := range fresh {
		d.add(j)
	}
	d.soon()
	return out, nil
}

// knows is a user's job of a key; nil: there is none; the mutex is held.
func knows(d *Desk, subject, key string) *job {
	if a := d.users[subject]; a != nil {
		return a.jobs[key]
	}
	return nil
}

// inTurn has jobs of a user that come now be of different ages, by which they may swap them with those of others.
func inTurn(a *account, fresh []*job) {
	last := int64(0)
	if a != nil {
		last = a.last
	}
	for _, j := range fresh {
		if j.Submitted >= j.asked.UnixMilli() {
			last = max(j.Submitted, last+1)
			j.Submitted = last
		}
	}
}

// errFull is that there is no room for another job.
var errFull = errors.New("the desk is full; try again later")

// room finds room for a job beside others that are about to be taken in, by forgetting ended ones where need be.
func (d *Desk) room(j *job, beside []*job, now time.Time) error {
	own := d.users[j.Subject]
	if own == nil {
		own = &account{}
	}
	more := len(beside) + 1
	bytes := more * j.size()
	if len(own.jobs)+more > maxOfUser || own.bytes+bytes > userBytes {
		d.forget(ended(own.jobs))
		if len(own.jobs)+more > maxOfUser || own.bytes+bytes > userBytes {
			return fmt.Errorf("%d jobs of yours are here: no room for more", len(own.jobs)+len(beside))
		}
	}
	if len(d.jobs)+more > maxInAll || d.bytes+bytes > allBytes {
		d.config.Log.Warn("the desk is full", "jobs", len(d.jobs))
		return errFull
	}
	return nil
}

// ended are those of some jobs that have.
func ended(jobs map[string]*job) (list []*job) {
	for _, j := range jobs {
		if j.Ended != 0 {
			list = append(list, j)
		}
	}
	return list
}

// states tells a user of jobs; those that are not here are left out.
func (d *Desk) states(subject string, keys []string) []managers.UserTold {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := []managers.UserTold{}
	for _, j := range d.of(subject, keys) {
		out = append(out, d.tell(j))
	}
	return out
}

// of are a user's jobs by their keys; the mutex is held.
func (d *Desk) of(subject string, keys []string) (list []*job) {
	a := d.users[subject]
	if a == nil {
		return nil
	}
	for _, key := range keys {
		if j := a.jobs[key]; j != nil {
			list = append(list, j)
		}
	}
	return list
}

func (d *Desk) tell(j *job) managers.UserTold {
	t := managers.UserTold{Key: j.Key, State: managers.UserWaits, Submitted: j.Submitted, ID: string(j.ID)}
	switch {
	case j.Gone:
		t.State = managers.UserGone
	case j.Ended != 0:
		t.State = managers.UserEnded
	case j.Claimed != nil:
		t.State, t.System, t.Manager = managers.UserClaimed, j.Claimed.System, j.Claimed.Manager
	case j.offered != nil:
		t.State, t.System, t.Manager = managers.UserAssigned, j.offered.System, j.offered.Manager
	case d.away(j):
		t.State = managers.UserAway
	}
	return t
}

// away tells that a job's user has not asked for it for long.
func (d *Desk) away(j *job) bool { return time.Since(j.asked) > d.config.Patience }

// claim gives a user the places of those jobs that have one, and tells how all of them are. Who claims is there to
// start jobs: they are in the tree from now on.
func (d *Desk) claim(subject string, keys []string) ([]managers.UserTold, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.of(subject, keys)
	var fresh []*job
	for _, j := range list {
		j.asked = time.Now()
		if j.offered != nil && j.Claimed == nil && j.Ended == 0 && !slices.Contains(fresh, j) {
			fresh = append(fresh, j)
		}
	}
	for _, j := range fresh {
		j.Claimed = j.offered
	}
	if err := d.store.put(fresh); err != nil { // whether it is on disk is not known: it is claimed, or given back in time
		for _, j := range fresh {
			j.Claimed = nil
		}
		return nil, err
	}
	out := []managers.UserTold{}
	for _, j := range list {
		out = append(out, d.tell(j))
	}
	d.soon()
	return out, nil
}

// end lets a user's jobs go: those that wait do not any more, and the places of the others are free.
func (d *Desk) end(subject string, keys []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []*job
	for _, j := range d.of(subject, keys) {
		if j.Ended == 0 && !slices.Contains(list, j) {
			list = append(list, j)
		}
	}
	return d.close(list)
}

// close ends jobs; the mutex is held.
func (d *Desk) close(list []*job) error {
	now := time.Now().UnixMilli()
	for _, j := range list {
		j.Ended = now
	}
	if err := d.store.put(list); err != nil {
		for _, j := range list {
			j.Ended = 0
		}
		return err
	}
	for _, j := range list {
		d.giveBack(j)
		j.Claimed = nil
	}
	return nil
}

// count is how many jobs of a user have not ended.
func (d *Desk) count(subject string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.users[subject]; a != nil {
		n = len(a.jobs) - len(ended(a.jobs))
	}
	return n
}
