package credential

import (
	"crypto/x509"
	"crypto/x509/pkix"

	"gridbroker/credential/voms"
)

// DN writes a distinguished name (DER of an RDNSequence) in the slash form
// that grid services use for identities: "/DC=org/DC=example/CN=Alice".
func DN(raw []byte) string { return voms.DN(raw) }

func subjectDN(c *x509.Certificate) string { return voms.DN(c.RawSubject) }
func issuerDN(c *x509.Certificate) string  { return voms.DN(c.RawIssuer) }

// lastCN returns the value of the last relative name if it is a single CN.
func lastCN(c *x509.Certificate) (string, bool) {
	var rdns pkix.RDNSequence
	if !unmarshalAll(c.RawSubject, &rdns) || len(rdns) == 0 {
		return "", false
	}
	last := rdns[len(rdns)-1]
	if len(last) != 1 || !last[0].Type.Equal(oidCommonName) {
		return "", false
	}
	s, ok := last[0].Value.(string)
	return s, ok
}
