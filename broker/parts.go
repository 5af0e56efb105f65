package broker

import (
	"fmt"
	"time"

	"gridbroker/jdl/classad"
	"gridbroker/rank"
)

// ValueText writes a ClassAd value as JDL does.
func ValueText(v classad.Value) string { return valueText(v) }

// Breakdown is a score in its parts, for a table. A part that the policy did
// not look at is empty.
type Breakdown struct {
	total, sigma        float64
	wait, stageIn, run  float64
	success             float64
	hasWait, hasStageIn bool
	hasRun              bool
}

// Parts adds up the terms of a ranked candidate.
func Parts(r rank.Ranked) Breakdown {
	b := Breakdown{sigma: r.Uncertainty}
	for _, t := range r.Terms {
		b.total += t.Seconds
		if t.OnWait() {
			b.wait, b.hasWait = b.wait+t.Seconds, true
		}
		switch t.Name {
		case rank.TermStageIn:
			b.stageIn, b.hasStageIn = t.Seconds, true
		case rank.TermRun:
			b.run, b.hasRun = t.Seconds, true
		case rank.TermSuccess:
			b.success = t.Raw
		case rank.TermLimit:
			b.success *= t.Raw
		}
	}
	return b
}

func part(has bool, seconds float64, text func(time.Duration) string) string {
	if !has {
		return "-"
	}
	return text(time.Duration(seconds * float64(time.Second)))
}

// Expected is the time to completion with its standard deviation.
func (b Breakdown) Expected(text func(time.Duration) string) string {
	if !b.hasRun {
		return "-"
	}
	return part(true, b.total, text) + " ±" + part(true, b.sigma, text)
}

// Seconds is the expected time to completion; false where the policy did not
// look at it.
func (b Breakdown) Seconds() (float64, bool) { return b.total, b.hasRun }

// Wait is the wait before the start.
func (b Breakdown) Wait(text func(time.Duration) string) string { return part(b.hasWait, b.wait, text) }

// StageIn is the time for the input files.
func (b Breakdown) StageIn(text func(time.Duration) string) string {
	return part(b.hasStageIn, b.stageIn, text)
}

// Run is the run time there.
func (b Breakdown) Run(text func(time.Duration) string) string { return part(b.hasRun, b.run, text) }

// Chance is that of the job to run to its end, from 0 to 1; false where the policy did not
// look at it.
func (b Breakdown) Chance() (float64, bool) { return b.success, b.success != 0 }

// Success is the chance that the job runs to its end.
func (b Breakdown) Success() string {
	if b.success == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*b.success)
}
