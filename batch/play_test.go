package batch

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestSame changes every field of a job, of which each is news.
func TestSame(t *testing.T) {
	j := Job{ID: "j", Started: time.Unix(1, 0), Placed: []Placement{{"n", 1}}}
	of := reflect.TypeFor[Job]()
	for i := range of.NumField() {
		if of.Field(i).Name == "Started" { // told apart before
			continue
		}
		k := j
		switch v := reflect.ValueOf(&k).Elem().Field(i); v.Kind() {
		case reflect.String:
			v.SetString("other")
		case reflect.Int, reflect.Int64:
			v.SetInt(7)
		case reflect.Float64:
			v.SetFloat(7)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		default:
			v.Set(reflect.ValueOf(time.Unix(7, 0)))
		}
		if j.same(&k) {
			t.Errorf("another %s is no news", of.Field(i).Name)
		}
	}
	if k := j; !j.same(&k) {
		t.Error("the same job is news")
	}
	w := Job{ID: "j"}
	if k := j; !w.same(&k) {
		t.Error("a start, and where it was, is more than a start")
	}
}

// TestPlay: what submissions, starts and ends say is played, and no model set up anew;
// what they do not say sets it up anew.
func TestPlay(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	job := func(id string, submitted int) Job {
		return Job{ID: id, Procs: 2, Requested: time.Hour, Submitted: at(submitted)}
	}
	s := State{Now: now, Nodes: []Node{{Name: "a", CPUs: 4, Up: true}, {Name: "b", CPUs: 4, Up: true}}, Jobs: []Job{job("r", -90), job("w", -80), job("x", -70)}}
	s.Jobs[0].Started, s.Jobs[0].Placed = at(-60), []Placement{{"a", 2}}
	f := Forecaster{Policy: Policy{Name: "easy"}}
	l, err := f.Live(s)
	if err != nil {
		t.Fatal(err)
	}
	sync := func(what string, played bool, next State) {
		t.Helper()
		c := l.c
		if _, err := l.Sync(next); err != nil {
			t.Fatal(err)
		}
		if (l.c == c) != played {
			t.Errorf("%s: the model was kept: %v, want %v", what, l.c == c, played)
		}
		got := l.State()
		if len(got.Jobs) != len(next.Jobs) || !got.Now.Equal(next.Now) {
			t.Errorf("%s: %+v, want %+v", what, got, next)
		}
	}
	next := s.copy()
	next.Now, next.Jobs = at(10), append(next.Jobs[1:], job("y", 5)) // r has ended, w has started, y has come
	next.Jobs[0].Started, next.Jobs[0].Placed = at(7), []Placement{{"b", 2}}
	sync("an end, a start, a submission", true, next)
	just := next.copy()
	just.Now, just.Jobs = at(15), append(just.Jobs, job("u", 10), job("v", 10))
	sync("jobs that were submitted in the second of the last look", true, just)
	tied := just.copy()
	tied.Jobs[4].Submitted = at(15)
	sync("another time of submission", false, tied)
	beside := tied.copy()
	beside.Now, beside.Jobs = at(18), append(beside.Jobs, job("t", 15))
	sync("a job that was submitted in that second as one that is known", false, beside)
	next = beside
	late := next.copy()
	late.Now, late.Jobs = at(20), append(late.Jobs, job("z", 3))
	sync("a job that was submitted before the last look", false, late)
	dearer := late.copy()
	dearer.Now = at(30)
	dearer.Jobs[1].Priority = 5
	sync("another priority", false, dearer)
	again := dearer.copy()
	again.Now = at(40)
	again.Jobs[0].Started, again.Jobs[0].Placed = time.Time{}, nil
	sync("a job that waits again", false, again)
	down := again.copy()
	down.Now = at(50)
	down.Nodes[1].Up = false
	sync("a node that is down", false, down)
}

// TestArrayTaskAhead: a job that comes ahead of one of its array, of which one runs at once, is let in before it, by a Live as by
// a fresh forecast.
func TestArrayTaskAhead(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	task := Job{Array: "a", ArrayLimit: 1, Procs: 1, Requested: time.Hour, Submitted: now}
	runs, first, then := Job{ID: "r", Procs: 1, Requested: time.Hour, Submitted: now, Started: now}, task, task
	first.ID, then.ID, then.Priority, then.Submitted = "1", "2", 1, now.Add(time.Minute)
	s := State{Now: now, Nodes: []Node{{Name: "n", CPUs: 1, Up: true}}, Jobs: []Job{runs, first}}
	for _, policy := range []string{"fcfs", "easy", "slurm"} {
		f := Forecaster{Policy: Policy{Name: policy}}
		live, err := f.Live(s)
		if err != nil {
			t.Fatal(err)
		}
		later := s
		later.Now, later.Jobs = then.Submitted, append(slices.Clone(s.Jobs), then)
		if _, err := live.Sync(later); err != nil {
			t.Fatal(err)
		}
		if starts := live.Starts(0); len(starts) != 2 || starts[0].ID != "2" || starts[1].ID != "1" {
			t.Errorf("%s: %+v", policy, starts)
		}
	}
}
