package infosys

import (
	"bytes"
	"testing"

	"gridbroker/glue"

	"github.com/go-ldap/ldap/v3"
)

func FuzzLDAPStream(f *testing.F) {
	f.Add(ldapMessage(1, ceEntry("a")))
	f.Add(ldapMessage(1, ldapResult(ldap.ApplicationSearchResultDone, 4, "limit"), ldap.NewControlPaging(10).Encode()))
	f.Add(append(ldapMessage(1, ceEntry("a")), ldapMessage(0, ldapResult(ldap.ApplicationExtendedResponse, 52, "bye"))...))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := berStream{r: bytes.NewReader(text), buf: make([]byte, 16), maxMessage: 1 << 16, messages: 1 << 10, left: 1 << 20}
		d := glue.NewDecoder("fuzz", "GlueCECapability")
		var e glue.Entry
		for {
			raw, err := s.next()
			if err != nil {
				break
			}
			m, err := parseMessage(raw)
			if err != nil {
				continue
			}
			pagingCookie(m.controls)
			_, _ = parseResult(m.body)
			if parseEntry(m.body, &e) == nil {
				d.Add(&e)
			}
		}
	})
}
