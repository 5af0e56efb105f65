package htcondor

import (
	"fmt"
	"strings"

	"gridbroker/plugins"
)

// Codes of HTCondor's job attribute HoldReasonCode (HTCondor manual, Job
// ClassAd Attributes, HoldReasonCode) that wait for somebody or something.
const (
	holdByUser   = 1
	holdAtSubmit = 15
	holdSpooling = 16
	holdDuration = 46
	holdExecute  = 47
)

// holdFaults say whose fault a held job is, by HoldReasonCode: Invalid the
// job's own, Refused the site's policy, Unavailable the site's machinery,
// Credential the user's standing.
var holdFaults = map[int64]plugins.Kind{
	3: plugins.Invalid, 5: plugins.Invalid, 6: plugins.Invalid, 14: plugins.Invalid, 35: plugins.Invalid, 45: plugins.Invalid,
	holdDuration: plugins.Invalid, holdExecute: plugins.Invalid,
	7: plugins.Invalid, 9: plugins.Invalid, 12: plugins.Invalid, 33: plugins.Invalid,
	8: plugins.Invalid, 10: plugins.Invalid, 13: plugins.Invalid, 32: plugins.Invalid,
	26: plugins.Refused, 27: plugins.Refused, 34: plugins.Refused,
	4: plugins.Credential, 23: plugins.Credential,
	11: plugins.Unavailable, 17: plugins.Unavailable, 18: plugins.Unavailable, 19: plugins.Unavailable, 21: plugins.Unavailable,
	22: plugins.Unavailable, 24: plugins.Unavailable, 36: plugins.Unavailable, 48: plugins.Unavailable,
}

// held judges a held job: one that waits for its input or for a person goes
// on, all others have failed.
func held(st *plugins.Status, job ad) {
	code, sub, reason := job.integer("HoldReasonCode"), job.integer("HoldReasonSubCode"), job.text("HoldReason")
	st.Native = fmt.Sprintf("HELD %d/%d", code, sub)
	switch code {
	case holdSpooling:
		st.State, st.Reason = plugins.Preparing, reason
		return
	case holdByUser, holdAtSubmit:
		st.State, st.Reason = plugins.Held, reason
		return
	case holdDuration, holdExecute:
		reason = "the wall time was used up: " + reason
	}
	failed(st, job, faultOf(code, sub, reason), reason)
}

// faultOf finds the fault. Of code 6 (could not be executed) only a missing or
// forbidden program is the job's; code 0 exists, and its text is all there is.
func faultOf(code, errno int64, reason string) plugins.Kind {
	if code == 6 && errno != 2 && errno != 13 && errno != 8 { // ENOENT, EACCES, ENOEXEC
		return plugins.Unavailable
	}
	if f, ok := holdFaults[code]; ok {
		return f
	}
	for _, word := range []string{"proxy", "credential", "token"} {
		if strings.Contains(strings.ToLower(reason), word) {
			return plugins.Credential
		}
	}
	return plugins.Unavailable
}
