package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A drained cluster whose agent says nothing is shown as both; who changes a job is told in its log
// what was changed.
func TestDrainedAndSilent(t *testing.T) {
	f := newFront(t, nil)
	at := func(who, method, path string, body []byte, want int) string {
		t.Helper()
		r := f.asked(t.Context(), who, method, path, body)
		if r.Code != want {
			t.Fatalf("%s %s: %d %s", method, path, r.Code, r.Body)
		}
		return r.Body.String()
	}
	l, err := f.store.Campaign(t.Context(), "front")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Resign()
	f.s.setLead(l.Epoch)
	id := f.submit("alice", "k", sample).ID
	at("agent0", "POST", "/v1/clusters/c0/slots", f.delta("c0", 3, nil), 200)
	at("root", "POST", "/v1/clusters/c0/drain", []byte(`{"drain": true}`), 204)
	if _, err := f.s.Cycle(t.Context(), l.Epoch); err != nil {
		t.Fatal(err)
	}
	const both = `drained</b>, <b class="bad">silent</b>`
	if text := at("root", "GET", "/", nil, 200); !strings.Contains(text, "drained</b>") || strings.Contains(text, both) {
		t.Error("drained and heard is not shown as such")
	}
	at("alice", "PATCH", "/v1/jobs/"+id, fmt.Appendf(nil, `{"priority": 7, "jdl": %q}`, sample), 204)
	f.now = f.now.Add(3600e9)
	if _, err := f.s.Cycle(t.Context(), l.Epoch); err != nil {
		t.Fatal(err)
	}
	if text := at("root", "GET", "/", nil, 200); !strings.Contains(text, both) {
		t.Error("drained and silent is not shown as such")
	}
	if text := at("alice", "GET", "/v1/jobs/"+id+"/log", nil, 200); !strings.Contains(text, `"said":"another description, priority 7, before 1"`) {
		t.Error(text)
	}
}

// Who looks at the past is told what he sees of it, and what of now; where nothing is known of then, that no processor was free is not said.
func TestThePastIsToldFromNow(t *testing.T) {
	f := newFront(t, nil)
	f.led()
	if r := f.asked(t.Context(), "agent0", "POST", "/v1/clusters/c0/slots", f.delta("c0", 3, nil)); r.Code != 200 {
		t.Fatal(r.Body)
	}
	then := f.now.Add(-time.Hour)
	for at, want := range map[string][]string{
		"/": {"<dt>processors free</dt>", ">Clusters and their agents</h2>", ">Queue</h2>"},
		fmt.Sprint("/?at=", then.Unix()): {"<dt>processors free at " + then.UTC().Format("15:04") + "</dt><dd>–</dd>", "<dt>clusters heard, now</dt>", ">Clusters and their agents, now</h2>",
			">Queue, now</h2>", ">Budgets, now</h2>"},
	} {
		text := f.asked(t.Context(), "alice", "GET", at, nil).Body.String()
		for _, v := range want {
			if !strings.Contains(text, v) {
				t.Errorf("%s is without %s", at, v)
			}
		}
	}
}

// A page on which nobody has an account yet says so, and shows those that there are.
func TestAccountsOnThePage(t *testing.T) {
	f := newFront(t, nil)
	l := f.led()
	f.s.setLead(l.Epoch)
	none, table := "Nobody has an account yet", `aria-label="budgets"`
	if text := f.asked(t.Context(), "root", "GET", "/", nil).Body.String(); !strings.Contains(text, none) || strings.Contains(text, table) {
		t.Error("without accounts it is not said that there are none")
	}
	f.submit("alice", "k", sample)
	if _, err := f.s.Cycle(t.Context(), l.Epoch); err != nil {
		t.Fatal(err)
	}
	if text := f.asked(t.Context(), "root", "GET", "/", nil).Body.String(); strings.Contains(text, none) || !strings.Contains(text, table) {
		t.Error("accounts are not shown")
	}
}
