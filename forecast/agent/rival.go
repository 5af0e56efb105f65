package agent

import "time"

// rivalTime is for how long what another agent told is remembered.
const rivalTime = 10 * time.Minute

// rival is another agent that tells of the same cluster: a copy of this one that goes on at its old host, or one that was
// given the wrong name. Each takes back what the other told.
type rival struct {
	seen  int
	at    time.Time // when it was seen last
	since time.Time // when it was said last
}

// look judges the number of what the scheduler has: above the last one that this agent used it is of another. A single one may be
// an own delta that was long on its way. It tells whether it is to be said now.
func (r *rival) look(seq, own uint64, now time.Time) bool {
	if seq <= own {
		return false
	}
	if now.Sub(r.at) > rivalTime {
		r.seen = 0
	}
	r.seen, r.at = r.seen+1, now
	if r.seen < 2 || now.Sub(r.since) < rivalTime {
		return false
	}
	r.since = now
	return true
}

// meet looks for a rival where the scheduler has another state than this agent, which has told of the cluster before.
func (a *Agent) meet(seq uint64) {
	if !a.sent.IsZero() && a.rival.look(seq, a.seq, a.Now()) {
		a.Log.Warn("another agent tells of this cluster, too, and each takes back what the other told: end one of them, or give each its own --cluster", "cluster", a.Conf.Cluster)
	}
}
