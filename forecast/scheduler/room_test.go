package scheduler

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// How many jobs a user has is not counted for each submission, and yet nobody is
// refused who has room, is answered differently when he asks again, or has much
// more than he may by asking several replicas.
func TestRoomForJobs(t *testing.T) {
	eachStore(t, func(t *testing.T, store *Store) {
		now := time.Now()
		replica := func() *Scheduler {
			return New(Config{MaxJobs: 3, Clusters: map[string]ClusterConfig{}}, store, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		}
		one, other := replica(), replica()
		submit := func(s *Scheduler, keys ...string) (ids []string) {
			t.Helper()
			list := make([]Submission, len(keys))
			for i, key := range keys {
				list[i] = Submission{Key: key, JDL: sample}
			}
			got, err := s.Submit(t.Context(), Person{Subject: "alice"}, list)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range got {
				if v.Error != "" && !strings.Contains(v.Error, "you have 3 jobs") {
					t.Error(v.Error)
				}
				ids = append(ids, v.ID)
			}
			return ids
		}
		same := func(what string, got []string, want ...string) {
			t.Helper()
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		first := submit(one, "a")
		submit(one, "b")
		third := submit(one, "c")
		same("one too many", submit(one, "d"), "")
		same("asked again, and one too many", submit(one, "a", "d", "c"), first[0], "", third[0])
		if _, err := store.db.Exec("update queue set state = 'done' where key = 'b'"); err != nil {
			t.Fatal(err)
		}
		if got := submit(one, "a", "e", "f"); got[0] != first[0] || got[1] == "" || got[2] != "" {
			t.Errorf("one has ended: %q", got)
		}
		if _, err := store.db.Exec("update queue set state = 'done'"); err != nil {
			t.Fatal(err)
		}
		if got := submit(other, "g"); got[0] == "" {
			t.Error("all have ended, and there is no room")
		}
		submit(one, "h", "i")
		now = now.Add(counted)
		same("what another replica took in", submit(other, "j"), "")
	})
}
