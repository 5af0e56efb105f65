package credential

import (
	"crypto/tls"
	"fmt"
	"strings"

	"gridbroker/foreign"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	OK      Severity = "ok"      // looked at, nothing wrong
	Note    Severity = "note"    // worth knowing
	Warning Severity = "warning" // works now, will not for long or not everywhere
	Problem Severity = "problem" // does not work
)

// Finding is one thing found out about a credential. Its ID is stable: other
// programs and documentation may refer to it. A Finding of severity Problem is
// an error.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject,omitempty"` // file, host or name it is about
	What     string   `json:"what"`
	Why      string   `json:"why,omitempty"`
	Mend     string   `json:"mend,omitempty"` // what to do, a command where there is one
	cause    error
	alert    tls.AlertError // with which a server refused our certificate; 0: none
}

// Refused tells whether a server said by a TLS alert that it does not take our
// certificate, or wants one.
func (f *Finding) Refused() bool { return f.alert != 0 }

// Error implements error: "subject: what: why [id] (mend)".
func (f *Finding) Error() string {
	var b strings.Builder
	if f.Subject != "" {
		b.WriteString(foreign.Text(f.Subject) + ": ")
	}
	b.WriteString(foreign.Text(f.What))
	if f.Why != "" {
		b.WriteString(": " + foreign.Message(f.Why))
	}
	fmt.Fprintf(&b, " [%s]", f.ID)
	if f.Mend != "" {
		b.WriteString(" (" + f.Mend + ")")
	}
	return b.String()
}

// Unwrap returns the error below, if there is one.
func (f *Finding) Unwrap() error { return f.cause }

// problem makes a Finding that is an error.
func problem(id, subject, what, why, mend string) *Finding {
	return &Finding{ID: id, Severity: Problem, Subject: subject, What: what, Why: why, Mend: mend}
}

// because records the cause and takes its text as the reason.
func (f *Finding) because(err error) *Finding {
	f.cause = err
	if f.Why == "" && err != nil {
		f.Why = err.Error()
	}
	return f
}

// Worst returns the most severe severity among the findings; OK for none.
func Worst(fs []Finding) Severity {
	rank := map[Severity]int{OK: 0, Note: 1, Warning: 2, Problem: 3}
	worst := OK
	for _, f := range fs {
		if rank[f.Severity] > rank[worst] {
			worst = f.Severity
		}
	}
	return worst
}
