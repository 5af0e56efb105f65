package credential_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// An authority that is installed while a daemon runs is believed, one that is taken out is not any more. While the
// directory cannot be read, which is told once, those of before are.
func TestAuthoritiesAreReadAnew(t *testing.T) {
	dir, now, told := filepath.Join(t.TempDir(), "ca"), time.Now(), 0
	env := credential.Env{UID: os.Getuid(), Now: func() time.Time { return now }}
	trust := credential.Authorities(env, credential.Options{CertDir: dir, CAs: credential.GridCA}, func(error) { told++ })
	later := func(what string, want, tells int) {
		t.Helper()
		for range 3 {
			now = now.Add(2 * time.Second)
			have := -1
			if at := trust(); at != nil {
				have = at.Size()
			}
			if have != want {
				t.Errorf("%s: %d authorities, want %d", what, have, want)
			}
		}
		if told != tells {
			t.Errorf("%s: told %d times, want %d", what, told, tells)
		}
	}
	install := func(cn string) string {
		ca := testbed.NewCA(t, cn, now, nil)
		hash := credential.NameHash(ca.Cert.RawSubject)
		ca.Install(dir, hash, "/DC=org/CN="+cn)
		return filepath.Join(dir, hash+".0")
	}
	later("no directory", -1, 1)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	first := install("First CA")
	later("the first one", 1, 1)
	install("Second CA")
	later("a second one", 2, 1)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	install("Third CA")
	later("everybody can write there", 2, 2)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	later("it is well again", 3, 2)
	os.Remove(first)
	later("one is taken out", 2, 2)
}
