package history

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"gridbroker/plugins"
	"gridbroker/rank"
)

// halfLife is the time in which half of the old experience is forgotten.
const halfLife = 3 * 24 * time.Hour

// decay is the weight of what was known at a past time.
func decay(now time.Time, at int64) float64 {
	return math.Exp2(-max(0, now.Sub(time.Unix(at, 0)).Hours()) / halfLife.Hours())
}

// tally is a row of "resources".
type tally struct {
	at                       int64
	good, ended              float64
	waited, predicted, waits float64
	jobs                     int
	goodAt                   int64   // Unix seconds of the last good end
	odd                      float64 // too short ends in a row
	overhead                 float64 // seconds; negative: not known
}

func updateTally(tx *sql.Tx, now time.Time, resource string, change func(*tally)) error {
	t := tally{overhead: -1}
	err := t.scan(tx.QueryRow("SELECT "+tallyColumns+" FROM resources WHERE resource = ?", resource).Scan)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	w := decay(now, t.at)
	for _, p := range []*float64{&t.good, &t.ended, &t.waited, &t.predicted, &t.waits} {
		*p *= w
	}
	change(&t)
	_, err = tx.Exec("INSERT OR REPLACE INTO resources (resource, "+tallyColumns+") VALUES (?,?,?,?,?,?,?,?,?,?,?)",
		resource, now.Unix(), t.good, t.ended, t.waited, t.predicted, t.waits, t.jobs, t.goodAt, t.odd, t.overhead)
	return err
}

const tallyColumns = "at, good, ended, waited, predicted, waits, jobs, good_at, odd, overhead"

func (t *tally) scan(scan func(...any) error, more ...any) error {
	return scan(append(more, &t.at, &t.good, &t.ended, &t.waited, &t.predicted, &t.waits, &t.jobs, &t.goodAt, &t.odd, &t.overhead)...)
}

func addEnd(tx *sql.Tx, now time.Time, resource string, good bool) error {
	return updateTally(tx, now, resource, func(t *tally) {
		t.jobs++
		t.ended++
		if good {
			t.good++
			t.odd, t.goodAt = 0, now.Unix()
		}
	})
}

// learnWait compares the start with what was forecast.
func learnWait(tx *sql.Tx, now time.Time, job openJob, st plugins.Status) error {
	if st.Started.IsZero() || len(job.forecasts) == 0 {
		return nil
	}
	for _, f := range job.forecasts {
		if err := addError(tx, now, f.Source, math.Abs(float64(st.Started.Unix()-f.Start))); err != nil {
			return err
		}
	}
	actual := max(0, float64(st.Started.Unix()-job.sent))
	return updateTally(tx, now, job.resource, func(t *tally) {
		t.waited += actual
		t.predicted += job.forecasts[0].Wait
		t.waits++
	})
}

// longestOverhead bounds what is believed of an overhead: clocks differ.
const longestOverhead = time.Hour

// learnOverhead follows what jobs take beside their run: fast downwards and
// slowly upwards, so that it settles on what those take that wait for nothing.
func learnOverhead(tx *sql.Tx, now time.Time, job openJob, st plugins.Status, run time.Duration) error {
	if st.Ended.IsZero() || job.sent == 0 {
		return nil
	}
	took := st.Ended.Sub(moment(job.sent)) - run
	x := min(max(took, 0), longestOverhead).Seconds()
	return updateTally(tx, now, job.resource, func(t *tally) {
		switch {
		case t.overhead < 0:
			t.overhead = x
		case x < t.overhead:
			t.overhead += (x - t.overhead) / 2
		default:
			t.overhead += (x - t.overhead) / 20
		}
	})
}

func addError(tx *sql.Tx, now time.Time, source string, seconds float64) error {
	var at int64
	var sum, n float64
	err := tx.QueryRow("SELECT at, error, n FROM sources WHERE source = ?", source).Scan(&at, &sum, &n)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	w := decay(now, at)
	_, err = tx.Exec("INSERT OR REPLACE INTO sources VALUES (?,?,?,?)", source, now.Unix(), sum*w+seconds, n*w+1)
	return err
}

// PastError is the mean absolute error of a source's forecasts so far; ok is
// false while fewer than three came to their end.
func (r *Registry) PastError(ctx context.Context, source string) (d time.Duration, ok bool) {
	var sum, n float64
	err := r.db.QueryRowContext(ctx, "SELECT error, n FROM sources WHERE source = ?", source).Scan(&sum, &n)
	if err != nil || n < 3 {
		return 0, false
	}
	return time.Duration(sum / n * float64(time.Second)), true
}

// Correct gives forecasts the past error of their source where they have none.
func (r *Registry) Correct(ctx context.Context, fs map[string]rank.Forecast) {
	for id, f := range fs {
		if d, ok := r.PastError(ctx, f.Source); ok && !f.PastError.OK {
			f.PastError.V, f.PastError.OK = d, true
			fs[id] = f
		}
	}
}
