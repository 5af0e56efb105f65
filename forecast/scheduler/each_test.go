package scheduler

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gridbroker/forecast/wire"
)

// What a statement over a list writes is the same whether the embedded database reads the
// list or is given a statement for each element.
func TestEachElement(t *testing.T) {
	seal, err := NewSeal(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	write := func(byRow bool) (all []string) {
		s, err := OpenScratch(t.Context(), filepath.Join(t.TempDir(), "x.db"), seal)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		h := tables(s.ways.(*scratch).h.statements)
		d := &wire.Delta{Cluster: "c", Put: []wire.Slot{
			{ID: 1<<53 - 1, Node: "n\u00e4 \"1\"", CPUs: 3, From: 5, Start: 0.98, Hold: 1e-9},
			{ID: 2, CPUs: 1, GPUs: 2, Memory: 1 << 40, From: 1, To: 9, Latest: 4, Start: 1, Hold: 0.5, Priority: 2.5, Task: "t"},
			{ID: 2, CPUs: 7, Start: 1, Hold: 1}},
			Jobs: []wire.Entry{{Task: "<a>", State: "running", Procs: 2, Start: 3, Reserved: true}, {Task: "b", State: "held"}}}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		lists := func() {
			do(deltaTables{h.statements, d, 0}.keepSlots(t.Context()))
			do(deltaTables{h.statements, d, 0}.keepLocal(t.Context()))
			do(h.accounts.enter(t.Context(), deal(7, "d", "a", "b", 12, "j", "why\nnot")))
			do(h.actions.add(t.Context(), []actionRow{{"k", "j", launch, 9}, {"k", "j", end, 10}}, 3))
			do(h.log.write(t.Context(), 4, []Entry{{At: 1, Event: "e"}, {At: 2, Job: "j", Cluster: "c", Who: "w", Event: "e", Said: "not UTF-8: \xff"}}))
			do(h.bookings.book(t.Context(), []bookingRow{{"k", "j", "c", 1, 2, 3, wire.Booking{Key: "k", Way: wire.Begin}}}, 2))
			do(h.bookings.close(t.Context(), []closedRow{{"k", "over", 77, "j"}}))
			do(h.queue.save(t.Context(), []*Job{{ID: "j", State: Running, Reason: "a & b"}}))
		}
		do(h.write(t.Context(), "insert into queue (id, owner, key, state, body) values ('j', 'o', 'k', 'waiting', '{}')"))
		if !byRow { // what is marked so cannot be said of one element
			lists()
			if len(s.d.said.each) < 7 {
				t.Fatalf("%d statements were done for each element", len(s.d.said.each))
			}
			for query, r := range s.d.said.each {
				if r == nil && strings.Contains(query, "{each}") {
					t.Errorf("not done for each element: %s", query)
				}
				s.d.said.each[query] = nil
			}
			for _, table := range []string{"content", "local_job", "ledger", "balance", "action", "log", "booking"} {
				do(h.write(t.Context(), "delete from "+table))
			}
			do(h.write(t.Context(), "delete from sqlite_sequence where name <> 'queue'"))
		}
		lists()
		for _, table := range []string{"content", "local_job", "ledger", "balance", "action", "log", "booking", "queue"} {
			rows, err := h.query(t.Context(), "select * from "+table)
			do(err)
			names, err := rows.Columns()
			do(err)
			for rows.Next() {
				line, to := make([]any, len(names)), make([]any, len(names))
				for i := range line {
					to[i] = &line[i]
				}
				do(rows.Scan(to...))
				all = append(all, fmt.Sprintf("%s %#v", table, line))
			}
			do(rows.Close())
		}
		return all
	}
	lists, rows := write(false), write(true)
	if len(lists) < 11 || !slices.Equal(lists, rows) {
		t.Errorf("as a list\n%q\nby element\n%q", lists, rows)
	}
}
