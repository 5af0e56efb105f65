package agent

import (
	"net/http/httptest"
	"testing"
	"time"
)

// An agent goes on with another replica of its scheduler where the one that it asked is not there, at
// once, and stays with it; a delta of which nobody knows whether it was taken is asked about there, and not
// told twice.
func TestReplicasOfTheScheduler(t *testing.T) {
	b := newBench(t)
	first, second := httptest.NewServer(b.c), httptest.NewServer(b.c)
	t.Cleanup(second.Close)
	b.url = first.URL + "," + second.URL
	a := b.agent()
	b.step(a)
	if at := a.replicas.Current(); at != first.URL || b.c.full != 1 {
		t.Fatalf("replica %s asked, %d full sets", at, b.c.full)
	}
	b.c.with(func() { b.c.lose = true })
	b.wait(time.Minute)
	b.later("1", true)
	if err := a.Step(t.Context()); err == nil {
		t.Fatal("the answer was lost, and nobody missed it")
	}
	first.Close()
	b.wait(3 * time.Second)
	b.step(a)
	b.wait(time.Minute)
	b.later("2", true)
	b.step(a)
	b.same(a)
	if at := a.replicas.Current(); at != second.URL || b.c.full != 1 {
		t.Errorf("replica %s asked last, %d full sets", at, b.c.full)
	}
}

// Where the replica that an agent asks goes away between two looks, the look after that is told all the same.
func TestReplicaGoesBetweenLooks(t *testing.T) {
	b := newBench(t)
	first, second := httptest.NewServer(b.c), httptest.NewServer(b.c)
	t.Cleanup(second.Close)
	b.url = first.URL + "," + second.URL
	a := b.agent()
	b.step(a)
	first.Close()
	b.wait(time.Minute)
	b.later("1", true)
	b.step(a) // which would say so if it failed
	b.same(a)
	if b.c.full != 1 {
		t.Errorf("%d full sets", b.c.full)
	}
}
