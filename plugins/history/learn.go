package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"gridbroker/plugins"
	"gridbroker/rank"
)

// said is a forecast as kept with a job: who said it, and the start it meant.
type said struct {
	Source string  `json:"source"`
	Start  int64   `json:"start"` // Unix seconds
	Wait   float64 `json:"wait"`  // seconds from the request on
}

// Sent implements plugins.Recorder. Failures of one call count once per
// resource: a bulk request is one request.
func (r *Registry) Sent(ctx context.Context, attempts []plugins.Attempt) error {
	now := r.now()
	return r.tx(ctx, func(tx *sql.Tx) error {
		failed, worked := map[string]string{}, map[string]bool{}
		for _, a := range attempts {
			host, resource := hostKey(a.Resource.CE), a.Resource.ID
			switch e, isErr := errors.AsType[*plugins.Error](a.Err); {
			case a.Err == nil:
				worked[host], worked[resource] = true, true
				if err := remember(tx, now, a); err != nil {
					return err
				}
			case isErr && (e.Kind == plugins.Unavailable || e.Kind == plugins.Uncertain):
				failed[host] = a.Err.Error()
			case isErr && e.Kind == plugins.Refused:
				failed[resource] = a.Err.Error()
			}
		}
		return judge(tx, now, failed, worked)
	})
}

// hostKey is the name under which a computing element's own breaker is kept:
// a host that does not answer does so for all its queues.
func hostKey(ce string) string { return "host " + ce }

// judge counts the failures of one call; what also worked in it is not dead.
func judge(tx *sql.Tx, now time.Time, failed map[string]string, worked map[string]bool) error {
	for key, reason := range failed {
		if worked[key] {
			continue
		}
		threshold := 1
		if !strings.HasPrefix(key, hostKey("")) {
			threshold = inARow // it answered: it may take another job
		}
		b, err := loadBreaker(tx, key, opSubmit)
		if err == nil {
			err = saveBreaker(tx, key, opSubmit, b.fail(now, threshold, reason))
		}
		if err != nil {
			return err
		}
	}
	for key := range worked {
		if _, err := tx.Exec("DELETE FROM breakers WHERE resource = ? AND op = ?", key, opSubmit); err != nil {
			return err
		}
		b, err := loadBreaker(tx, key, opRun)
		if err == nil && b.onTrial(now) {
			b.trial = now
			err = saveBreaker(tx, key, opRun, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// remember keeps a job until it ends.
func remember(tx *sql.Tx, now time.Time, a plugins.Attempt) error {
	var all []said
	for _, f := range a.Forecasts {
		if start := f.Made.Add(f.Median); f.Median >= 0 {
			all = append(all, said{f.Source, start.Unix(), max(0, start.Sub(now).Seconds())})
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	hardware, speed := hardwareOf(a.Resource)
	_, err = tx.Exec("INSERT OR IGNORE INTO open VALUES (?,?,?,?,?,?,0,?,?)",
		a.ID, taskOf(a.Job), hardware, speed, a.Resource.ID, now.Unix(), string(text), askedOf(a).Seconds())
	return err
}

// askedOf is the wall time that a job asks for, at the speed of where it was sent;
// 0 where it asks for none.
func askedOf(a plugins.Attempt) time.Duration {
	m := rank.DefaultModel()
	speed, _ := m.Speed(a.Resource)
	return time.Duration(float64(a.Job.Demand.WallTime) / speed)
}

// openJob is a row of "open".
type openJob struct {
	task, hardware, resource string
	speed                    float64
	asked                    time.Duration // of wall time; 0: none
	sent                     int64
	forecasts                []said
}

// Ended implements plugins.Recorder.
func (r *Registry) Ended(ctx context.Context, ends []plugins.End) error {
	ends = slices.Clone(ends)
	slices.SortStableFunc(ends, func(a, b plugins.End) int {
		return cmp.Compare(a.Status.Ended.UnixNano(), b.Status.Ended.UnixNano())
	})
	now := r.now()
	return r.tx(ctx, func(tx *sql.Tx) error {
		for _, e := range ends {
			if !e.Status.State.Final() {
				continue
			}
			job, err := takeOpen(tx, e.ID)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err == nil {
				err = learn(tx, now, job, e.Status)
			}
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec("DELETE FROM open WHERE sent < ?", now.Add(-keep).Unix())
		return err
	})
}

func takeOpen(tx *sql.Tx, id string) (job openJob, err error) {
	var text string
	var asked float64
	err = tx.QueryRow("DELETE FROM open WHERE id = ? RETURNING task, hardware, speed, resource, sent, forecasts, asked", id).
		Scan(&job.task, &job.hardware, &job.speed, &job.resource, &job.sent, &text, &asked)
	job.asked = time.Duration(asked * float64(time.Second))
	if err == nil {
		err = json.Unmarshal([]byte(text), &job.forecasts)
	}
	return job, err
}

// learn takes one end in: what it says of the task, of the forecasts, and of
// the resource.
func learn(tx *sql.Tx, now time.Time, job openJob, st plugins.Status) error {
	if st.State == plugins.Cancelled {
		return nil
	}
	st = believable(st, moment(job.sent), now)
	if err := learnWait(tx, now, job, st); err != nil {
		return err
	}
	if st.Fault == plugins.JobsFault {
		return nil // it would have failed anywhere
	}
	run, timed := ranFor(st)
	u, err := usual(tx, job.task)
	if err != nil {
		return err
	}
	if st.State == plugins.Done && st.ExitCode.Or(0) == 0 {
		if !timed {
			return learnSuccess(tx, now, job)
		}
		if odd, err := learnOdd(tx, now, job, run, u); err != nil || odd {
			return err
		}
		return errors.Join(learnSuccess(tx, now, job), learnRun(tx, now, job, run), learnOverhead(tx, now, job, st, run), learnUsage(tx, run, job.asked))
	}
	known := u.last.After(now.Add(-24 * time.Hour))
	fast := run <= max(fastRun, u.part())
	// A program that ran its time and ended with a code of its own is no
	// fault of the resource.
	good := st.State == plugins.Done && !fast
	if err := addEnd(tx, now, job.resource, good); err != nil || !fast {
		return err
	}
	return learnFastFailure(tx, now, job, st, known)
}

// ranFor is how long a job ran: of one that began and ended within the second in
// which its times are told, a second; ok is false where nobody says.
func ranFor(st plugins.Status) (run time.Duration, ok bool) {
	if st.WallTime > 0 {
		return st.WallTime, true
	}
	if st.Started.IsZero() || st.Ended.Before(st.Started) {
		return 0, false
	}
	return max(time.Second, st.Ended.Sub(st.Started)), true
}

// believable leaves out times of a job's end that cannot be: a start or an end
// before it was sent or after now, and a run that is longer than that.
func believable(st plugins.Status, sent, now time.Time) plugins.Status {
	earliest, latest := sent.Add(-clocksDiffer), now.Add(clocksDiffer)
	for _, t := range []*time.Time{&st.Started, &st.Ended} {
		if t.Before(earliest) || t.After(latest) {
			*t = time.Time{}
		}
	}
	if st.WallTime < 0 || st.WallTime > latest.Sub(earliest) {
		st.WallTime = 0
	}
	return st
}

// clocksDiffer is by how much the clock of a computing element may be wrong.
const clocksDiffer = time.Hour

func learnSuccess(tx *sql.Tx, now time.Time, job openJob) error {
	if err := addEnd(tx, now, job.resource, true); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM breakers WHERE resource = ? AND op = ?", job.resource, opRun); err != nil {
		return err
	}
	_, err := tx.Exec("DELETE FROM failing WHERE task = ? AND resource = ?", job.task, job.resource)
	return err
}

// learnRun takes in how long a kind of task ran on a kind of hardware: the mean
// follows the last twenty or so runs.
func learnRun(tx *sql.Tx, now time.Time, job openJob, run time.Duration) error {
	_, err := tx.Exec(`INSERT INTO tasks VALUES (?,?,1,?,?,?) ON CONFLICT DO UPDATE SET
		runs = runs + 1, mean = mean + (excluded.mean - mean) / min(runs + 1, 20), last = excluded.last`,
		job.task, job.hardware, run.Seconds(), job.speed, now.Unix())
	return err
}

// learnUsage takes in what a job that ended well used of what it had asked for.
func learnUsage(tx *sql.Tx, used, asked time.Duration) error {
	u, err := loadUsage(tx)
	if err != nil {
		return err
	}
	u.Add(used, asked)
	_, err = tx.Exec("UPDATE usage SET used = ?, asked = ?, jobs = ?", u.Used, u.Asked, u.Jobs)
	return err
}

func loadUsage(tx *sql.Tx) (u rank.Usage, err error) {
	err = tx.QueryRow("SELECT used, asked, jobs FROM usage").Scan(&u.Used, &u.Asked, &u.Jobs)
	return u, err
}

// Usage implements plugins.Estimator.
func (r *Registry) Usage(ctx context.Context) (u rank.Usage, err error) {
	err = r.tx(ctx, func(tx *sql.Tx) (err error) {
		u, err = loadUsage(tx)
		return err
	})
	return u, err
}

// cannotRun is the first exit code by which a shell or a batch system says that
// the program could not be run (POSIX.1-2017, XCU 2.8.2), and not the program.
const cannotRun = 126

// learnFastFailure counts towards a black hole, unless it is the task: such
// that fail everywhere, and programs that end with a code of their own and
// were never seen to do better.
func learnFastFailure(tx *sql.Tx, now time.Time, job openJob, st plugins.Status, known bool) error {
	elsewhere, err := alsoAt(tx, "failing", now, job)
	if err != nil {
		return err
	}
	own := st.State == plugins.Done && st.ExitCode.Or(0) < cannotRun
	if (elsewhere || own) && !known {
		return nil
	}
	b, err := loadBreaker(tx, job.resource, opRun)
	if err != nil {
		return err
	}
	reason := "jobs fail at once"
	if st.Reason != "" {
		reason += ": " + st.Reason
	}
	return saveBreaker(tx, job.resource, opRun, b.fail(now, inARow, reason))
}

// usually is how long a kind of task runs, over all hardware.
type usually struct {
	mean time.Duration
	runs int
	last time.Time // that one ended well
}

// part is what is short for the kind of task.
func (u usually) part() time.Duration { return time.Duration(fastPart * float64(u.mean)) }

func usual(tx *sql.Tx, task string) (u usually, err error) {
	var mean sql.NullFloat64
	var runs, last sql.NullInt64
	err = tx.QueryRow("SELECT avg(mean), sum(runs), max(last) FROM tasks WHERE task = ?", task).Scan(&mean, &runs, &last)
	return usually{time.Duration(mean.Float64 * float64(time.Second)), int(runs.Int64), moment(last.Int64)}, err
}

// learnOdd takes in a job that ended well in under a minute and a tenth of the
// time that its kind usually takes, which is a minute at least: a black hole may answer with exit code 0,
// too. It counts as no success, and its run time is not believed. When the kind
// does so on other resources as well it is the task that has changed.
func learnOdd(tx *sql.Tx, now time.Time, job openJob, run time.Duration, u usually) (odd bool, err error) {
	if u.runs < inARow || u.mean < fastRun || run > min(fastRun, u.part()) {
		return false, nil
	}
	elsewhere, err := alsoAt(tx, "odd", now, job)
	if err != nil || elsewhere {
		return false, err
	}
	return true, updateTally(tx, now, job.resource, func(t *tally) {
		t.jobs++
		t.ended++
		t.odd++
	})
}

// alsoAt notes in a table that a kind of task behaved in a way at a resource,
// and reports whether it lately did so at another one.
func alsoAt(tx *sql.Tx, table string, now time.Time, job openJob) (bool, error) {
	if _, err := tx.Exec("INSERT INTO "+table+" VALUES (?,?,?) ON CONFLICT DO UPDATE SET last = excluded.last",
		job.task, job.resource, now.Unix()); err != nil {
		return false, err
	}
	var others int
	err := tx.QueryRow("SELECT count(*) FROM "+table+" WHERE task = ? AND resource <> ? AND last > ?",
		job.task, job.resource, now.Add(-blameFor).Unix()).Scan(&others)
	return others > 0, err
}
