package main_test

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	forest "gridbroker/forecast/managers/daemon"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// revokingTree are a parent and its child, each with authorities of its own place, and whoever looks at them.
type revokingTree struct {
	hostFiles
	looks *http.Client
}

// member starts a manager with a certificate of its own; its authorities are in a file or a directory.
func (r *revokingTree) member(name string, directory bool, more ...string) (url string, own *x509.Certificate) {
	r.t.Helper()
	cert := r.ca.Server(nil)
	dir := filepath.Join(r.v.dir, name)
	file := func(of string) string { return filepath.Join(dir, of) }
	hash := credential.NameHash(r.ca.Cert.RawSubject)
	testbed.WriteFile(r.t, file(hash+".0"), testbed.PEM(r.ca.Cert), 0o644)
	testbed.WriteFile(r.t, file("cert.pem"), testbed.PEM(cert.Leaf), 0o644)
	testbed.WriteFile(r.t, file("key.pem"), testbed.KeyPEM(r.t, cert.PrivateKey.(crypto.Signer)), 0o600)
	authorities := file(hash + ".0")
	if directory {
		authorities = dir
	}
	addr := testbed.FreeAddress(r.t)
	url = "https://" + addr
	r.v.serve(nil, append([]string{"manager", "serve", "--name", url, "--dir", file("m"), "--ca", authorities, "--cert", file("cert.pem"), "--key", file("key.pem"), "--metrics", "", "--beat", "200ms"}, more...)...)
	return url, cert.Leaf
}

// revoke writes the list of a member's authority.
func (r *revokingTree) revoke(name string, serials ...*big.Int) {
	r.t.Helper()
	file := filepath.Join(r.v.dir, name, credential.NameHash(r.ca.Cert.RawSubject)+".r0")
	testbed.WriteFile(r.t, file, r.ca.CRL(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), serials...), 0o644)
}

// linked tells whether a manager has a link to another.
func (r *revokingTree) linked(at, to string) bool {
	resp, err := r.looks.Get(at + "/v1/state")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var s forest.State
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		r.t.Fatal(err)
	}
	for _, row := range s.Rows {
		if row.Neighbour == to {
			return row.Up
		}
	}
	return false
}

// TestManagersReadRevocationLists: a manager whose certificate is revoked loses its link, on the word of the list of either side, and gets none as long
// as it is; no broker is let in with one.
func TestManagersReadRevocationLists(t *testing.T) {
	t.Parallel()
	for _, directory := range []bool{false, true} {
		r := &revokingTree{hostFiles: hostFiles{t, testbed.NewCA(t, "CA", time.Now(), nil), newVictim(t)}}
		user := r.ca.Issue("ann", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
		r.looks = speaker(tls.Certificate{Certificate: [][]byte{user.Cert.Raw}, PrivateKey: user.Key})
		parent, ofParent := r.member("parent", directory)
		child, ofChild := r.member("child", directory, "--parent", parent)
		up := func() bool { return r.linked(parent, child) && r.linked(child, parent) }
		down := func() bool { return !r.linked(parent, child) && !r.linked(child, parent) }
		r.until("the child has no link", up)
		r.revoke("parent", ofChild.SerialNumber)
		r.until("the parent has a link with a child that is revoked", down)
		if directory {
			continue
		}
		r.revoke("parent")
		r.until("the child gets no link when it is revoked no more", up)
		r.revoke("child", ofParent.SerialNumber)
		r.until("the child has a link with a parent that is revoked", down)
		r.revoke("child")
		r.until("the parent is not believed when it is revoked no more", up)
		r.revoke("parent", user.Cert.SerialNumber)
		r.until("a broker that is revoked is let in", func() bool {
			resp, err := speaker(tls.Certificate{Certificate: [][]byte{user.Cert.Raw}, PrivateKey: user.Key}).Post(parent+"/v1/jobs", "application/json", strings.NewReader("[]"))
			if err == nil {
				resp.Body.Close()
			}
			return err != nil
		})
	}
}
