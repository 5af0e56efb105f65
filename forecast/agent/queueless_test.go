package agent

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
)

// A queue whose nodes are offered and that is there no more, as where it was renamed, closes the cluster: the agent says so, once, and
// which queues there are, and tells when it is back.
func TestQueueRenamed(t *testing.T) {
	b, said := newBench(t), &bytes.Buffer{}
	named := func(name string) {
		b.site.state.Queues = []batch.Queue{{Name: name}}
		b.site.state.Nodes = slices.Clone(b.site.state.Nodes)
		for i := range b.site.state.Nodes {
			b.site.state.Nodes[i].Queues = []string{name}
		}
	}
	named("all")
	a := b.agent()
	a.Conf.Queue, a.Log = "all", slog.New(slog.NewTextHandler(said, nil))
	look := func() (slots int) {
		t.Helper()
		b.later("", false)
		b.site.state.Jobs = nil
		if err := a.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.c.with(func() { slots = b.c.set.Len() })
		return slots
	}
	if look() == 0 || said.Len() > 0 {
		t.Error(said)
	}
	named("brief")
	for range 3 {
		if n := look(); n != 0 {
			t.Errorf("%d slots of a queue that is not there", n)
		}
	}
	if n := strings.Count(said.String(), "no node is of queue all (--queue), so nothing is offered; the queues are brief"); n != 1 {
		t.Errorf("said %d times: %s", n, said)
	}
	named("all")
	if look() == 0 || !strings.Contains(said.String(), "guests get slots again") {
		t.Error(said)
	}
}

// heard keeps what is written, and ends something with the first of it.
type heard struct {
	bytes.Buffer
	end func()
}

func (h *heard) Write(p []byte) (int, error) {
	h.end()
	return h.Buffer.Write(p)
}

// Where an agent's disk is full it publishes, and says what it cannot do, which is not that.
func TestMemoryIsNotWritten(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	a.Conf.Memory = filepath.Join(t.TempDir(), "gone", "memory")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	said := &heard{end: cancel}
	a.Log = slog.New(slog.NewTextHandler(said, nil))
	a.Run(ctx)
	if text := said.String(); strings.Contains(text, "not published") || !strings.Contains(text, "an end of this agent would lose what it has learned") {
		t.Error(text)
	}
	b.c.with(func() {
		if b.c.full != 1 {
			t.Errorf("%d schedules were published", b.c.full)
		}
	})
}
