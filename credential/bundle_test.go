package credential_test

import (
	"crypto/x509"
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

// A bundle's revocation lists, beside its file or in its directory, count as in a grid's directory, from when they are there on.
func TestBundlesHaveRevocationLists(t *testing.T) {
	now := time.Now()
	ca := testbed.NewCA(t, "CA", now, nil)
	good, bad := ca.Issue("good", nil).Cert, ca.Issue("bad", nil).Cert
	sub := ca.Sub("Sub CA")
	below := sub.Issue("below", nil).Cert
	hash := credential.NameHash(ca.Cert.RawSubject)
	for _, inDir := range []bool{false, true} {
		dir := t.TempDir()
		env := credential.Env{UID: os.Getuid(), Now: func() time.Time { return now }}
		path := filepath.Join(dir, "authorities.pem")
		testbed.WriteFile(t, path, testbed.PEM(ca.Cert), 0o644)
		if inDir {
			testbed.WriteFile(t, filepath.Join(dir, hash+".0"), testbed.PEM(ca.Cert), 0o644)
			path = dir
		}
		bundle, err := credential.BundleFile(env, path, os.ReadFile, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		believed := func(chain ...*x509.Certificate) bool {
			return bundle().Check([][]*x509.Certificate{append(chain, ca.Cert)}) == nil
		}
		for _, c := range []struct {
			what      string
			list      []byte
			good, bad bool
			ends      int
		}{
			{"no list", nil, true, true, 1},
			{"a list", ca.CRL(now.Add(-time.Hour), now.Add(time.Hour), bad.SerialNumber), true, false, 2},
			{"of another", testbed.NewCA(t, "Other", now, nil).CRL(now, now.Add(time.Hour), bad.SerialNumber), true, true, 1},
			{"one that has run out", ca.CRL(now.Add(-time.Hour), now.Add(-time.Minute)), false, false, 2},
			{"a damaged one", []byte("-----BEGIN X509 CRL-----"), false, false, 1},
		} {
			before := bundle().Roots()
			if c.list != nil {
				testbed.WriteFile(t, filepath.Join(dir, hash+".r0"), c.list, 0o644)
			}
			now = now.Add(2 * time.Second)
			if b := bundle(); believed(good) != c.good || believed(bad) != c.bad || len(b.Ends()) != c.ends || (b.Roots() != before) != (c.list != nil) {
				t.Errorf("directory %v, %s: good %v, bad %v, ends %v", inDir, c.what, believed(good), believed(bad), b.Ends())
			}
		}
		if err := os.Remove(filepath.Join(dir, hash+".r0")); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * time.Second)
		if believed(below, sub.Cert) == inDir {
			t.Errorf("directory %v: what an authority signed that is not there is believed: %v", inDir, !inDir)
		}
	}
}
