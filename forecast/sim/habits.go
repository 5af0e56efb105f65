package sim

import (
	"context"
	"time"

	"gridbroker/rank"
)

// habits are what every user's own command remembers of ended jobs (plugins/history):
// how much of the time asked for they used. Nil where nobody asks for it.
type habits struct {
	of   map[int]rank.Usage // by user
	all  rank.Usage         // of all users
	next rank.Usage         // of whose job is planned next: ends are seen during a plan
}

// Name implements plugins.Estimator.
func (*habits) Name() string { return "history" }

// Usage implements plugins.Estimator.
func (h *habits) Usage(context.Context) (rank.Usage, error) { return h.next, nil }

// plan is told that a job of a user is planned next.
func (h *habits) plan(user int) {
	if h != nil {
		h.next = h.of[user]
	}
}

// planAll is told that jobs of several users are.
func (h *habits) planAll() {
	if h != nil {
		h.next = h.all
	}
}

// ended takes in a job that ended well.
func (h *habits) ended(j *job, run time.Duration, speed float64) {
	if h == nil {
		return
	}
	_, asked := j.at(speed)
	u := h.of[j.user]
	u.Add(run, asked)
	h.all.Add(run, asked)
	h.of[j.user] = u
}
