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

// holdFaults say whose fault a held job is, by HoldReasonCode. The site's are
// its policies (26, 27, 34: more memory or disk than the job got) and its
// machinery.
var holdFaults = map[int64]plugins.Fault{
	3: plugins.JobsFault, 5: plugins.JobsFault, 6: plugins.JobsFault, 14: plugins.JobsFault, 35: plugins.JobsFault, 45: plugins.JobsFault,
	holdDuration: plugins.JobsFault, holdExecute: plugins.JobsFault,
	7: plugins.JobsFault, 9: plugins.JobsFault, 12: plugins.JobsFault, 33: plugins.JobsFault,
	8: plugins.JobsFault, 10: plugins.JobsFault, 13: plugins.JobsFault, 32: plugins.JobsFault,
	26: plugins.SitesFault, 27: plugins.SitesFault, 34: plugins.SitesFault,
	4: plugins.CredentialsFault, 23: plugins.CredentialsFault,
	11: plugins.SitesFault, 17: plugins.SitesFault, 18: plugins.SitesFault, 19: plugins.SitesFault, 21: plugins.SitesFault,
	22: plugins.SitesFault, 24: plugins.SitesFault, 36: plugins.SitesFault, 48: plugins.SitesFault,
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
func faultOf(code, errno int64, reason string) plugins.Fault {
	if code == 6 && errno != 2 && errno != 13 && errno != 8 { // ENOENT, EACCES, ENOEXEC
		return plugins.SitesFault
	}
	if f, ok := holdFaults[code]; ok {
		return f
	}
	for _, word := range []string{"proxy", "credential", "token"} {
		if strings.Contains(strings.ToLower(reason), word) {
			return plugins.CredentialsFault
		}
	}
	return plugins.SitesFault
}
