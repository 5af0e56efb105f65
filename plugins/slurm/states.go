package slurm

import (
	"strings"

	"gridbroker/plugins"
)

// states maps every job state of Slurm 20.02 to 25.05 (squeue(1) and sacct(1),
// JOB STATE CODES; slurm.h job_states and JOB_STATE_FLAGS).
var states = map[string]plugins.State{
	"PENDING":       plugins.Queued,
	"REQUEUED":      plugins.Queued,
	"REQUEUE_FED":   plugins.Queued,
	"EXPEDITING":    plugins.Queued,
	"REQUEUE_HOLD":  plugins.Held,
	"RESV_DEL_HOLD": plugins.Held,
	"SPECIAL_EXIT":  plugins.Held,
	"CONFIGURING":   plugins.Preparing,
	"POWER_UP_NODE": plugins.Preparing,
	"RUNNING":       plugins.Running,
	"RESIZING":      plugins.Running,
	"SIGNALING":     plugins.Running,
	"STOPPED":       plugins.Running,
	"SUSPENDED":     plugins.Running,
	"UPDATE_DB":     plugins.Running,
	"COMPLETING":    plugins.Finishing,
	"STAGE_OUT":     plugins.Finishing,
	"COMPLETED":     plugins.Done,
	"CANCELLED":     plugins.Cancelled,
	"REVOKED":       plugins.Cancelled,
	"BOOT_FAIL":     plugins.Failed,
	"DEADLINE":      plugins.Failed,
	"FAILED":        plugins.Failed,
	"LAUNCH_FAILED": plugins.Failed,
	"NODE_FAIL":     plugins.Failed,
	"OUT_OF_MEMORY": plugins.Failed,
	"PREEMPTED":     plugins.Failed,
	"RECONFIG_FAIL": plugins.Failed,
	"TIMEOUT":       plugins.Failed,
}

// heldReasons are the reasons of a pending job that only a person can end, as scontrol writes them; squeue has blanks
// for their lines.
var heldReasons = map[string]bool{
	"JobHeldUser": true, "JobHeldAdmin": true, "JobHoldMaxRequeue": true, "job_requeued_in_held_state": true, "job_requeued_in_special_exit_state": true,
	"launch_failed_requeued_held": true, "user_env_retrieval_failed_requeued_held": true, "ReservationDeleted": true,
}

// holds tells whether a reason is one that only a person can end.
func holds(reason string) bool { return heldReasons[strings.ReplaceAll(reason, " ", "_")] }

// faultOf says whose a failure with a state word is: its own limits are the
// job's, nodes and the batch system are the site's.
func faultOf(word string) plugins.Fault {
	word, _, _ = strings.Cut(word, " ")
	switch strings.TrimSuffix(word, "+") {
	case "TIMEOUT", "OUT_OF_MEMORY", "DEADLINE":
		return plugins.JobsFault
	case "BOOT_FAIL", "LAUNCH_FAILED", "NODE_FAIL", "PREEMPTED", "RECONFIG_FAIL":
		return plugins.SitesFault
	}
	return ""
}

// whyOf says what a state word of a failure means; "": it says nothing by itself.
func whyOf(word string) string {
	word, _, _ = strings.Cut(word, " ")
	switch strings.TrimSuffix(word, "+") {
	case "TIMEOUT":
		return "the wall time was used up"
	case "OUT_OF_MEMORY":
		return "it used more memory than it was given"
	case "DEADLINE":
		return "its deadline passed"
	case "PREEMPTED":
		return "it had to give way to other jobs"
	case "NODE_FAIL":
		return "its node failed"
	case "BOOT_FAIL":
		return "its node did not boot"
	}
	return ""
}

// stateOf reads a state word: sacct writes "CANCELLED by 1000", and a word cut
// by the column's width ends in "+". An unknown word is Unknown, never a verdict.
func stateOf(word, reason string) plugins.State {
	word, _, _ = strings.Cut(word, " ")
	s, ok := states[strings.TrimSuffix(word, "+")]
	switch {
	case !ok:
		return plugins.Unknown
	case s == plugins.Queued && holds(reason):
		return plugins.Held
	}
	return s
}
