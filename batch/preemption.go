package batch

import (
	"fmt"
	"slices"
	"time"
)

// Preemption says which running jobs give way to one that waits, under the policy
// slurm.
type Preemption struct {
	// Type is PreemptType: "" (preempt/none), "partition_prio" (to jobs of a queue of
	// greater Priority) or "qos" (to jobs of a QOS that names theirs).
	Type string
	// ExemptTime is PreemptExemptTime: how long a job must have run to give way.
	ExemptTime time.Duration
	// YoungestFirst is preempt_youngest_first of SchedulerParameters: who started last
	// gives way first, not who is of the lowest queue and has the fewest nodes.
	YoungestFirst bool
	// QOS are the rules of each QOS by name, where Type is "qos".
	QOS map[string]PreemptQOS
}

// PreemptQOS is how jobs of a QOS take and give way.
type PreemptQOS struct {
	Priority  int
	Over      []string // QOS whose jobs give way to those of this one
	Mode      PreemptMode
	GraceTime time.Duration
}

// PreemptMode is what becomes of a job that gives way; "": it does not.
type PreemptMode string

// The modes that are modelled.
const (
	PreemptRequeue PreemptMode = "REQUEUE" // it waits again, and runs from its beginning
	PreemptCancel  PreemptMode = "CANCEL"
	PreemptSuspend PreemptMode = "SUSPEND" // it stays on its nodes and goes on there; where Type is "partition_prio"
)

func (p *Preemption) check() error {
	if p.Type != "" && p.Type != "partition_prio" && p.Type != "qos" {
		return fmt.Errorf("PreemptType %q: want partition_prio or qos", p.Type)
	}
	if p.ExemptTime < 0 {
		return fmt.Errorf("PreemptExemptTime %s: want 0 or more", p.ExemptTime)
	}
	return nil
}

// standing is how jobs of a queue and a QOS take and give way.
type standing struct {
	rank  int // of those that give way the least goes first
	qos   string
	over  []string // nil: by rank
	mode  PreemptMode
	grace int64
}

// standings are those of a cluster, by queue and QOS.
type standings map[[2]string]*standing

// of is the standing of a job; nil: nobody gives way.
func (known standings) of(rules *Policy, j *Job, q *Queue) *standing {
	p := &rules.Slurm.Preemption
	if rules.Name != "slurm" || p.Type == "" {
		return nil
	}
	key := [2]string{q.Name, ""}
	s := standing{rank: q.Priority, mode: q.PreemptMode, grace: int64(q.GraceTime / time.Second)}
	if p.Type == "qos" {
		r := p.QOS[j.QOS]
		key = [2]string{"", j.QOS}
		s = standing{r.Priority, j.QOS, append([]string{}, r.Over...), r.Mode, int64(r.GraceTime / time.Second)}
	}
	if known[key] == nil {
		known[key] = &s
	}
	return known[key]
}

// outranks tells whether jobs of another standing give way to one of this.
func (s *standing) outranks(o *standing) bool {
	switch {
	case s == nil || o == nil || o.mode == "":
		return false
	case s.over != nil:
		return s.qos != o.qos && slices.Contains(s.over, o.qos)
	}
	return s.rank > o.rank
}
