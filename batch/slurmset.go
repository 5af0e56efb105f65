package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Set sets one key of SchedulerParameters (slurm.conf(5)) that the policy
// models. Times are in Slurm's own units.
func (p *Slurm) Set(key, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1<<30 {
		return fmt.Errorf("%s=%s: want KEY=VALUE with a number, 0 or more", key, value)
	}
	times := map[string]struct {
		to   *time.Duration
		unit time.Duration
	}{
		"bf_interval": {&p.Interval, time.Second}, "bf_resolution": {&p.Resolution, time.Second},
		"bf_window": {&p.Window, time.Minute}, "bf_min_age_reserve": {&p.MinAgeReserve, time.Second},
	}
	numbers := map[string]*int{
		"bf_max_job_test": &p.MaxJobTest, "bf_max_job_user": &p.MaxJobUser, "bf_max_job_part": &p.MaxJobPart,
		"bf_max_job_user_part": &p.MaxJobUserPart, "bf_max_job_start": &p.MaxJobStart,
		"bf_job_part_count_reserve": &p.PartCountReserve, "bf_max_job_array_resv": &p.MaxArrayReserve,
	}
	if t, ok := times[key]; ok {
		*t.to = time.Duration(n) * t.unit
	} else if to, ok := numbers[key]; ok {
		*to = n
	} else if key == "bf_min_prio_reserve" {
		p.MinPrioReserve = float64(n)
	} else {
		return fmt.Errorf("parameter %q is not known", key)
	}
	return nil
}

// ofChart sets one key of those that matter to charted passes alone, which a replay does
// not have.
func (p *Slurm) ofChart(key, value string) bool {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil || n < 0 || n > 1<<30:
		return false
	case key == "bf_node_space_size" && n < 2: // Slurm takes its default
	case key == "bf_node_space_size":
		p.NodeSpace = n
	case key == "bf_window_linear":
		p.WindowLinear = time.Duration(n) * time.Second
	default:
		return false
	}
	return true
}

// noDecision are keys of SchedulerParameters that decide how long scheduling
// takes Slurm, or what users may do, but not which job starts next and where.
// The policy takes no time, and acts at each event.
func noDecision() []string {
	return []string{
		"allow_zero_lic", "batch_sched_delay", "bb_array_stage_cnt", "bf_continue", "bf_max_time", "bf_yield_interval",
		"bf_yield_rpc_cnt", "bf_yield_sleep", "build_queue_timeout", "default_queue_depth", "defer_batch", "delay_boot", "disable_hetjob_steps",
		"disable_job_shrink", "enable_hetjob_steps", "enable_job_state_cache", "enable_user_top", "ignore_prefer_validation", "max_array_tasks",
		"max_rpc_cnt", "max_sched_time", "max_script_size", "max_submit_line_size", "no_backup_scheduling", "no_env_cache", "nohold_on_prolog_fail",
		"requeue_setup_env_fail", "salloc_wait_nodes", "sbatch_wait_nodes", "sched_interval", "sched_min_interval", "step_retry_count", "step_retry_time",
	}
}

// Parameters takes in the whole of SchedulerParameters, as "scontrol show
// config" prints it. It lists, sorted, what decides starts there and is not
// modelled, or is no number where one is wanted; all else it knows.
func (p *Slurm) Parameters(text string) (unmodelled []string) {
	if text == "(null)" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		if key == "preempt_youngest_first" {
			p.Preemption.YoungestFirst = true
			continue
		}
		if key == "" || slices.Contains(noDecision(), strings.ToLower(key)) || p.Set(key, value) == nil || p.ofChart(key, value) {
			continue
		}
		unmodelled = append(unmodelled, strings.TrimSpace(word))
	}
	slices.Sort(unmodelled)
	return unmodelled
}
