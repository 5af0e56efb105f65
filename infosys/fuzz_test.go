package infosys

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// A file of whatever kind, packed or not: it is read or refused, and what is made of it is whole.
func FuzzFile(f *testing.F) {
	f.Add([]byte("dn: GlueCEUniqueID=a,o=grid\nobjectClass: GlueCE\nGlueCEUniqueID: a:8443/x-y-z\n"))
	f.Add([]byte(`{"schema":"grid.snapshot/v1","taken":"2026-01-01T00:00:00Z","resources":[{"ID":"a"}]}`))
	f.Add([]byte(`<InfoRoot><Domains><AdminDomain><Services><ComputingService/></Services></AdminDomain></Domains></InfoRoot>`))
	f.Add([]byte(`{"Domains":{"AdminDomain":{"Services":{"ComputingService":[{}]}}}}`))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"))
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		list, err := (&File{URL: "file:f", Path: name}).Resources(ctx)
		if ctx.Err() != nil {
			t.Errorf("%v after ten seconds", err)
		}
		for i := range list {
			_, _ = list[i].Lookup("GlueCEUniqueID")
			if _, err := json.Marshal(&list[i]); err != nil {
				t.Errorf("no snapshot can be made of %+v: %v", list[i], err)
			}
		}
	})
}
