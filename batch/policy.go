package batch

import (
	"fmt"
	"slices"
	"strings"
)

// policy decides which waiting jobs start. It is told of every event after
// the machine has taken it in, and calls Machine.begin.
type policy interface {
	// enter puts a job in the queue; decide follows.
	enter(m *Machine, id int32)
	decide(m *Machine)
	// left tells of a waiting job that is cancelled; decide follows.
	left(m *Machine, id int32)
	// priority is a job's at a time.
	priority(j *job, now int64) float64
	// ending tells that a job is about to end before its limit, and ended that one has, whose limit is until: who waited
	// for it may start in its place. freed follows.
	ending(m *Machine, id int32)
	ended(m *Machine, id int32, until int64)
	// freed tells that what a job had came free in [from, to).
	freed(m *Machine, from, to int64, j *job)
	// refilled tells that there is more of what jobs share (see Cap) than before; wake follows.
	refilled(m *Machine)
	// halted tells the policy that a job which runs is suspended while others have its nodes (see Job.Paused), and what it has had
	// of them; false: the policy suspends nobody, and the job runs on. resume lets those go on for whom there is room.
	halted(m *Machine, id int32, had []share) bool
	resume(m *Machine)
	// aged has the jobs that wait be of the priorities that they have in a picture of this moment; false: these do not change.
	aged(m *Machine, priority func(*job) float64) bool
	// pictured tells whether more than the events tell decides what starts: how a picture lists what runs, or who has waited before.
	pictured(m *Machine) bool
	// foretells tells the policy of a copy of a machine that it is run forward, in which jobs run as believed, and endless that in
	// it the same jobs start again and again.
	foretells(m *Machine, b Belief)
	endless()
	// next is the instant at which wake wants to be called, or never.
	next(m *Machine) int64
	wake(m *Machine)
	// lead tells a policy that has only kept the queue, because others
	// decided what starts, that it decides from now on; decide follows.
	lead(m *Machine)
	// clone copies the policy, into the memory of an older copy unless nil.
	clone(into policy) policy
}

// steady is the part of a policy to which a job's priority is what it was at first, which learns of ends by what came free,
// does not look at what jobs share, has nobody stop who runs, and does the same in forecasts as elsewhere.
type steady struct{}

func (steady) priority(j *job, _ int64) float64       { return j.Priority }
func (steady) ending(*Machine, int32)                 {}
func (steady) ended(*Machine, int32, int64)           {}
func (steady) refilled(*Machine)                      {}
func (steady) halted(*Machine, int32, []share) bool   { return false }
func (steady) resume(*Machine)                        {}
func (steady) aged(*Machine, func(*job) float64) bool { return false }
func (steady) pictured(*Machine) bool                 { return false }
func (steady) foretells(*Machine, Belief)             {}
func (steady) endless()                               {}

// Policy names a scheduling policy and its parameters. The zero value of
// each parameter is Maui's default.
type Policy struct {
	Name  string // fcfs, easy, conservative, easy-sjbf, maui or slurm
	Maui  Maui   // parameters of the policy maui
	Slurm Slurm  // parameters of the policy slurm
}

// PolicyNames lists the policies.
func PolicyNames() []string {
	return []string{"fcfs", "easy", "conservative", "easy-sjbf", "maui", "slurm"}
}

// Check finds unknown names and impossible parameters.
func (p Policy) Check() error {
	if !slices.Contains(PolicyNames(), p.Name) {
		return fmt.Errorf("policy %q: want one of %s", p.Name, strings.Join(PolicyNames(), ", "))
	}
	if err := p.Slurm.check(); err != nil {
		return err
	}
	return p.Maui.check()
}

func (p Policy) build() policy {
	switch p.Name {
	case "conservative":
		return &conservative{}
	case "fcfs":
		return newBackfill(Maui{Backfill: "NONE"}, false)
	case "easy":
		return newBackfill(Maui{}, false)
	case "slurm":
		return newSlurm(p.Slurm)
	case "easy-sjbf":
		return newBackfill(Maui{}, true)
	}
	return newBackfill(p.Maui, false)
}
