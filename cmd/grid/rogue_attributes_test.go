package main_test

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/voms"
	"gridbroker/testdata/testbed"
)

// TestWhoSpeaksForAVO: a scheduler takes somebody for a member of a VO by the lists of servers in the vomsdir that the environment
// names, and not by such lists in the directory that it was started in.
func TestWhoSpeaksForAVO(t *testing.T) {
	dir := t.TempDir()
	ca := testbed.NewCA(t, "CA", time.Now(), nil)
	ca.Install(filepath.Join(dir, "cas"), credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=CA")
	own := ca.Server(nil)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	testbed.WriteFile(t, cert, testbed.PEM(own.Leaf, ca.Cert), 0o644)
	testbed.WriteFile(t, key, testbed.KeyPEM(t, own.PrivateKey.(crypto.Signer)), 0o600)
	id, server := ca.Issue("Alice", nil), ca.Issue("voms.example.org", nil)
	ac := testbed.AC{Holder: id.Cert, Issuer: server.Cert, Key: server.Key, VO: "a", Host: "voms.example.org:15000", FQANs: []string{"/a"},
		From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour), Chain: []*x509.Certificate{server.Cert}}
	alice, err := credential.ParseX509("Alice", append(testbed.PEM(id.Cert), testbed.KeyPEM(t, id.Key)...))
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := alice.NewProxy(credential.ProxyOptions{Key: "ecdsa", ACs: []*voms.AC{{Raw: ac.DER(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	d := newRogueScheduled(t, nil, []string{"X509_CERT_DIR=" + filepath.Join(dir, "cas"), "X509_VOMS_DIR=" + filepath.Join(dir, "vomsdir")}, fmt.Sprintf("cert = %q\nkey = %q\n", cert, key))
	submit := func() string {
		body := `{"jobs": [{"key": "k", "jdl": "[ Executable = \"/bin/true\"; VirtualOrganisation = \"a\"; ]"}]}`
		c := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{proxy.Certificate()}}}}
		resp, err := c.Post("https://"+d.addr+"/v1/jobs", "application/json", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.Status + " " + string(text)
	}
	lsc := []byte("/DC=org/CN=voms.example.org\n/DC=org/CN=CA\n")
	testbed.WriteFile(t, filepath.Join(d.dir, "a/voms.example.org.lsc"), lsc, 0o644) // where it was started
	if got := submit(); !strings.Contains(got, "does not show you to be a member") || !strings.Contains(got, "there is no "+filepath.Join(dir, "vomsdir/a")) {
		t.Errorf("by a list in its working directory: %s", got)
	}
	testbed.WriteFile(t, filepath.Join(dir, "vomsdir/a/voms.example.org.lsc"), lsc, 0o644)
	if got := submit(); !strings.HasPrefix(got, "200 ") || strings.Contains(got, "member") {
		t.Errorf("by the list in vomsdir: %s", got)
	}
}
