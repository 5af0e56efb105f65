package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// short is a back-end that says nothing of the last jobs it is asked about.
type short struct {
	*fake
	by int
}

func (s short) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	return s.fake.Status(ctx, hs[:len(hs)-s.by])
}

// A job of which the back-end says nothing keeps its state, and that is told; the others are followed.
func TestNoAnswerForSome(t *testing.T) {
	b, f := rig(t)
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`)))
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{glue.InterfaceARCREST}}, Submitter: short{f, 1}})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = reg
	refresh(t, b, os)
	if got := states(os); got != "running accepted" || os[0].Err != nil || os[1].Err == nil || os[1].Fresh {
		t.Errorf("%s; %v, %v", got, os[0].Err, os[1].Err)
	}
}

// Where no back-end speaks to a place, its jobs say so.
func TestPlaceOfNobody(t *testing.T) {
	b, _ := rig(t)
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
	reg, err := plugins.NewRegistry(plugins.Opened{Backend: plugins.Backend{Interfaces: []string{"other"}}, Submitter: blind{}})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = reg
	refresh(t, b, os)
	if o := os[0]; o.State != plugins.Accepted || o.Err == nil || !strings.Contains(o.Err.Error(), "no back-end for") {
		t.Errorf("%s, %v", o.State, o.Err)
	}
}

// What another process has seen or done while a back-end is asked stands: an older answer neither takes an end back nor is
// one of the attempt that has been sent since.
func TestOthersWhileAsking(t *testing.T) {
	done := plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	for name, c := range map[string]struct {
		meanwhile
		says   plugins.State
		state  plugins.State
		handle string
	}{
		"it has ended":          {all(jobs.Seen{Status: done}), plugins.Running, plugins.Done, "their-"},
		"it has ended in two":   {all(jobs.Seen{Status: done}), plugins.Failed, plugins.Done, "their-"},
		"it is sent anew":       {all(jobs.Seen{Status: done}, jobs.Resubmitted{}, claimed("living"), jobs.Accepted{Handle: plugins.Handle{ID: "b2"}}), plugins.Done, plugins.Accepted, "b2"},
		"it is being sent anew": {all(jobs.Seen{Status: done}, jobs.Resubmitted{}, claimed("living")), plugins.Done, plugins.Submitting, ""},
	} {
		b, f := rig(t)
		told := &recorder{}
		b.Recorders = []plugins.Recorder{told}
		os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
		f.status = func(plugins.Handle) plugins.Status {
			c.happen(t, b.Store, os[0].ID)
			return plugins.Status{State: c.says}
		}
		refresh(t, b, os)
		if o := os[0]; o.State != c.state || !strings.HasPrefix(o.Handle.ID, c.handle) || c.handle == "" && o.Handle.ID != "" || o.Err != nil || told.ended != "" {
			t.Errorf("%s: %s as %q, %v; told of the ends %q", name, o.State, o.Handle.ID, o.Err, told.ended)
		}
	}
}

// Recorders are told of each end once, when it is believed, and jobs that have ended are not asked about.
func TestEndsAreToldOnce(t *testing.T) {
	for says, want := range map[plugins.State]string{plugins.Running: "", plugins.Done: "done ", plugins.Failed: "failed ", plugins.Lost: "lost ", plugins.Unknown: ""} {
		b, f := rig(t)
		told, asked := &recorder{}, 0
		b.Recorders = []plugins.Recorder{told}
		now := start
		b.Clock = clock.Set(func() time.Time { return now })
		f.status = func(plugins.Handle) plugins.Status { asked++; return plugins.Status{State: says} }
		os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`)))
		for range 4 {
			refresh(t, b, os)
			now = now.Add(jobs.MissingTime / 2)
		}
		most := map[bool]int{true: 1, false: 4}[says == plugins.Done || says == plugins.Failed]
		if says == plugins.Lost {
			most = 3
		}
		if told.ended != want || asked != most {
			t.Errorf("%s: told of the ends %q, want %q; asked %d times, want %d", says, told.ended, want, asked, most)
		}
	}
}

// counted is a store that counts the records that it is asked to change.
type counted struct {
	jobs.Store
	changes int
}

func (s *counted) Update(ctx context.Context, rs []*jobs.Record, f func(*jobs.Record) (jobs.Change, error)) ([]error, error) {
	s.changes += len(rs)
	return s.Store.Update(ctx, rs, f)
}

// Records that were just read are not read again where their back-end says of their jobs what they say; whatever is new is
// written, and nothing of another process's.
func TestCurrentRecordsAreNotReadAgain(t *testing.T) {
	b, f := rig(t)
	now := start
	b.Clock = clock.Set(func() time.Time { return now })
	os := submit(t, b, []*glue.Resource{site("a")}, set(stored(t, `Executable = "/bin/true";`), stored(t, `Executable = "/bin/true";`)))
	store := &counted{Store: b.Store}
	b.Store = store
	running := plugins.Status{State: plugins.Running, Native: "R", Node: "n1"}
	says := map[string]plugins.Status{os[0].Handle.ID: running, os[1].Handle.ID: running}
	f.status = func(h plugins.Handle) plugins.Status { return says[h.ID] }
	look := func() int {
		before := store.changes
		now = now.Add(time.Second)
		if _, err := b.Step(context.Background(), os, jobs.Waiting{Current: true}); err != nil {
			t.Fatal(err)
		}
		return store.changes - before
	}
	if n := look(); n != 2 {
		t.Errorf("the first look changed %d records, not 2", n)
	}
	if n := look(); n != 0 {
		t.Errorf("a look that found nothing new read %d records again", n)
	}
	says[os[1].Handle.ID] = plugins.Status{State: plugins.Running, Native: "R", Node: "n1", WallTime: time.Minute}
	if n := look(); n != 1 || os[1].WallTime != time.Minute {
		t.Errorf("a look that found news of one changed %d records; %v", n, os[1].WallTime)
	}
	says[os[0].Handle.ID] = plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
	says[os[1].Handle.ID] = plugins.Status{State: plugins.Unknown}
	if look(); os[0].State != plugins.Done || os[1].State != plugins.Running {
		t.Errorf("%s", states(os))
	}
	says[os[1].Handle.ID] = plugins.Status{State: plugins.Running, Native: "R", Node: "n1", WallTime: time.Minute}
	now = now.Add(time.Hour)
	if n := look(); n != 1 || !os[1].Updated.Equal(now) {
		t.Errorf("after an hour %d records are changed, and the job was asked about at %v", n, os[1].Updated)
	}
}
