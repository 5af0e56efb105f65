package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
)

// silent is a site that does not answer until the asker gives up.
type silent struct{ plugins.Submitter }

func (s silent) Submit(ctx context.Context, reqs []plugins.Request, _ plugins.Progress) []plugins.Result {
	<-ctx.Done()
	return []plugins.Result{{ID: reqs[0].ID, Err: &plugins.Error{Kind: plugins.Unavailable, Err: ctx.Err()}}}
}

// A site that does not answer has many jobs sent to it: those of another site are sent all the same.
func TestSilentSiteKeepsNoOther(t *testing.T) {
	w := newWorld(t, sqliteDSN(t), 3, 0, 100, 3)
	w.step(30) // the sites are known
	for i := range allLanes + 20 {
		w.submitJob("alice", fmt.Sprint("silent", i), `[ Executable = "/bin/true"; WallTime = 600; Requirements = other.GlueCEUniqueID == "c0"; ]`, 1)
	}
	id := w.submitJob("alice", "k", `[ Executable = "/bin/true"; WallTime = 600; Requirements = other.GlueCEUniqueID == "c1"; ]`, 1)
	for range 2 { // on a busy machine the requirements of one site's jobs may take all the time that a cycle has for them
		if _, err := w.s.Cycle(t.Context(), w.epoch); err != nil {
			t.Fatal(err)
		}
	}
	open := func(context.Context, string, []byte) (*plugins.Registry, func(), error) {
		reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c0"}}, Submitter: silent{w.sites["c0"]}},
			plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"sim/c1"}}, Submitter: w.sites["c1"]})
		return reg, func() {}, err
	}
	w.store.commit = (*sql.Tx).Commit // the world's own is for one at a time
	s := New(w.conf, w.store, open, func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- outbox{s}.run(ctx) }()
	sent := false
	for end := time.Now().Add(time.Minute); !sent && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var said string
		err := w.store.db.QueryRow("select cast(body as text) from message where kind = 'result'").Scan(&said)
		sent = err == nil && strings.Contains(said, id)
	}
	if !sent {
		t.Error("the job of the other site is not sent")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
