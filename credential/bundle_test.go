package credential_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// The authorities of a file are those that are in it by now; what cannot be used is told once, and changes nothing.
func TestBundleIsReadAnew(t *testing.T) {
	file, now, told := filepath.Join(t.TempDir(), "ca.pem"), time.Now(), 0
	first, second := testbed.PEM(testbed.NewCA(t, "First CA", now, nil).Cert), testbed.PEM(testbed.NewCA(t, "Second CA", now, nil).Cert)
	env := credential.Env{UID: os.Getuid(), Now: func() time.Time { return now }}
	if _, err := credential.BundleFile(env, file, os.ReadFile, nil); err == nil {
		t.Error("a file that is not there was read")
	}
	testbed.WriteFile(t, file, first, 0o644)
	bundle, err := credential.BundleFile(env, file, os.ReadFile, func(error) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text        []byte
		size, tells int
	}{{first, 1, 0}, {append(first, second...), 2, 0}, {first[:100], 2, 1}, {second, 1, 1}} {
		testbed.WriteFile(t, file, c.text, 0o644)
		for range 3 {
			now = now.Add(2 * time.Second)
			if b := bundle(); len(b.Ends()) != c.size {
				t.Errorf("%d bytes: %v, want %d", len(c.text), b.Ends(), c.size)
			}
		}
		if told != c.tells {
			t.Errorf("%d bytes: told %d times, want %d", len(c.text), told, c.tells)
		}
	}
}
