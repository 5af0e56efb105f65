package credential

import (
	"strings"
	"time"
)

// Suspect says what about the credential is the likely reason that an endpoint
// did not accept it; nil when nothing is to be seen from here. Scope is the
// one the operation needed; "" when none is known.
func Suspect(x *X509, t *Token, endpoint, scope string, now time.Time) *Finding {
	if x != nil {
		for _, f := range x.check(now) {
			if f.Severity != Note && !strings.HasSuffix(f.ID, ".expires-soon") {
				return &f
			}
		}
		if len(x.FQANs()) == 0 {
			return &Finding{ID: "voms.none", Severity: Warning, Subject: x.path, What: "the credential has no VOMS attributes",
				Why: "many sites let in members of virtual organisations only", Mend: "grid auth proxy --voms VO"}
		}
		return nil
	}
	if t == nil {
		return problem("credential.absent", endpoint, "no credential was shown", "", "grid auth proxy, or grid auth login")
	}
	for _, f := range t.check(now) {
		if f.Severity == Problem {
			return &f
		}
	}
	if scope == "" {
		return t.Fits(endpoint)
	}
	return t.Fits(endpoint, scope)
}
