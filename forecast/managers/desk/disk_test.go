package desk

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// While nothing can be written no job is taken, no place is claimed and none is given back, and users are told to come again;
// then all goes on as it was.
func TestDeskThatCannotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, id := one(t, managers.Resources{CPUs: 1})
		synctest.Wait() // it is handed in
		f.Answer(daemon.Offer{Job: id, Manager: "https://one", System: "one"})
		f.store.db.SetMaxOpenConns(1)
		writable := func(pragma string) {
			if _, err := f.store.db.Exec(pragma); err != nil {
				t.Fatal(err)
			}
		}
		writable("PRAGMA query_only = 1")
		_, submitted := f.submit("alice", []managers.UserJob{{Key: "b", Need: managers.Resources{CPUs: 1}}})
		_, claimed := f.claim("alice", []string{"a"})
		ended := f.end("alice", []string{"a"})
		for what, err := range map[string]error{"submitted": submitted, "claimed": claimed, "ended": ended} {
			w := httptest.NewRecorder()
			answer(w, nil, err)
			if err == nil || w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: %v, %d", what, err, w.Code)
			}
		}
		if _, back := f.heard(); f.state(t) != managers.UserAssigned || len(back) != 0 || len(f.states("alice", []string{"b"})) != 0 || f.count("alice") != 1 {
			t.Errorf("it is %s, given back %v, %d jobs", f.state(t), back, f.count("alice"))
		}
		writable("PRAGMA query_only = 0")
		if got := f.claims(t); got != "claimed one" {
			t.Errorf("then it is %s", got)
		}
		if err := f.end("alice", []string{"a"}); err != nil || f.state(t) != managers.UserEnded {
			t.Errorf("ended: %s, %v", f.state(t), err)
		}
		f.stop(t)
	})
}
