package history

import (
	"context"
	"database/sql"
	"math"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// provenFor is how long a job that ended well speaks for its resource.
const provenFor = 24 * time.Hour

// minWaits is how many compared waits a correction needs.
const minWaits = 3

// History implements plugins.Historian.
func (r *Registry) History(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.History, error) {
	known := map[string]rank.History{}
	err := r.tx(ctx, func(tx *sql.Tx) error {
		k, err := load(tx, job)
		if err != nil {
			return err
		}
		now := r.now()
		for _, res := range rs {
			if h, ok := k.about(res, now); ok {
				known[res.ID] = h
			}
		}
		return nil
	})
	return known, err
}

// knowledge is all rows that one question needs.
type knowledge struct {
	tallies  map[string]tally
	breakers map[string][]breaker
	pins     map[string]bool
	runs     map[string]runTime // by hardware, of this kind of task
}

// runTime is a mean over some runs on one kind of hardware.
type runTime struct {
	runs, mean, speed float64
}

func load(tx *sql.Tx, job *jdl.Job) (k knowledge, err error) {
	k.runs = map[string]runTime{}
	if k.tallies, err = loadTallies(tx); err != nil {
		return k, err
	}
	if k.breakers, err = loadBreakers(tx); err != nil {
		return k, err
	}
	if k.pins, err = loadPins(tx); err != nil || job == nil {
		return k, err
	}
	err = query(tx, "SELECT hardware, runs, mean, speed FROM tasks WHERE task = ?", []any{taskOf(job)}, func(scan func(...any) error) error {
		var name string
		var t runTime
		err := scan(&name, &t.runs, &t.mean, &t.speed)
		k.runs[name] = t
		return err
	})
	return k, err
}

func loadTallies(tx *sql.Tx) (map[string]tally, error) {
	all := map[string]tally{}
	err := query(tx, "SELECT resource, "+tallyColumns+" FROM resources", nil, func(scan func(...any) error) error {
		var name string
		var t tally
		err := t.scan(scan, &name)
		all[name] = t
		return err
	})
	return all, err
}

func loadPins(tx *sql.Tx) (map[string]bool, error) {
	all := map[string]bool{}
	err := query(tx, "SELECT resource, up FROM pins", nil, func(scan func(...any) error) error {
		var name string
		var up bool
		err := scan(&name, &up)
		all[name] = up
		return err
	})
	return all, err
}

// query hands every row to each.
func query(tx *sql.Tx, text string, args []any, each func(scan func(...any) error) error) error {
	rows, err := tx.Query(text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// about puts together what is known of a resource; ok is false for nothing.
func (k knowledge) about(r *glue.Resource, now time.Time) (h rank.History, ok bool) {
	if t, found := k.tallies[r.ID]; found {
		h.Jobs, ok = t.jobs, true
		h.Proven = t.odd == 0 && t.goodAt > 0 && now.Sub(moment(t.goodAt)).Abs() <= provenFor
		// With the weight of the decayed sum, an old record counts as few jobs.
		w := decay(now, t.at)
		h.Odd = int(math.Round(t.odd * w)) // so that a suspect gets a chance after a day
		if t.ended*w >= 0.5 {
			h.Success = glue.Some(t.good / t.ended)
			h.Jobs = max(1, int(math.Round(t.ended*w)))
		}
		if t.overhead >= 0 {
			h.Overhead = glue.Some(time.Duration(t.overhead * float64(time.Second)))
		}
		if t.waits >= minWaits && t.predicted > 0 {
			h.WaitCorrection = glue.Some(min(max(t.waited/t.predicted, 0.02), 20))
		}
	}
	if d, found := k.runTime(r); found {
		h.RunTime, ok = glue.Some(d), true
	}
	k.ban(&h, r, now)
	return h, ok || h.Proven || !h.BannedUntil.IsZero() || h.AtMost > 0
}

// runTime is the mean on this hardware, or that on others scaled by speed; where
// the speeds cannot be compared, that on others as it stands: the same program ran
// there, and what jobs ask for is mostly many times what they take.
func (k knowledge) runTime(r *glue.Resource) (time.Duration, bool) {
	hardware, speed := hardwareOf(r)
	if t, ok := k.runs[hardware]; ok {
		return time.Duration(t.mean * float64(time.Second)), true
	}
	var scaled, plain mean
	for _, t := range k.runs {
		plain.add(t.mean, t.runs)
		if t.speed > 0 && speed > 0 {
			scaled.add(t.mean*t.speed/speed, t.runs)
		}
	}
	if scaled.n > 0 {
		plain = scaled
	}
	if plain.n == 0 {
		return 0, false
	}
	return time.Duration(plain.sum / plain.n * float64(time.Second)), true
}

// mean is a weighted one under way.
type mean struct{ sum, n float64 }

func (m *mean) add(v, weight float64) {
	m.sum += v * weight
	m.n += weight
}

// forever is the end of a ban that a person spoke.
const forever = 100 * 365 * 24 * time.Hour

// ban fills in what breakers and pins say; the longest ban counts.
func (k knowledge) ban(h *rank.History, r *glue.Resource, now time.Time) {
	if up, pinned := k.pins[r.ID]; pinned {
		h.Proven, h.Odd = up, 0
		if !up {
			h.BannedUntil, h.BanReason, h.PinnedDown = now.Add(forever), "pinned down", true
		}
		return
	}
	for _, key := range []string{r.ID, hostKey(r.CE)} {
		for _, b := range k.breakers[key] {
			until, reason, canary := b.state(now)
			if until.After(h.BannedUntil) {
				h.BannedUntil, h.BanReason = until, reason
			}
			if canary {
				h.AtMost = 1
			}
			h.Proven = h.Proven && b.failures == 0
		}
	}
}
