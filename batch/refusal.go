package batch

import (
	"fmt"
	"time"
)

// Cause is what keeps a waiting job from starting.
type Cause string

// The causes.
const (
	Held          Cause = "held"        // by its owner or an operator
	Closed        Cause = "closed"      // its queue takes or starts no jobs
	OverLimit     Cause = "limit"       // it asks for more than its queue allows
	TooLarge      Cause = "size"        // no nodes that are up have what it asks for
	NoReservation Cause = "reservation" // the reservation it names cannot take it
	Dependent     Cause = "dependency"  // a job that it waits for will not let it in
	Throttled     Cause = "throttle"    // a limit on running jobs is used up by jobs that do not start
	NoRoom        Cause = "room"        // there is no time at which it fits beside what is held for ever
)

// Refusal is a waiting job that will not start as things are, and why. Until is
// when what stands in its way is over, where that is known: it may not start
// then, but it may be asked about again.
type Refusal struct {
	ID     string    `json:"id"`
	Cause  Cause     `json:"cause"`
	Reason string    `json:"reason"` // for people
	Until  time.Time `json:"until,omitzero"`
}

// verdict is a Refusal without the job; its Cause is "" where there is none.
type verdict struct {
	Cause
	reason string
	until  time.Time
}

func refuse(c Cause, format string, values ...any) verdict {
	return verdict{Cause: c, reason: fmt.Sprintf(format, values...)}
}

func (v verdict) of(id string) Refusal { return Refusal{id, v.Cause, v.reason, v.until} }

// left lists the jobs that still wait on a machine on which nothing more will
// happen, and have not run.
func left(c *cluster, m *Machine) (list []Refusal) {
	for at := range m.jobs {
		if j := &m.jobs[at]; (j.state == queued || j.state == stuck) && !j.again {
			list = append(list, c.stranded(m, int32(at)).of(c.state.Jobs[j.ID].ID))
		}
	}
	return list
}

// stranded says why a job has not started by the end of time.
func (c *cluster) stranded(m *Machine, at int32) verdict {
	j := &m.jobs[at]
	job := &c.state.Jobs[j.ID]
	switch {
	case job.Reservation != "":
		v := refuse(NoReservation, "reservation %s has no room for it before it ends", job.Reservation)
		if n := c.state.access(job, c.now); n > 0 {
			v.until = c.state.Reservations[n-1].End
		}
		return v
	case j.Latest > 0 && j.state == stuck:
		return late()
	case j.gates > 0 && job.awaits(Never):
		return hopeless()
	case j.gates > 0 && job.awaits(OnFailure):
		return refuse(Dependent, "waits for another job to fail")
	case j.gates > 0:
		return refuse(Dependent, "a job that it waits for does not start")
	case m.queues.parks(at, j):
		return refuse(Throttled, "the jobs that count towards its limit of running ones do not start")
	}
	return refuse(NoRoom, "at no time is there room for it beside what is held")
}

// hopeless says that a job waits for what will not come.
func hopeless() verdict {
	return refuse(Dependent, "a job that it waits for has ended otherwise than it was to")
}

// late says that a job would be done too late.
func late() verdict {
	return refuse(NoRoom, "it does not start early enough to be done by its deadline")
}
