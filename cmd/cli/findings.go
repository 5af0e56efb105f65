package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"gridbroker/credential"
	"gridbroker/infosys"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// findingOf is what about certificates or credentials made err happen at an
// endpoint, by the ids of "auth doctor"; nil when it was something else.
func findingOf(d *deps, endpoint string, err error) *credential.Finding {
	set, _ := credentialSet(d) // what is wrong with it is among its findings
	if f := set.Explain(endpoint, err); f != nil {
		return f
	}
	e, ok := errors.AsType[*plugins.Error](err)
	if !ok || e.Kind != plugins.Credential || errors.Is(err, plugins.ErrNoRight) || set == nil {
		return nil
	}
	if saysWhatHelps(err) {
		return &credential.Finding{ID: "credential.absent", Severity: credential.Problem, Subject: endpoint, What: e.Said, Mend: e.Hint}
	}
	f := &credential.Finding{ID: "credential.absent", Severity: credential.Problem, Subject: endpoint, What: "there is nothing to be let in with", Mend: "grid auth proxy, or grid auth login"}
	switch {
	case set.X509 != nil:
		f.ID, f.What, f.Mend = "endpoint.x509-refused", "it does not let the X.509 credential in", "ask the site to let in "+set.X509.Identity()
	case set.Token != nil:
		f.ID, f.What, f.Mend = "endpoint.token-refused", "it does not let the bearer token in", askWhether(set.Token.Issuer())
	default: // what is there cannot be used
		return cmp.Or(set.Finding("token"), set.Finding("x509"), f)
	}
	return f
}

// askWhether says what to ask of a token that was not taken: an opaque one names no issuer.
func askWhether(issuer string) string {
	if issuer == "" {
		return "ask the site whether it knows this token"
	}
	return "ask the site whether it takes tokens of " + issuer
}

// unshown is what is wrong with the credentials that were not shown to a service because
// none of them can be used; nil where one was shown, or there is none.
func unshown(d *deps) *credential.Finding {
	set, _ := credentialSet(d) // what is wrong with it is among its findings
	if set == nil || set.X509 != nil || set.Token != nil {
		return nil
	}
	return cmp.Or(set.Finding("token"), set.Finding("x509"))
}

// pointed is a failure with the finding that explains it.
type pointed struct {
	error
	finding *credential.Finding
}

// Error names the id and what to do. An error that has a finding in its chain
// has done so.
func (p *pointed) Error() string {
	text := p.error.Error()
	if _, told := errors.AsType[*credential.Finding](p.error); told {
		return text
	}
	if saysWhatHelps(p.error) {
		return text
	}
	return fmt.Sprintf("%s; %s [%s], mend: %s", text, p.finding.What, p.finding.ID, p.finding.Mend)
}

// saysWhatHelps is whether a back-end's error tells what to do by itself, as it does of keys for SSH: no certificate or
// token was to be shown.
func saysWhatHelps(err error) bool { return errors.Is(err, plugins.ErrKeys) }

func (p *pointed) Unwrap() []error { return []error{p.error, p.finding} }

// jobError is what went wrong with a job, with the finding it points to.
func jobError(d *deps, r *jobs.Outcome) error {
	if r.Err == context.Canceled {
		return nil // the command's own error says it of all
	}
	return explained(d, r.Err)
}

// explained is a back-end's error, with the finding it points to.
func explained(d *deps, err error) error {
	e, ok := errors.AsType[*plugins.Error](err)
	if !ok {
		return err
	}
	if f := findingOf(d, e.Endpoint, err); f != nil {
		return &pointed{err, f}
	}
	return err
}

// locked reports the finding when every source refused our credential, or was
// not believed: then it is not that nothing matches.
func locked(d *deps, s infosys.Snapshot) *credential.Finding {
	var first *credential.Finding
	if len(s.Resources) > 0 || len(s.Outcomes) == 0 {
		return nil
	}
	for _, o := range s.Outcomes {
		f := sourceFinding(d, o)
		if f == nil {
			return nil
		}
		if first == nil {
			first = f
		}
	}
	return first
}

func sourceFinding(d *deps, o infosys.Outcome) *credential.Finding {
	if o.Err == nil {
		return nil
	}
	return findingOf(d, o.Source, o.Err)
}
