package scheduler

import (
	"crypto/x509"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/credential/voms"
	"gridbroker/forecast/wire"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// member is somebody whose attributes are good for as long.
func (w *world) member(owner string, life time.Duration, fqans ...string) Person {
	return Person{Subject: owner, VO: "a", FQANs: fqans, Vouched: w.now.Add(life)}
}

// comes has somebody ask about jobs, and hand one in where it has a key.
func (w *world) comes(who Person, key string, wall int) (id string) {
	w.t.Helper()
	if err := showAttributes(w.t.Context(), w.s, who); err != nil {
		w.t.Fatal(err)
	}
	if key == "" {
		return ""
	}
	got, err := w.s.Submit(w.t.Context(), who, []Submission{{Key: key, JDL: fmt.Sprintf("[ Executable = \"/bin/true\"; WallTime = %d; Requirements = true; ]", wall)}})
	if err != nil || got[0].Error != "" {
		w.t.Fatal(got, err)
	}
	return got[0].ID
}

// A job whose owner's attributes have run out before it was begun is held, and said to be, until he shows
// those very ones again; one that runs by then goes on, and one without attributes is none of this.
func TestAttributesThatEndFirst(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { attributesEnd(t, sqliteDSN(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { attributesEnd(t, postgresDSN(t)) })
}

func attributesEnd(t *testing.T, dsn string) {
	w := newWorld(t, dsn, 3, 0, 6)
	long := w.comes(w.member("alice", 10*time.Minute, "/a", "/a/Role=production"), "long", 7200)
	steps := func(n int) {
		for range n {
			w.step(30)
		}
	}
	steps(25)
	if n, said := w.said(long, "credential"); n != 0 || w.job(long).State != Running {
		t.Fatalf("a job that runs needs no attributes: told %d times: %s (%s)", n, said, w.job(long).State)
	}
	late := w.comes(w.member("alice", -2*time.Minute, "/a", "/a/Role=production"), "late", 120)
	plain := w.submit("alice", "plain", 120)
	bob := w.comes(w.member("bob", time.Minute, "/a"), "bob", 120)
	w.comes(w.member("alice", time.Hour, "/a"), "", 0) // she is no producer any more
	steps(5)
	j := w.job(late)
	if n, said := w.said(late, "credential"); n != 1 || j.State != Waiting || !j.Held || j.Tries != 0 || !strings.Contains(said, "attributes") {
		t.Errorf("with a role that has run out: %s, told %d times: %s", j.State, n, said)
	}
	if v := view(j, false); v.Plugins != plugins.Held || !strings.Contains(v.Reason, "no newer ones") {
		t.Errorf("its owner sees %s: %s", v.Plugins, v.Reason)
	}
	if r, err := w.s.Why(t.Context(), j); err != nil || len(r.Text) != 1 || !strings.Contains(r.Text[0], "no newer ones") {
		t.Errorf("why: %v, %v", r.Text, err)
	}
	w.restart()
	w.comes(w.member("alice", time.Hour, "/a/Role=production", "/a"), "", 0)
	w.comes(w.member("alice", time.Second, "/a/Role=production", "/a"), "", 0) // another proxy of hers, which ends before
	steps(20)
	for _, id := range []string{late, plain, bob} {
		if j := w.job(id); j.State != Done || j.Held {
			t.Errorf("%s is %s (%s)", j.Key, j.State, j.Blocked)
		}
	}
	if n, said := w.said(late, "credential"); n != 2 || !strings.HasPrefix(said, "renewed, good until 20") {
		t.Errorf("told %d times: %s", n, said)
	}
}

// What is kept of one user's attributes is bounded: those go that end first.
func TestAttributesOfOneUser(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 1)
	for i := range 5 {
		var list []string
		for k := range maxVouched - 1 {
			list = append(list, fmt.Sprintf("/a/g%d/%d", i, k))
		}
		w.comes(w.member("alice", time.Hour+time.Duration(i)*time.Minute, append(list, "/a")...), "", 0)
	}
	var of map[string]vouched
	err := w.store.read(t.Context(), func(h handle) (err error) { of, err = h.wallet.vouchers(t.Context()); return err })
	if v := of["alice"]; err != nil || len(v) != maxVouched || v["/a"] == 0 || v["/a/g4/0"] == 0 || v["/a/g0/0"] != 0 {
		t.Errorf("%d attributes, %v", len(v), err)
	}
}

// A job that is booked when its owner's attributes end is not sent, keeps away from no cluster for
// that, and is sent when they are good again.
func TestAttributesThatEndBeforeTheLaunch(t *testing.T) {
	for _, c := range []struct {
		name      string
		end, anew string // statements
	}{
		{"shown", "update attribute set expires = $1", "update attribute set expires = $1"},
		{"delegated", "update credential set attributes = $1", "update credential set attributes = $1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, sqliteDSN(t), 3, 0, 6)
			w.sites["c0"].start = wire.Plain // launches wait in the outbox for their slots
			if err := w.store.KeepCredential(t.Context(), "alice", []byte("a proxy"), w.now.Add(4*time.Hour), w.now.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			id := w.comes(w.member("alice", time.Hour, "/a"), "k", 300)
			for w.job(id).State != Booked {
				w.step(5)
				if w.now.Sub(simEpoch) > 30*time.Minute {
					t.Fatal(w.job(id).State)
				}
			}
			set := func(statement string, at time.Time) {
				if err := w.store.tx(t.Context(), func(h handle) error { return h.write(t.Context(), statement, at.Unix()) }); err != nil {
					t.Fatal(err)
				}
			}
			set(c.end, w.now)
			for range 20 {
				w.step(5)
			}
			if j := w.job(id); j.State != Waiting || !j.Held || len(j.Avoid) > 0 || j.Charged != 0 {
				t.Errorf("it is %s, held %v, avoids %v, was charged %d", j.State, j.Held, j.Avoid, j.Charged)
			}
			if n := len(w.sites["c0"].guests); n != 0 {
				t.Errorf("%d jobs were sent", n)
			}
			set(c.anew, w.now.Add(2*time.Hour))
			for range 120 {
				w.step(5)
			}
			if j := w.job(id); j.State != Done || j.Tries < 2 {
				t.Errorf("renewed: it is %s (%s) after %d bookings", j.State, j.Reason, j.Tries)
			}
		})
	}
}

// A submission and a renewal with VOMS proxies tell the scheduler until when the attributes are good, those that are shown and
// those of what is delegated.
func TestAttributesAreNoted(t *testing.T) {
	f := newFront(t, func(_ *Config, a *API) { a.Door.VOMSDir = t.TempDir() })
	alice, server := f.user(f.ca, "Alice"), f.ca.Issue("voms.a.example", nil)
	testbed.WriteFile(t, filepath.Join(f.api.Door.VOMSDir, "a/voms.a.example.lsc"), []byte("/DC=org/CN=voms.a.example\n/DC=org/CN=Test CA\n"), 0o644)
	proxy := func(life time.Duration) *credential.X509 {
		ac := testbed.AC{Holder: alice.Chain()[0], Issuer: server.Cert, Key: server.Key, VO: "a", Host: "voms.a.example:15000", FQANs: []string{"/a/Role=NULL"},
			From: f.now.Add(-time.Hour), To: f.now.Add(life), Chain: []*x509.Certificate{server.Cert}}
		return f.proxy(alice, credential.ProxyOptions{Lifetime: 10 * time.Hour, ACs: []*voms.AC{{Raw: ac.DER(t)}}})
	}
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/true"; VirtualOrganisation = "a";`))
	if err != nil {
		t.Fatal(err)
	}
	noted := func(life time.Duration) {
		t.Helper()
		var all authorities
		err := f.store.read(t.Context(), func(h handle) (err error) { all, err = h.wallet.expiries(t.Context()); return err })
		owner, want := alice.Identity(), f.now.Add(life).Unix()
		if shown, delegated := all.vouched[owner]["/a"], all.own[holder{owner, "a"}].named; err != nil || shown != want || delegated != want {
			t.Errorf("noted %d of what was shown and %d of what was delegated, it is %d: %v", shown, delegated, want, err)
		}
	}
	res := f.backend(proxy(time.Hour)).Submit(t.Context(), []plugins.Request{{ID: "k1", Job: job, Endpoint: f.endpoint()}}, nil)
	if res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	noted(time.Hour)
	if list, err := f.s.List(t.Context(), Person{Subject: alice.Identity()}, false, true, 0, 10); err != nil || len(list) != 1 || !list[0].Lapses {
		t.Errorf("%+v, %v", list, err)
	}
	if errs := f.backend(proxy(5*time.Hour)).Renew(t.Context(), []plugins.Handle{res[0].Handle}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	noted(5 * time.Hour)
}
