package agent

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Two agents that tell of one cluster take back what the other told. Both say so, seldom; one that was alone says nothing,
// also where its scheduler has lost its state or an older copy was brought back.
func TestTwoAgentsOfOneCluster(t *testing.T) {
	b := newBench(t)
	var logs [2]bytes.Buffer
	agent := func(i int) *Agent {
		a := b.agent()
		a.Conf.Memory = ""
		a.Log = slog.New(slog.NewTextHandler(&logs[i], &slog.HandlerOptions{Level: slog.LevelWarn}))
		return a
	}
	said := func(i int) int { return strings.Count(logs[i].String(), "another agent tells of this cluster") }
	one, two := agent(0), agent(1)
	for range 6 {
		b.wait(20 * time.Second)
		b.step(one)
	}
	for _, back := range []uint64{0, 1} { // lost, and an older copy
		b.c.with(func() { b.c.set.Clear(); b.c.seq = back })
		for range 6 {
			b.wait(20 * time.Second)
			b.step(one)
		}
	}
	if n := said(0); n > 0 {
		t.Errorf("one that is alone says so %d times: %s", n, &logs[0])
	}
	for range 45 { // a quarter of an hour
		b.wait(20 * time.Second)
		b.step(one)
		b.step(two)
	}
	for i := range logs {
		if n := said(i); n < 1 || n > 2 {
			t.Errorf("agent %d says so %d times in a quarter of an hour", i, n)
		}
	}
}
