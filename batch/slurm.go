package batch

import (
	"fmt"
	"time"
)

// Slurm holds the parameters that decide in which order and when Slurm starts
// jobs, by the names and with the defaults of slurm.conf(5). The zero value is
// a Slurm of defaults whose priorities are those that the jobs say themselves.
//
// A reader fills it from "scontrol show config": SchedulerType, the keys of
// SchedulerParameters (one string of key=value, an absent key means its
// default), PriorityType, PriorityWeight*, PriorityMaxAge, PriorityFavorSmall;
// the factors of users from "sshare", those of QOS from "sacctmgr show qos".
// Queues say the rest: PriorityTier is Queue.Priority, PriorityJobFactor
// divided by the greatest of all queues Queue.Factor, MaxTime MaxWallTime.
type Slurm struct {
	// Builtin: SchedulerType=sched/builtin, no backfill at all.
	Builtin bool
	// Interval is bf_interval (default 30 s): between two passes of backfill.
	Interval time.Duration
	// Window is bf_window (default 1440 min): how far ahead places are looked for.
	Window time.Duration
	// Resolution is bf_resolution (default 60 s): places last a multiple of it.
	Resolution time.Duration
	// WindowLinear is bf_window_linear (default 0: each twice as far): by how much farther
	// each group of ends reaches behind which a start is looked for.
	WindowLinear time.Duration
	// Recent: backfill does as that of Slurm 24.11, and not as that of 22.05. The ends of
	// places are rounded up to a step of bf_resolution (22.05 rounds them down); no more jobs
	// of an array get places than its limit lets run beside those that do (22.05 gives places
	// to the others as well); and a place is looked for from a time on as if all that ends
	// before had ended (22.05 goes by groups of ends from now on).
	Recent bool
	// MaxJobTest is bf_max_job_test (default 500): jobs tried in a pass. Those that it passes
	// over for their user or partition do not count.
	MaxJobTest int
	// NodeSpace is bf_node_space_size (default bf_max_job_test): a pass is over at the first
	// job that would be given a place once the table of places has so many records. It has
	// one, and one more for each begin and each end of a place, where none is yet.
	NodeSpace int
	// MaxJobUser is bf_max_job_user (default 0, no limit): of one user.
	MaxJobUser int
	// MaxJobPart is bf_max_job_part (default 0, no limit): of one partition.
	MaxJobPart int
	// MaxJobUserPart is bf_max_job_user_part (default 0, no limit): of one user in one partition.
	MaxJobUserPart int
	// MaxJobStart is bf_max_job_start (default 0, no limit): jobs started in a pass.
	MaxJobStart int
	// MinAgeReserve is bf_min_age_reserve (default 0): younger jobs start where they
	// fit now, and are given no place in the future.
	MinAgeReserve time.Duration
	// MinPrioReserve is bf_min_prio_reserve (default 0): the same for jobs of less priority.
	MinPrioReserve float64
	// PartCountReserve is bf_job_part_count_reserve (default 0, no limit): the same
	// for all but so many jobs of a partition.
	PartCountReserve int
	// MaxArrayReserve is bf_max_job_array_resv (default 20): jobs of one array that
	// are given places in the future.
	MaxArrayReserve int
	// KillInvalid is kill_invalid_depend of DependencyParameters: a job that waits for what will
	// not come any more is cancelled, so that who waits for its end starts.
	KillInvalid bool
	// Preemption is PreemptType and what belongs to it.
	Preemption Preemption
	// Multifactor is PriorityType=priority/multifactor.
	Multifactor Multifactor
	fine        bool // no pass is charted: for tests
}

// Multifactor are the weights of Slurm's multifactor priority
// (PriorityWeight...). The priority of a job is the sum of each weight times a
// factor from 0 to 1. Where a Job has a Priority, that is what Slurm itself has
// worked out by the time of the State, and only age is added as time goes by.
type Multifactor struct {
	Age, FairShare, JobSize, Partition, QOS float64
	// MaxAge is PriorityMaxAge (default 7 days): of greatest age factor.
	MaxAge time.Duration
	// FavorSmall is PriorityFavorSmall: the job size factor is 1 for one processor.
	FavorSmall bool
	// AccrueAlways is ACCRUE_ALWAYS of PriorityFlags: age counts from the submission on, and
	// not from when a job need not wait for its begin or for others any more.
	AccrueAlways bool
	// Shares are the fair-share factors of users, QOSFactors those of QOS
	// names, from 0 to 1. Whoever is not in them has 0.
	Shares, QOSFactors map[string]float64
}

// Defaults fills in what is not set.
func (p Slurm) Defaults() Slurm {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&p.Interval, 30*time.Second)
	set(&p.Window, 24*time.Hour)
	set(&p.Resolution, time.Minute)
	set(&p.Multifactor.MaxAge, 7*24*time.Hour)
	if p.MaxJobTest == 0 {
		p.MaxJobTest = 500
	}
	if p.NodeSpace == 0 {
		p.NodeSpace = p.MaxJobTest
	}
	if p.MaxArrayReserve == 0 {
		p.MaxArrayReserve = 20
	}
	return p
}

func (p Slurm) check() error {
	for _, c := range []struct {
		name  string
		value time.Duration
	}{
		{"bf_interval", p.Interval}, {"bf_window", p.Window}, {"bf_resolution", p.Resolution}, {"bf_window_linear", p.WindowLinear}, {"bf_min_age_reserve", p.MinAgeReserve}, {"PriorityMaxAge", p.Multifactor.MaxAge},
	} {
		if c.value < 0 || c.value > 0 && c.value < time.Second {
			return fmt.Errorf("%s %s: want a second or more", c.name, c.value)
		}
	}
	for _, c := range []struct {
		name  string
		value int
	}{
		{"bf_max_job_test", p.MaxJobTest}, {"bf_node_space_size", p.NodeSpace}, {"bf_max_job_user", p.MaxJobUser}, {"bf_max_job_part", p.MaxJobPart},
		{"bf_max_job_user_part", p.MaxJobUserPart}, {"bf_max_job_start", p.MaxJobStart},
		{"bf_job_part_count_reserve", p.PartCountReserve}, {"bf_max_job_array_resv", p.MaxArrayReserve},
	} {
		if c.value < 0 {
			return fmt.Errorf("%s %d: want 0 or more", c.name, c.value)
		}
	}
	return p.Preemption.check()
}

// static is a job's multifactor priority without its age: of a job that says
// its priority, that less what its age, counted from a time on, is worth now.
func (f *Multifactor) static(j *Job, q *Queue, procs int, since, now int64) float64 {
	if j.Priority != 0 {
		return j.Priority - f.age(since, now)
	}
	size := float64(max(1, j.Procs)) / float64(max(1, procs))
	if f.FavorSmall {
		size = 1 - size
	}
	return f.FairShare*f.Shares[j.User] + f.JobSize*size + f.Partition*q.Factor + f.QOS*f.QOSFactors[j.QOS]
}

// age is what a job's age is worth at a time.
func (f *Multifactor) age(since, now int64) float64 {
	most := max(1, int64(f.MaxAge/time.Second))
	return f.Age * float64(min(max(0, now-since), most)) / float64(most)
}
