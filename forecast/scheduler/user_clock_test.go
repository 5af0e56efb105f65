package scheduler

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/central"
)

// setClock sets the clock of the scheduler's machine so far from the users'.
func (f *front) setClock(off time.Duration, dir string) {
	f.t.Helper()
	f.now = f.now.Add(off)
	here := func() time.Time { return time.Now().Add(off) }
	trust, err := credential.LoadTrust(credential.Env{Now: here}, credential.Options{CertDir: dir, CAs: credential.GridCA})
	if err != nil {
		f.t.Fatal(err)
	}
	f.api.Door.Trust = func() *credential.Trust { return trust }
	inner := f.server.Config.Handler
	f.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", here().UTC().Format(http.TimeFormat))
		inner.ServeHTTP(w, r)
	})
}

// A user whose clock is minutes or hours off is told by how much and which way, by ping and where what he shows or delegates is
// refused; ping knows before he submits. Nothing that was refused is queued.
func TestUsersWhoseClocksAreWrong(t *testing.T) {
	const ahead, behind = "this machine's clock is %s ahead of the server's", "this machine's clock is %s behind the server's"
	for _, c := range []struct {
		user    time.Duration // his clock less the scheduler's
		made    time.Duration // that of the machine that made his proxy
		says    string
		refused string // a pattern; "": the job is taken
		letIn   bool
	}{
		{10 * time.Minute, 0, fmt.Sprintf(ahead, "10 min"), "the proxy is not valid: not valid for another [45] min", true},
		{10 * time.Minute, 10 * time.Minute, fmt.Sprintf(ahead, "10 min"), "that you showed is not valid for another [45] min by this scheduler's clock", false},
		{2 * time.Hour, 0, fmt.Sprintf(ahead, "2 h 0 min"), "the proxy is not valid: not valid for another 1 h 5[45] min", true},
		{-10 * time.Minute, 0, fmt.Sprintf(behind, "10 min"), "not valid for another", true},
		{-10 * time.Minute, -10 * time.Minute, fmt.Sprintf(behind, "10 min"), "", true},
		{-2 * time.Hour, -2 * time.Hour, fmt.Sprintf(behind, "2 h 0 min"), "", true},
	} {
		t.Run(fmt.Sprint(c.user, " made by ", c.made), func(t *testing.T) {
			f := newFront(t, nil)
			alice := f.user(f.ca, "Alice")
			x := f.proxy(alice, credential.ProxyOptions{Now: time.Now().Add(c.made - c.user), Lifetime: 12 * time.Hour})
			b, err := central.Open(plugins.Config{Now: time.Now, Credentials: func() (*credential.Set, error) { return &credential.Set{X509: x, Trust: f.trust}, nil }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { b.(*central.Backend).Close() })
			f.setClock(-c.user, f.trust.Dir())
			pong, err := b.(plugins.Pinger).Ping(t.Context(), f.endpoint().URL)
			if off := (pong.ClockAhead - c.user).Abs(); err != nil || off > 30*time.Second || pong.LetIn != c.letIn {
				t.Errorf("ping: %+v, %v", pong, err)
			}
			hindered := strings.Contains(strings.Join(pong.Hinders, "\n"), "clock")
			if c.letIn && hindered != (c.refused != "") || !c.letIn && !regexp.MustCompile(c.refused).MatchString(pong.Said) {
				t.Errorf("ping tells %q, hinders %q", pong.Said, pong.Hinders)
			}
			job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/true";`))
			if err != nil {
				t.Fatal(err)
			}
			res := b.Submit(t.Context(), []plugins.Request{{ID: "k1", Job: job, Endpoint: f.endpoint()}}, nil)
			err = res[0].Err
			if c.refused == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, refused := errors.AsType[*plugins.Error](err)
			refused = refused && e.Kind == plugins.Credential
			if err == nil || !strings.Contains(err.Error(), c.says) || !regexp.MustCompile(c.refused).MatchString(err.Error()) || !refused {
				t.Errorf("want %q and %q: %v", c.refused, c.says, err)
			}
			if list, err := f.s.List(t.Context(), Person{Admin: true}, true, false, 0, 10); err != nil || len(list) > 0 {
				t.Errorf("%d jobs are queued, %v", len(list), err)
			}
		})
	}
}
