package credential_test

import (
	"crypto"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// TestKeyPairIsReadAnew: a daemon shows the certificate that is in its file, from a second after it is there with
// its key; what is half written, gone or of another key is told once, and not shown.
func TestKeyPairIsReadAnew(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	ca := testbed.NewCA(t, "CA", now, nil)
	put := func(path string, text []byte, mode os.FileMode) {
		t.Helper()
		testbed.WriteFile(t, path+".new", text, mode)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	first, second, third := ca.Server(nil), ca.Server(nil), ca.Server(nil)
	put(cert, testbed.PEM(first.Leaf), 0o644)
	put(key, testbed.KeyPEM(t, first.PrivateKey.(crypto.Signer)), 0o600)
	told := 0
	own, err := credential.KeyPair(credential.Env{UID: os.Getuid(), Now: func() time.Time { return now }}, cert, key, func(error) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	later := func(what string, want string, tells int) {
		t.Helper()
		for range 5 {
			now = now.Add(2 * time.Second)
			if got := own(); got.Leaf.SerialNumber.String() != want {
				t.Errorf("%s: another certificate is shown", what)
			}
		}
		if told != tells {
			t.Errorf("%s: told %d times, want %d", what, told, tells)
		}
	}
	old, renewed, last := first.Leaf.SerialNumber.String(), second.Leaf.SerialNumber.String(), third.Leaf.SerialNumber.String()
	later("at first", old, 0)
	put(cert, testbed.PEM(second.Leaf), 0o644)
	later("its key is missing", old, 1)
	put(key, testbed.KeyPEM(t, second.PrivateKey.(crypto.Signer)), 0o600)
	if own().Leaf.SerialNumber.String() != old {
		t.Error("the files are looked at at each handshake")
	}
	later("renewed", renewed, 1)
	put(cert, []byte("-----BEGIN"), 0o644)
	later("half written", renewed, 2)
	os.Remove(cert)
	put(key, testbed.KeyPEM(t, third.PrivateKey.(crypto.Signer)), 0o644)
	later("gone, and the key for everybody", renewed, 2)
	put(cert, testbed.PEM(third.Leaf), 0o644)
	later("the key is for everybody", renewed, 2)
	os.Chmod(key, 0o600)
	later("its own", last, 2)
}
