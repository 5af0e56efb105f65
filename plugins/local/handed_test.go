package local_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins"
	"gridbroker/plugins/local"
)

// TestHanded: while an external scheduler has a site, only it starts jobs; once it
// is gone, the site goes on by itself.
func TestHanded(t *testing.T) {
	b := newBackend(t, local.Site{Name: "a", Slots: 1})
	q, err := b.QueueReader("local:a")
	if err != nil {
		t.Fatal(err)
	}
	open := func() *local.Handed {
		return q.(interface{ Handed() plugins.QueueReader }).Handed().(*local.Handed)
	}
	h := open()
	if err := h.Take(); err != nil {
		t.Fatal(err)
	}
	if err := open().Take(); !refused(err) {
		t.Errorf("a second scheduler: %v", err)
	}
	js := submit(t, b, request("a", "j1", shell("sleep 60")), request("a", "j2", shell("true")), request("a", "j3", shell("true")))
	time.Sleep(300 * time.Millisecond) // some looks of a runner
	if s := seen(t, h); len(s.Jobs) != 3 || slices.ContainsFunc(s.Jobs, func(j batch.Job) bool { return !j.Started.IsZero() }) {
		t.Fatalf("before any was told to start: %+v", s.Jobs)
	}
	if err := h.Start(t.Context(), "j1", []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if s := seen(t, h); len(s.Jobs) != 3 || s.Jobs[2].ID != "j1" || s.Jobs[2].Started.IsZero() {
		t.Errorf("once started: %+v", s.Jobs)
	}
	for why, err := range map[string]error{
		"a second start":     h.Start(t.Context(), "j1", nil),
		"no slot is free":    h.Start(t.Context(), "j2", nil),
		"another node":       h.Start(t.Context(), "j2", []string{"b"}),
		"no such job":        h.Start(t.Context(), "j9", nil),
		"no name of a job":   h.Start(t.Context(), "../j2", nil),
		"suspended":          h.Suspend(t.Context(), "j1"),
		"cancelled, unknown": h.Cancel(t.Context(), "j9", "ADMIN"),
	} {
		if !refused(err) {
			t.Errorf("%s: %v", why, err)
		}
	}
	if err := h.Cancel(t.Context(), "j1", "ADMIN"); err != nil {
		t.Fatal(err)
	}
	if st := wait(t, b, js[0], plugins.State.Final); st.State != plugins.Cancelled {
		t.Errorf("j1 %s", st.State)
	}
	if err := h.Start(t.Context(), "j3", nil); err != nil {
		t.Fatal(err)
	}
	wait(t, b, js[2], plugins.State.Final)
	if st := b.Status(t.Context(), js[1:2])[0]; st.State != plugins.Queued {
		t.Errorf("j2 %s", st.State)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if st := wait(t, b, js[1], plugins.State.Final); st.State != plugins.Done {
		t.Errorf("j2 %s %s", st.State, st.Reason)
	}
}

func seen(t *testing.T, h *local.Handed) batch.State {
	t.Helper()
	s, err := h.Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func refused(err error) bool {
	var failed *plugins.Error
	return errors.As(err, &failed) && failed.Kind == plugins.Refused
}
