package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gridbroker/plugins"
)

// TestSelectAgain: who asks for the live jobs again and again is given the records that he has of those of which nothing was
// written, and reads those that anybody has written to, whatever is in them.
func TestSelectAgain(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	ours, others := opened(t, dir), opened(t, dir)
	var rs []*Record
	for i := range 2*readAtOnce + 7 {
		r := fullRecord(fmt.Sprintf("1%04d", i))
		rs = append(rs, r)
	}
	rs[3].State = plugins.Intended
	if err := ours.Add(ctx, rs); err != nil {
		t.Fatal(err)
	}
	var had []*Record
	look := func(want int) []*Record {
		t.Helper()
		got, err := ours.Select(ctx, Query{Live: true, Again: true, Had: had})
		if err != nil || len(got) != want || !slices.IsSortedFunc(got, func(a, b *Record) int { return cmp.Compare(a.ID, b.ID) }) {
			t.Fatalf("%d records, want %d: %v", len(got), want, err)
		}
		fresh := got[:0:0]
		for _, r := range got {
			if !slices.Contains(had, r) {
				fresh = append(fresh, r)
			}
		}
		had = got
		return fresh
	}
	reasons := func(fresh []*Record, want ...string) {
		t.Helper()
		var got []string
		for _, r := range fresh {
			if r.State != plugins.Intended { // always read: it is written over before it is sent
				got = append(got, r.ID+" "+r.Reason)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("read: %q, want %q", got, want)
		}
	}
	write := func(s *SQLite, r *Record, reason string) {
		t.Helper()
		errs, err := s.Update(ctx, []*Record{r}, func(r *Record) (Change, error) {
			if r.Reason = reason; reason == "no" {
				return Change{}, errors.New("no")
			}
			return Change{}, nil
		})
		if err != nil || (errs[0] == nil) == (reason == "no") {
			t.Fatal(errs, err)
		}
	}
	look(len(rs))
	reasons(look(len(rs)))
	write(others, &Record{ID: "10004"}, "theirs")
	reasons(look(len(rs)), "10004 theirs")
	write(ours, had[5], "ours") // we know it
	write(ours, had[6], "no")
	reasons(look(len(rs)))
	if had[5].Reason != "ours" || had[6].Reason != rs[6].Reason {
		t.Errorf("%q, %q", had[5].Reason, had[6].Reason)
	}
	write(others, &Record{ID: "10005"}, rs[5].Reason) // as we had it before
	reasons(look(len(rs)), "10005 "+rs[5].Reason)
	write(ours, &Record{ID: "10007"}, "by another copy of ours")
	reasons(look(len(rs)), "10007 by another copy of ours")
	if err := others.Delete(ctx, []*Record{{ID: "10008"}}); err != nil {
		t.Fatal(err)
	}
	reasons(look(len(rs) - 1))
	if n := len(ours.again.sum); n != len(had) {
		t.Errorf("%d records are known of, of %d", n, len(had))
	}
}

// TestSelectAgainTellsOfDamage: a record that cannot be read is told of at each look, and the others are given.
func TestSelectAgainTellsOfDamage(t *testing.T) {
	ctx, s := context.Background(), opened(t, t.TempDir())
	if err := s.Add(ctx, []*Record{fullRecord("1a"), fullRecord("1b"), fullRecord("1c")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("UPDATE jobs SET body = 'x' WHERE id = '1b'"); err != nil {
		t.Fatal(err)
	}
	var had []*Record
	for range 2 {
		got, err := s.Select(ctx, Query{Live: true, Again: true, Had: had})
		if damaged, ok := errors.AsType[*DamagedError](err); !ok || len(damaged.IDs) != 1 || damaged.IDs[0] != "1b" || len(got) != 2 {
			t.Fatalf("%d records, %v", len(got), err)
		}
		if had != nil && !slices.Equal(got, had) {
			t.Error("what had not changed was read again")
		}
		had = got
	}
	last, err := s.Select(ctx, Query{Again: true, Backwards: true, Limit: 1})
	if err != nil || len(last) != 1 || last[0].ID != "1c" {
		t.Errorf("%v, %v", last, err)
	}
}
