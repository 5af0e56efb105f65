package cli

import (
	"bytes"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// idAt is an id as jobs have them: milliseconds in nine characters, and six more.
func idAt(at time.Time, number int) string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	text := make([]byte, 15)
	for i, v := 8, at.UnixMilli(); i >= 0; i, v = i-1, v/32 {
		text[i] = alphabet[v%32]
	}
	for i, v := 14, number; i >= 9; i, v = i-1, v/32 {
		text[i] = alphabet[v%32]
	}
	return string(text)
}

// TestOutputOfManyUnseen: of jobs that begin and end between two looks of a follower, however many there are, every output that
// is wanted is brought; what was there before is not read again at every look, nor where the clock was set back forgotten.
func TestOutputOfManyUnseen(t *testing.T) {
	now := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	store, err := jobs.OpenStore(t.TempDir(), clock)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	d := &deps{env: Env{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Now: clock}}
	f := &follower{deps: d, session: &session{jobs: &jobs.Controller{Store: store}}, owed: map[string]*owing{}}
	job, err := jdl.ParseJob("auto.jdl", []byte(`Executable = "/bin/true"; AutoOutput = true;`))
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	ended := func(n int) {
		rs := make([]*jobs.Record, n)
		for i := range rs {
			number++
			rs[i] = &jobs.Record{ID: idAt(now, number), Name: "auto", State: plugins.Done, Created: now, Ended: now,
				JDL: job.Text()}
		}
		if err := store.Add(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
	}
	look := func(want int) {
		t.Helper()
		f.began = now
		if err := f.owe(t.Context()); err != nil || len(f.owed) != want {
			t.Errorf("%d outputs are to come, %v; want %d", len(f.owed), err, want)
		}
	}
	ended(3)
	look(3)
	now = now.Add(time.Minute)
	ended(2 * lastEnded)
	now = now.Add(time.Minute)
	look(3 + 2*lastEnded)
	now = now.Add(-time.Hour)
	ended(2 * lastEnded)
	look(3 + 4*lastEnded)
}
