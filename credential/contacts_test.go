package credential

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The authority of the first contact is the one that counts, until the note is
// removed.
func TestContacts(t *testing.T) {
	c := &Contacts{Dir: filepath.Join(t.TempDir(), "hosts"), Now: func() time.Time { return time.Unix(1e9, 0) }}
	say := func(want string, speakers ...string) {
		t.Helper()
		err := c.check("ce.example.org:443", speakers)
		f, _ := errors.AsType[*Finding](err)
		if (want == "") != (err == nil) || f != nil && f.ID != want {
			t.Errorf("%v: %v, want %q", speakers, err, want)
		}
	}
	say("", "/CN=First")
	say("", "/CN=Second", "/CN=First")
	say("server.changed", "/CN=Second")
	if err := c.check("CE.example.org:443", []string{"/CN=Second"}); err == nil {
		t.Error("another spelling of the host is another host")
	}
	if err := c.check("ce.example.org:8443", []string{"/CN=Second"}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(c.file("ce.example.org:443"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	say("server.contact", "/CN=First")
	if err := os.Truncate(c.file("ce.example.org:443"), 0); err != nil {
		t.Fatal(err)
	}
	say("", "/CN=Third") // nothing was noted
	say("server.changed", "/CN=First")
	if err := os.Remove(c.file("ce.example.org:443")); err != nil {
		t.Fatal(err)
	}
	say("", "/CN=Second")
	say("server.changed", "/CN=First")
}

func TestHostPatterns(t *testing.T) {
	named := HostPatterns([]string{"ce*.Example.org", "10.0.0.1", "["})
	for host, want := range map[string]bool{"ce1.example.org": true, "CE.EXAMPLE.ORG": true, "x.example.org": false, "10.0.0.1": true, "ce.example.org.evil.net": false, "": false} {
		if named(host) != want {
			t.Errorf("%s: %v", host, !want)
		}
	}
}
