package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/durable/sqlite"
	"gridbroker/jobs"
)

// TestHostileBackups: a backup whose tables are views without end, or that does something of its
// own when records are written, is refused by what is wrong with it, as is one that is a pipe.
func TestHostileBackups(t *testing.T) {
	const endless = " AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT 'id' || i AS "
	for name, c := range map[string]struct{ made, said string }{
		"records without end": {"DROP TABLE jobs; CREATE VIEW jobs" + endless + "id, 'done' AS state, 0 AS created, '' AS parent, '{}' AS body, '' AS sum, 0 AS loose FROM n", `a view, "jobs"`},
		"a log without end":   {"DROP TABLE log; CREATE VIEW log" + endless + "job, 0 AS at, 'sent' AS action, '' AS text FROM n", `a view, "log"`},
		"a trigger":           {"CREATE TRIGGER t AFTER INSERT ON jobs BEGIN DELETE FROM jobs; END", `a trigger, "t"`},
		"a pipe":              {"", "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for the disk
			dir, backup := t.TempDir(), filepath.Join(t.TempDir(), "backup.db")
			if err := os.WriteFile(filepath.Join(dir, "jobs.db"), []byte("no database"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := hostile(t, backup, c.made); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			ended := make(chan error, 1)
			go func() {
				_, err := jobs.Rebuild(ctx, dir, backup, time.Now)
				ended <- err
			}()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), c.said) {
					t.Error(err)
				}
			case <-time.After(10 * time.Second):
				t.Error("it does not end")
			}
			if text, err := os.ReadFile(filepath.Join(dir, "jobs.db")); string(text) != "no database" {
				t.Error("what was there is gone", err)
			}
		})
	}
}

// hostile makes a backup in which something is made that no backup has; "": a pipe.
func hostile(t *testing.T, backup, made string) error {
	if made == "" {
		return syscall.Mkfifo(backup, 0o600)
	}
	s := openStore(t, t.TempDir())
	defer s.Close()
	if err := s.Add(t.Context(), records("1m000001")); err != nil {
		return err
	}
	if err := s.Backup(t.Context(), backup); err != nil {
		return err
	}
	db, err := sqlite.Open(backup, sqlite.Settings{Sync: sqlite.Normal})
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(made)
	return err
}
