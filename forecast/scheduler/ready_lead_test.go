package scheduler

import (
	"log/slog"
	"testing"
	"time"
)

// Agents come back when a replica leads that has read what was there before; where none does, a moment after the database
// answers.
func TestAgentsComeAfterTheLeader(t *testing.T) {
	eachStore(t, func(t *testing.T, store *Store) {
		s := New(Config{Name: "leader"}, store, nil, time.Now, slog.New(slog.DiscardHandler))
		called := func(most time.Duration) bool {
			back, _ := s.comeback.join(s)
			defer s.comeback.leave()
			select {
			case <-back:
				return true
			case <-time.After(most):
				return false
			}
		}
		if !called(time.Minute) {
			t.Error("they were not called, as nobody leads")
		}
		s.comeback.patience = time.Hour
		if called(4 * readyPause) {
			t.Error("they were called before anybody led")
		}
		epoch, err := takeOver(t.Context(), store, "leader")
		if err != nil {
			t.Fatal(err)
		}
		if s.setLead(epoch); called(4 * readyPause) {
			t.Error("they were called by a leader that had read nothing yet")
		}
		if _, err := s.Cycle(t.Context(), epoch); err != nil {
			t.Fatal(err)
		}
		if !called(time.Minute) {
			t.Error("a leader that has planned keeps agents waiting")
		}
	})
}
