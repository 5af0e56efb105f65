package scheduler

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gridbroker/plugins"
)

// odd is a text that PostgreSQL takes in no column, and has no key of.
var odd = "a\x00b\xff" + strings.Repeat("\u00e4z", 600_000)

// oddSite calls everything by odd words.
type oddSite struct{ *simSite }

// Submit implements plugins.Submitter.
func (s oddSite) Submit(ctx context.Context, reqs []plugins.Request, p plugins.Progress) []plugins.Result {
	out := s.simSite.Submit(ctx, reqs, p)
	for i := range out {
		if reqs[i].Job.Name == "refused" {
			out[i] = plugins.Result{ID: reqs[i].ID, Err: &plugins.Error{Kind: plugins.Invalid, Op: "submit", Said: odd}}
		}
	}
	return out
}

// Status implements plugins.Submitter.
func (s oddSite) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	out := s.simSite.Status(ctx, hs)
	for i := range out {
		out[i].Native, out[i].Reason, out[i].Node = odd, odd, odd
	}
	return out
}

// Whatever a site calls a state, a node and a reason, any database can hold what comes of it: what one says keeps no
// cycle from being written.
func TestOddWordsOfSites(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 4)
	open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c0"}}, Submitter: oddSite{w.sites["c0"]}})
		return reg, func() {}, err
	}
	w.s = New(w.conf, w.store, open, func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
	w.s.setLead(w.epoch)
	ids := []string{w.submit("alice", "k", 120), w.submitJob("alice", "r", `[ Executable = "/bin/true"; JobName = "refused"; WallTime = 120; ]`, 1)}
	holds := func(where, text string, most int) {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") || len(text) > most {
			t.Errorf("%s: %d bytes, %.20q", where, len(text), text)
		}
	}
	texts := func(what, query string, most int) {
		rows, err := w.store.db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			holds(what, text, most)
		}
	}
	for range 30 {
		w.now = w.now.Add(30 * time.Second)
		w.follow(t.Context())
		texts("the key of a message", "select key from message", 1000)
		w.step(30)
		texts("an action", "select result from action", 5000)
		texts("the log", "select said from log", 5000)
		texts("the ledger", "select why from ledger", 5000)
	}
	if n, said := w.said(ids[1], string(Failed)); n != 1 {
		t.Errorf("refused %d times: %.20q", n, said)
	}
	if j := w.job(ids[0]); j.State != Done || !strings.HasPrefix(j.Native, "a\ufffdb\ufffd\u00e4z") {
		t.Errorf("%s %.20q", j.State, j.Native)
	}
}
