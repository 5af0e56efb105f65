package main_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// claims has a user claim all places that his jobs have, and tells which.
func (w *woods) claims(u *world, keys []string) (got []string) {
	w.t.Helper()
	code, text := w.ask(u, "/v1/jobs/claim", map[string]any{"keys": keys})
	var doc struct {
		Jobs []struct{ Key, State string } `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(text), &doc); code != 200 || err != nil {
		w.t.Fatalf("%d %v %s", code, err, text)
	}
	for _, j := range doc.Jobs {
		if j.State == "claimed" {
			got = append(got, j.Key)
		}
	}
	return got
}

// One user has 400 jobs in the tree when another comes with one: that has a place among the next few.
func TestUsersOfADeskTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWoods(t, "60s")
	alice, bob := w.user("alice"), w.user("bob")
	w.answers(alice)
	w.answers(bob)
	var keys []string
	for i := range 400 {
		keys = append(keys, fmt.Sprint("a", i))
	}
	hand := func(u *world, keys ...string) {
		var jobs []map[string]any
		for _, key := range keys {
			jobs = append(jobs, map[string]any{"key": key, "need": map[string]int{"cpus": 2}})
		}
		if code, said := w.ask(u, "/v1/jobs", map[string]any{"jobs": jobs}); code != 200 {
			t.Fatal(code, said)
		}
	}
	hand(alice, keys...)
	for end := time.Now().Add(30 * time.Second); len(w.claims(alice, keys)) < 2; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no two places within half a minute")
		}
	}
	time.Sleep(2 * time.Second) // all have told what they have
	hand(bob, "b")
	time.Sleep(2 * time.Second)
	places := 0
	for end := time.Now().Add(30 * time.Second); len(w.claims(bob, []string{"b"})) == 0; time.Sleep(20 * time.Millisecond) {
		got := w.claims(alice, keys)
		if places += len(got); places > 40 || time.Now().After(end) {
			t.Fatalf("%d places went to one user while the other waited", places)
		}
		if code, said := w.ask(alice, "/v1/jobs/end", map[string]any{"keys": append([]string{}, got...)}); code != 200 {
			t.Fatal(code, said)
		}
	}
	t.Logf("%d places went to the one first", places)
}
