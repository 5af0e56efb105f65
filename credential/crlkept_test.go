package credential_test

import (
	"crypto/x509"
	"math/big"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// TestLongListsAreReadOnce: a long revocation list is read once for many connections and requests, one that is put in
// its place counts at the next of them, and where that was just now, also if nothing tells its file from the one before.
func TestLongListsAreReadOnce(t *testing.T) {
	now, dir := time.Now(), t.TempDir()
	ca := testbed.NewCA(t, "Lab CA", now, nil)
	list := ca.Install(dir, credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=Lab CA") + ".r0"
	alice := ca.Issue("Alice", nil).Cert
	others := func(first int64, more ...*big.Int) []byte {
		for i := range 20_000 {
			more = append(more, big.NewInt(first+int64(i)))
		}
		return ca.CRL(now.Add(-time.Hour), now.Add(time.Hour), more...)
	}
	put := func(text []byte, at time.Time) {
		testbed.WriteFile(t, list, text, 0o644)
		if err := os.Chtimes(list, at, at); err != nil {
			t.Fatal(err)
		}
	}
	trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA})
	if err != nil {
		t.Fatal(err)
	}
	revoked := func() bool {
		err := trust.VerifyChain([]*x509.Certificate{alice})
		if err != nil && !strings.Contains(err.Error(), "revoked") {
			t.Fatal(err)
		}
		return err != nil
	}
	put(others(1), now.Add(-time.Hour))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 50 {
		if revoked() {
			t.Fatal("Alice is on no list")
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
		t.Errorf("%d bytes for looking at a list of half a megabyte 50 times", got)
	}
	put(others(1, alice.SerialNumber), now.Add(-time.Minute))
	if !revoked() {
		t.Error("a list that was exchanged is not read")
	}
	without, with := others(1, new(big.Int).Add(alice.SerialNumber, big.NewInt(1))), others(1, alice.SerialNumber)
	for len(without) != len(with) { // signatures have several lengths
		with = others(1, alice.SerialNumber)
	}
	at := time.Now()
	put(without, at)
	if revoked() {
		t.Error("a list that Alice is no more on is not read")
	}
	put(with, at)
	if !revoked() {
		t.Error("a list that was exchanged within a moment is not read")
	}
}
