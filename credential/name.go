package credential

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

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

// rdns returns the content of a name: its relative names one after another.
func rdns(name []byte) []byte {
	in := cryptobyte.String(name)
	var body cryptobyte.String
	if !in.ReadASN1(&body, cbasn1.SEQUENCE) {
		return nil
	}
	return body
}

// withoutLastRDN returns the content of a name without its last relative name.
func withoutLastRDN(name []byte) ([]byte, error) {
	all := rdns(name)
	rest := cryptobyte.String(all)
	last := 0
	for !rest.Empty() {
		var one cryptobyte.String
		last = len(all) - len(rest)
		if !rest.ReadASN1Element(&one, cbasn1.SET) {
			return nil, errors.New("malformed name")
		}
	}
	return all[:last], nil
}
