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
