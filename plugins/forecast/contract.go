package forecast

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins/ask"
	"gridbroker/rank"
)

// Schema is the version of both documents; they only ever gain fields.
const Schema = "grid.forecast/v1"

// Question asks when one job would start in each of some queues. Times are in
// seconds, memory in MB. Zero means not asked for.
type Question struct {
	Schema   string   `json:"schema"`
	Procs    int      `json:"procs"`
	Nodes    int      `json:"nodes,omitempty"`
	WallTime float64  `json:"wall_time,omitempty"`
	Memory   int64    `json:"memory,omitempty"`
	GPUs     int      `json:"gpus,omitempty"`
	Tags     []string `json:"tags,omitempty"` // runtime environments needed
	VO       string   `json:"vo,omitempty"`
	// User, Group and Account are the job's at the batch system, where the asker
	// knows them: limits, priorities and reservations go by them.
	User    string   `json:"user,omitempty"`
	Group   string   `json:"group,omitempty"`
	Account string   `json:"account,omitempty"`
	Queues  []string `json:"queues"` // LRMS queues; empty: every one the service knows
}

// maxWallTime is the longest wall time that is asked about, in seconds: ten
// years.
const maxWallTime = 10 * 365 * 86400

// maxName is the longest name of a user, group or account, in bytes.
const maxName = 256

// Check tells what a service need not try to answer: another schema, amounts
// below zero, a wall time beyond ten years, endless names.
func (q *Question) Check() error {
	switch {
	case q.Schema != Schema:
		return errors.New("want a question of schema " + Schema)
	case max(len(q.User), len(q.Group), len(q.Account)) > maxName:
		return fmt.Errorf("user, group or account has more than %d bytes", maxName)
	case q.Procs < 0 || q.Nodes < 0 || q.Memory < 0 || q.GPUs < 0:
		return errors.New("procs, nodes, memory or gpus is below zero")
	case !(q.WallTime >= 0 && q.WallTime <= maxWallTime):
		return fmt.Errorf("wall_time is %g seconds; want 0 to %d", q.WallTime, maxWallTime)
	}
	return nil
}

// Answer holds at most one start per queue.
type Answer struct {
	Schema string    `json:"schema"`
	Made   time.Time `json:"made"`
	Starts []Start   `json:"starts"`
}

// Start is the forecast for one queue: quantiles of the wait in seconds from
// Made on. Low and High are the 10 % and 90 % quantiles; a service that has
// one number gives Median alone.
type Start struct {
	Queue     string    `json:"queue"`
	Low       *float64  `json:"low,omitempty"`
	Median    float64   `json:"median"`
	High      *float64  `json:"high,omitempty"`
	GoodUntil time.Time `json:"good_until,omitzero"`
	// PastError is the mean absolute error of the service's forecasts for
	// this queue so far, in seconds.
	PastError *float64 `json:"past_error,omitempty"`
	// Quantiles are more of them than Low, Median and High, in order. Learned
	// is the number of starts that they were learned from.
	Quantiles []Quantile `json:"quantiles,omitempty"`
	Learned   int64      `json:"learned,omitempty"`
	// Slot is the first free time that would serve the job; what is booked is not
	// free.
	Slot *Slot `json:"slot,omitempty"`
}

// Slot begins in so many seconds, lasts for the job's length, and is free when it
// begins with some chance, 0 to 1.
type Slot struct {
	Wait   float64 `json:"wait"`
	Chance float64 `json:"chance"`
}

// Quantile is a wait in seconds that is not exceeded with some chance, 0 to 1.
type Quantile struct {
	Chance float64 `json:"chance"`
	Wait   float64 `json:"wait"`
}

func question(job *jdl.Job) Question {
	d := job.Demand
	return Question{
		Schema: Schema, Procs: max(1, d.Slots), Nodes: d.Nodes, WallTime: d.WallTime.Seconds(), Memory: d.Memory,
		GPUs: d.GPUs, Tags: d.RuntimeEnvironments, VO: job.VO,
	}
}

// horizon is how far ahead a start is believed. Batch systems that plan behind
// jobs without a time limit name years in the far future.
const horizon = 60 * 24 * time.Hour

// parse reads an answer. A queue whose forecast makes no sense, or lies beyond
// the horizon, is left out: nothing is known of it.
func parse(text []byte, now time.Time) (Answer, error) {
	var a Answer
	if err := ask.JSON(text, &a); err != nil {
		return a, fmt.Errorf("not a forecast: %w", err)
	}
	if !strings.HasPrefix(a.Schema, "grid.forecast/") {
		return a, fmt.Errorf("not a forecast: schema %.100q", a.Schema)
	}
	if a.Made.IsZero() {
		return a, errors.New("not a forecast: it does not say when it was made")
	}
	if a.Made.After(now) {
		a.Made = now // clocks differ
	}
	return a, nil
}

// forecast turns a start into the broker's terms; ok is false when it makes no
// sense.
func (s Start) forecast(source string, made time.Time) (f rank.Forecast, ok bool) {
	f = rank.Forecast{Source: source, Made: made, GoodUntil: s.GoodUntil}
	if f.Median, ok = wait(s.Median); !ok {
		return f, false
	}
	f.Low, f.High = f.Median, f.Median
	for _, q := range []struct {
		from *float64
		to   *time.Duration
	}{{s.Low, &f.Low}, {s.High, &f.High}} {
		if q.from == nil {
			continue
		}
		if *q.to, ok = wait(*q.from); !ok {
			return f, false
		}
	}
	if f.Low > f.Median || f.High < f.Median {
		return f, false
	}
	if f.Quantiles, ok = s.quantiles(); !ok {
		return f, false
	}
	if s.PastError != nil {
		if d, sane := wait(*s.PastError); sane {
			f.PastError = glue.Some(d)
		}
	}
	return f, true
}

// maxQuantiles bounds those of one start.
const maxQuantiles = 32

// quantiles reads them; false where they make no sense: too many, out of order,
// no chances, no waits.
func (s Start) quantiles() (list []rank.Quantile, ok bool) {
	if len(s.Quantiles) > maxQuantiles {
		return nil, false
	}
	last := rank.Quantile{}
	for _, q := range s.Quantiles {
		length, sane := wait(q.Wait)
		if !sane || !(q.Chance > last.Chance && q.Chance < 1) || length < last.Wait {
			return nil, false
		}
		last = rank.Quantile{Chance: q.Chance, Wait: length}
		list = append(list, last)
	}
	return list, true
}

// wait reads seconds; negative ones, NaN, and what is beyond the horizon are no wait.
func wait(seconds float64) (time.Duration, bool) {
	if math.IsNaN(seconds) || seconds < 0 || seconds > horizon.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
