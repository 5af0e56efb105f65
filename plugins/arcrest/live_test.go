package arcrest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// remembering is an A-REX with four jobs of ours and some old ones.
func remembering(t *testing.T, old int) *fake {
	words := map[string][2]string{"job1": {"RUNNING", "INLRMS"}, "job2": {"PREPARED", "PENDING:PREPARING"}, "job3": {"FAILED", "FINISHED"}, "job4": {"DREAMING", "DREAMING"}}
	return newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		part := strings.Split(r.URL.Path, "/")
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs"):
			fmt.Fprint(w, "<jobs>")
			for id, word := range words {
				fmt.Fprintf(w, "<job><id>%s</id><state>%s</state></job>", id, word[0])
			}
			for i := range old {
				fmt.Fprintf(w, "<job><id>old%d</id><state>FINISHED</state></job>", i)
			}
			fmt.Fprint(w, "</jobs>")
		case r.URL.Query().Get("action") == "info":
			echo(w, body, "<status-code>200</status-code><reason>OK</reason><info_document><ComputingActivity><Name>ours name</Name></ComputingActivity></info_document>")
		case strings.HasSuffix(r.URL.Path, "/diagnose/status"):
			fmt.Fprint(w, words[part[len(part)-3]][1]+"\n")
		case strings.HasSuffix(r.URL.Path, "/job3/diagnose/failed"):
			fmt.Fprint(w, "broken by its program\n")
		case strings.Contains(r.URL.Path, "/diagnose/"):
			w.WriteHeader(http.StatusNotFound)
		default:
			return false
		}
		return true
	})
}

// TestLongLists: a CE that remembers many jobs is asked for its list once in a while, and
// in between for the jobs in question, with the same answers; another one always. A
// list from the future tells nothing.
func TestLongLists(t *testing.T) {
	for _, c := range []struct{ old, lists int }{{1000, 2}, {0, 4}} {
		f := remembering(t, c.old)
		dir, now := t.TempDir(), time.Now()
		want := []plugins.State{plugins.Running, plugins.Queued, plugins.Failed, plugins.Unknown} // an unknown one is not the others' matter
		for i, wait := range []time.Duration{0, time.Minute, time.Minute, -10 * time.Minute} {
			now = now.Add(wait)
			b := f.backend(t) // as another command would
			b.o.StateDir, b.o.Now = dir, func() time.Time { return now }
			var hs []plugins.Handle
			for _, id := range []string{"job1", "job2", "job3", "job4"} {
				hs = append(hs, plugins.Handle{Endpoint: f.url(), ID: id})
			}
			for k, st := range b.Status(t.Context(), hs) {
				if st.State != want[k] || st.Err != nil || k == 2 && st.Reason != "broken by its program" {
					t.Errorf("%d old ones, command %d: %+v", c.old, i, st)
				}
			}
		}
		if n := f.count("/jobs?state="); n != c.lists {
			t.Errorf("%d old ones: %d lists, want %d", c.old, n, c.lists)
		}
	}
}

// TestListLife: how long a list was is believed for a week, so that no day begins with a long one.
func TestListLife(t *testing.T) {
	b := newFake(t, nil).backend(t)
	now := time.Now()
	b.o.Now = func() time.Time { return now }
	for days, want := range map[time.Duration]int{3: 1000, 8: 0, -1: 0} {
		c := &client{o: b.o}
		c.listing.Store(&listLength{Jobs: 1000, Seen: now.Add(-days * 24 * time.Hour)})
		if got := (looker{c}).listed().Jobs; got != want {
			t.Errorf("%d days later: a list of %d jobs, want %d", days, got, want)
		}
	}
}

// TestRealOneByOne: states asked for one by one are those of the list, for whatever
// jobs the CE has; so are those of a job that it does not have.
func TestRealOneByOne(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	urls := []string{bed.REST10[1]}
	if len(bed.REST11) > 0 {
		urls = append(urls, bed.REST11[0])
	}
	for _, url := range urls {
		b := as(t, bed, "alice")
		id := time.Now().UnixNano()
		hs := submit(t, b, at(url, shell(fmt.Sprintf("t%da", id), "true"), shell(fmt.Sprintf("t%db", id), "exit 3"), shell(fmt.Sprintf("t%dc", id), "sleep 300")))
		c, err := b.client(t.Context(), "x", url, "")
		check(t, err)
		b.Cancel(t.Context(), hs[2:])
		await(t, b, hs)
		there, err := c.list(t.Context())
		check(t, err)
		before, jobs, err := looker{c}.live(t.Context(), setOf(there))
		check(t, err)
		if jobs < len(before) || len(before) < len(hs) {
			t.Errorf("%s: %d jobs in the list, %d of them asked about", url, jobs, len(before))
		}
		one, err := looker{c}.oneByOne(t.Context(), slices.Collect(maps.Keys(before)))
		check(t, err)
		after, _, err := looker{c}.live(t.Context(), setOf(there))
		check(t, err)
		for id, state := range before {
			if after[id] == state && one[id] != state {
				t.Errorf("%s: %s is %s in the list and %q by itself", url, id, state, one[id])
			}
		}
		for i, want := range []string{"FINISHED", "FAILED", "FAILED"} {
			if one[hs[i].ID] != want {
				t.Errorf("%s: job %d is %q, want %s", url, i, one[hs[i].ID], want)
			}
		}
		none, err := looker{c}.oneByOne(t.Context(), []string{"nosuchjob"})
		if err != nil || len(none) > 0 {
			t.Errorf("%v, %v", none, err)
		}
	}
}

// TestWordsWithoutEnd: of a state that a CE calls by a megabyte there is kept what a record keeps of it.
func TestWordsWithoutEnd(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/diagnose/status"):
			fmt.Fprint(w, strings.Repeat("X", maxDiag))
		case r.URL.Query().Get("action") == "info":
			echo(w, body, "<status-code>200</status-code><reason>OK</reason>")
		default:
			return false
		}
		return true
	})
	b := f.backend(t)
	c, err := b.client(t.Context(), "x", f.url(), "")
	check(t, err)
	c.listing.Store(&listLength{Jobs: 1000, Seen: b.o.Now()})
	for _, st := range b.Status(t.Context(), []plugins.Handle{c.handle("job1"), c.handle("job2")}) {
		if n := len(st.Native); n == 0 || n > maxWords {
			t.Errorf("a state of %d bytes", n)
		}
	}
}
