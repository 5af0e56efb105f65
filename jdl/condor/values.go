package condor

import (
	"errors"
	"math"
	"strings"

	"gridbroker/jdl/classad"
)

// kind is what condor_submit wants the value of a command to be.
type kind int

const (
	anything   kind = iota
	expression      // of ClassAds, whatever it refers to
	truth           // an expression that is true, false or a number by itself
	whole           // one that is a number or true or false by itself; a fraction is cut off
)

// kindOf is the kind of a command's value, as condor_submit 23.9 judges it.
func kindOf(name string) kind {
	switch name {
	case "requirements", "rank", "preferences", "leave_in_queue", "keep_claim_idle", "noop_job", "next_job_start_delay", "concurrency_limits_expr",
		"periodic_remove", "periodic_hold", "periodic_hold_reason", "periodic_hold_subcode", "periodic_release", "periodic_vacate",
		"on_exit_hold", "on_exit_hold_reason", "on_exit_hold_subcode", "on_exit_remove", "retry_until", "job_max_vacate_time",
		"allowed_job_duration", "allowed_execute_duration", "max_transfer_input_mb", "max_transfer_output_mb":
		return expression
	case "hold", "nice_user", "stream_input", "stream_output", "stream_error", "transfer_input", "transfer_output", "transfer_error",
		"transfer_container", "copy_to_spool", "use_x509userproxy", "preserve_relative_paths", "log_xml", "skip_filechecks",
		"load_profile", "run_as_owner", "manifest", "encrypt_execute_directory", "erase_output_and_error_on_restart":
		return truth
	case "priority", "prio", "max_retries", "success_exit_code", "max_idle", "max_materialize", "coresize", "core_size", "job_machine_attrs_history_length":
		return whole
	}
	if strings.HasPrefix(name, "+") {
		return expression
	}
	return anything
}

// fault says why condor_submit does not take a value of a kind; "" where it does.
func (k kind) fault(value string) string {
	if k == anything || value == "" {
		return ""
	}
	e, err := classad.ParseExpr("", []byte(value))
	switch {
	case err != nil && strings.Contains(value, `\`): // which it reads in another way
		return ""
	case err != nil && noteBehind(value) != "":
		return value + " is no expression: " + noteBehind(value)
	case err != nil:
		return value + " is no expression" + because(err)
	case k == expression:
		return ""
	}
	v := classad.NewAd().Eval(e, nil)
	if _, ok := v.Bool(); ok {
		return ""
	}
	if _, ok := v.Number(); ok {
		return ""
	}
	if k == truth {
		return value + " is neither true nor false"
	}
	return value + " is no number"
}

// because is what a reader of expressions says is wrong.
func because(err error) string {
	var d *classad.Diagnostic
	if !errors.As(err, &d) {
		return ""
	}
	return ": " + d.Msg
}

// wholeNumber is the number that condor_submit makes of a value of its kind; 0 of others.
func wholeNumber(value string) int64 {
	e, err := classad.ParseExpr("", []byte(value))
	if err != nil {
		return 0
	}
	v := classad.NewAd().Eval(e, nil)
	if yes, truth := v.Bool(); yes && truth {
		return 1
	}
	n, _ := v.Number()
	return int64(min(max(math.Trunc(n), -1), 1<<40))
}

// refused says of a command whose value condor_submit would not take; it judges equal ones of several jobs once.
func refused(r *reader, c command) bool {
	k := kindOf(c.name)
	if k == anything {
		return false
	}
	value := r.get(c.name)
	if key := c.name + "=" + value; !r.checked[key] {
		r.checked[key] = true
		if why := k.fault(value); why != "" {
			r.fail(c.pos, "%s: %s", c.name, why)
		}
	}
	return r.err != nil
}
