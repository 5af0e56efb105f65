package jobs

import (
	"math"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// FuzzTell: whatever a back-end says of a job, the record can be written and read again, and stays small. Long
// words are short ones said many times: long inputs would be minimized for as long as anybody fuzzes.
func FuzzTell(f *testing.F) {
	f.Add(int64(0), int64(0), int64(0), "", "", uint16(1), 0)
	f.Add(int64(1<<53), int64(-1<<53), int64(math.MaxInt64), "\x1b\xff", "é", uint16(5000), -1)
	f.Add(int64(math.MinInt64), int64(253402300800), int64(latest+1), "\u2028", "\xff", uint16(9000), math.MaxInt)
	f.Fuzz(func(t *testing.T, started, ended, expires int64, native, word string, times uint16, code int) {
		reason := strings.Repeat(word, min(int(times), 20_000/max(1, len(word))))
		for _, st := range []plugins.State{plugins.Running, plugins.Done, plugins.Failed, plugins.Held} {
			r := inState(plugins.Queued)
			said := plugins.Status{State: st, Native: native, Reason: reason, Node: reason, ExitCode: glue.Some(code), Started: time.Unix(started, 0),
				Ended: time.Unix(ended, 0), Expires: time.Unix(expires, 0), WallTime: time.Duration(started), CPUTime: time.Duration(ended), MaxMemory: expires}
			if _, err := r.Apply(Seen{Status: said}, lifeStart); err != nil {
				t.Fatal(err)
			}
			body, sum, err := encode(r)
			if err != nil || len(body) > 100<<10 {
				t.Fatalf("%d bytes: %v", len(body), err)
			}
			if err := decode(body, sum, &Record{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := (&Record{}).Apply(TakenUp{Attempt: 1, Submitted: time.Unix(started, 0)}, lifeStart); err != nil {
			return // not from there
		}
	})
}

// TestOneImpossibleTime: what one back-end says of one job keeps no record from being written that is written with it.
func TestOneImpossibleTime(t *testing.T) {
	s, err := OpenStore(t.TempDir(), func() time.Time { return lifeStart })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var rs []*Record
	for _, id := range []string{"1aaa", "1bbb", "1ccc"} {
		r := inState(plugins.Queued)
		r.ID, r.Created = id, lifeStart
		rs = append(rs, r)
	}
	if err := s.Add(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	errs, err := s.Update(t.Context(), rs, func(r *Record) (Change, error) {
		said := plugins.Status{State: plugins.Running, Started: lifeStart}
		if r.ID == "1bbb" {
			said.Started, said.Reason = time.Unix(1<<53, 0), strings.Repeat("x", 1<<20)
		}
		return r.Apply(Seen{Status: said}, lifeStart)
	})
	if err != nil {
		t.Fatal(err, errs)
	}
	list, err := s.Select(t.Context(), Query{})
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	for _, r := range list {
		if r.State != plugins.Running || r.Started.IsZero() != (r.ID == "1bbb") || len(r.Reason) > mostSaid+3 {
			t.Errorf("%s: %s since %v, %d bytes of a reason", r.ID, r.State, r.Started, len(r.Reason))
		}
	}
}
