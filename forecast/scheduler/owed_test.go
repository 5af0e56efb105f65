package scheduler

import (
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Monitors are told what is to be done at sites, with it what failed there and waits to be tried again, and how requests were answered.
func TestMonitorsAreTold(t *testing.T) {
	w, _ := brought(t)
	handler := (&API{S: w.s, Door: &Door{}, Log: slog.New(slog.DiscardHandler), Metrics: []string{"*"}}).Handler()
	told := func(want ...string) (all string) {
		t.Helper()
		got := httptest.NewRecorder()
		handler.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		for _, line := range want {
			if !strings.Contains(got.Body.String(), "grid_scheduler_"+line+"\n") {
				t.Errorf("nothing says %s:\n%s", line, got.Body)
			}
		}
		return got.Body.String()
	}
	told(`actions_owed{verb="clean"} 0`, `actions_owed{verb="launch"} 0`) // its time has not come
	w.now = w.now.Add(w.conf.KeepAtSites)
	told(`actions_owed{verb="clean"} 1`)
	w.fault, w.store.commit = 1, (*sql.Tx).Commit // nothing can be done at the site
	for _, a := range w.claimed(1) {
		(outbox{w.s}).act(t.Context(), a)
	}
	w.claimed(0)
	told(`actions_owed{verb="clean"} 1`)
	w.fault, w.now = 0, w.now.Add(cleanAgain)
	w.step(1)
	told(`actions_owed{verb="clean"} 0`, `answers_total{code="200",method="get"} 3`)
	w.store.Close()
	if all := told(`answers_total{code="200",method="get"} 4`); strings.Contains(all, "actions_owed{") {
		t.Errorf("what a database that is away was not asked is told:\n%s", all)
	}
}
