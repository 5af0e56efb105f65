package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// Texts that are all different do not fill the memory of a connection.
func TestStatementsBounded(t *testing.T) {
	db, err := Open(filepath.Join(t.TempDir(), "x.db"), Settings{Sync: Off, Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range 5 * maxKept {
		var got int
		if err := conn.QueryRowContext(t.Context(), fmt.Sprintf("select %d", i)).Scan(&got); err != nil || got != i {
			t.Fatal(got, err)
		}
	}
	err = conn.Raw(func(c any) error {
		if n := len(c.(*keeping).kept); n != maxKept {
			return fmt.Errorf("%d statements kept of %d, want %d", n, 5*maxKept, maxKept)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
