package jobs_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"database/sql"

	"gridbroker/jobs"
)

// TestManyRecordsAreReadInOrder: more records than one task reads come in the order
// of their ids, and damaged ones among them are named.
func TestManyRecordsAreReadInOrder(t *testing.T) {
	dir := t.TempDir()
	s, err := jobs.OpenStore(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var rs []*jobs.Record
	var want []string
	for i := range 1500 {
		r := &jobs.Record{ID: fmt.Sprintf("1m81m5y0p%06d", i), Name: fmt.Sprint(i), State: "done", Created: time.Now()}
		rs = append(rs, r)
		if i != 300 && i != 1499 {
			want = append(want, r.ID)
		}
	}
	if err := s.Add(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE jobs SET body = '{' WHERE id IN (?, ?)", rs[300].ID, rs[1499].ID); err != nil {
		t.Fatal(err)
	}
	got, err := s.Select(t.Context(), jobs.Query{})
	damaged, ok := errors.AsType[*jobs.DamagedError](err)
	if !ok || !slices.Equal(damaged.IDs, []string{rs[300].ID, rs[1499].ID}) {
		t.Errorf("damaged: %v", err)
	}
	var ids []string
	for _, r := range got {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, want) {
		t.Errorf("%d records, want %d in order", len(ids), len(want))
	}
}
