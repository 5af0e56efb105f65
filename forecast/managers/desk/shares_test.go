package desk

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/managers"
	"gridbroker/forecast/managers/daemon"
)

// byAge shares jobs written as USER:SUBMITTED or USER:SUBMITTED:PRIORITY, and tells them in the order of their ages.
func byAge(text string) string {
	var list []*job
	for i, word := range strings.Fields(text) {
		j := &job{ID: managers.ID(fmt.Sprint(i))}
		fmt.Sscanf(strings.ReplaceAll(word, ":", " "), "%s %d %d", &j.Subject, &j.Submitted, &j.Priority)
		list = append(list, j)
	}
	share(list, time.UnixMilli(100))
	slices.SortStableFunc(list, func(a, b *job) int {
		if a.Priority != b.Priority {
			return b.Priority - a.Priority
		}
		return int(a.age - b.age)
	})
	var out []string
	for _, j := range list {
		out = append(out, fmt.Sprintf("%s%d>%d", j.Subject, j.Submitted, j.age))
	}
	return strings.Join(out, " ")
}

// Jobs swap their ages so that users have their turns within a priority; who is alone, or has as many turns as there are, keeps his.
func TestShares(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"a:1 a:2 a:3":                "a1>1 a2>2 a3>3",
		"a:1 a:2 a:3 b:9":            "a1>1 b9>2 a2>3 a3>9",
		"a:5 b:3 c:4":                "b3>3 c4>4 a5>5",
		"a:1 a:2 a:3 b:7 b:8 c:9":    "a1>1 b7>2 c9>3 a2>7 b8>8 a3>9",
		"a:1 a:2 b:9:5 b:10:5 a:8:5": "a8>8 b9>9 b10>10 a1>1 a2>2",
		"old:1 a:50 a:51 b:60":       "old1>1 a50>50 b60>51 a51>60",
		"a:1 a:2 b:9:-1":             "a1>1 a2>2 b9>9",
		"b:9 a:3 a:2 a:1":            "a1>1 b9>2 a2>3 a3>9",
	} {
		if got := byAge(in); got != want {
			t.Errorf("%s:\n%s, want\n%s", in, got, want)
		}
	}
}

// However many jobs whoever has: together they are as old as before, and nobody's job is younger than a later one of his, or than
// anybody's of a later turn.
func TestSharesAddNoAge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var list []*job
		for i := range random.IntN(60) {
			list = append(list, &job{ID: managers.ID(fmt.Sprint(i)), Subject: fmt.Sprint("u", random.IntN(4)), Priority: random.IntN(2), Submitted: random.Int64N(40)})
		}
		share(list, time.UnixMilli(100)) // which puts them into their order
		had, have, turn, next := []string{}, []string{}, map[*job]int{}, map[string]int{}
		for _, j := range list {
			own := fmt.Sprint(j.Subject, j.Priority)
			turn[j] = next[own]
			next[own]++
			had, have = append(had, fmt.Sprint(j.Priority, j.Submitted)), append(have, fmt.Sprint(j.Priority, j.age))
			for before, n := range turn {
				if before.Priority == j.Priority && (n < turn[j] && before.age > j.age || n > turn[j] && before.age < j.age) {
					t.Fatalf("%+v of turn %d, %+v of turn %d", before, n, j, turn[j])
				}
			}
		}
		slices.Sort(had)
		slices.Sort(have)
		if !slices.Equal(had, have) {
			t.Fatalf("%v, then %v", had, have)
		}
	}
}

// hand hands n jobs of a user in that want one processor.
func (f *tree) hand(t *testing.T, who string, n int) {
	t.Helper()
	for i := range n {
		if told, err := f.submit(who, []managers.UserJob{{Key: fmt.Sprint("j", i), Need: managers.Resources{CPUs: 1}}}); err != nil || told[0].Error != "" {
			t.Fatal(told, err)
		}
	}
	synctest.Wait()
}

// follows has users be there, and a manager tell of the jobs that wait, as it does again and again. It takes out what it is told to.
func (f *tree) follows(waits map[managers.ID]managers.Job, users ...string) {
	for _, who := range users {
		f.claim(who, slices.Collect(maps.Keys(f.Desk.users[who].jobs)))
	}
	synctest.Wait()
	in, _ := f.heard()
	f.mu.Lock()
	f.in = nil
	f.mu.Unlock()
	for _, j := range in {
		if _, here := waits[j.ID]; !here {
			waits[j.ID] = j
		}
	}
	for _, id := range f.Orders(daemon.Report{Manager: "https://one", Waiting: slices.Collect(maps.Keys(waits))}).Drop {
		delete(waits, id)
	}
}

// first takes the jobs from a tree that it has room for, as managers do: the oldest first.
func (f *tree) first(waits map[managers.ID]managers.Job, n int) (who []string) {
	for range n {
		var best managers.Job
		for _, j := range waits {
			if best.ID == "" || j.Submitted < best.Submitted || j.Submitted == best.Submitted && j.ID < best.ID {
				best = j
			}
		}
		delete(waits, best.ID)
		f.Answer(daemon.Offer{Job: best.ID, Manager: "https://one", System: "one"})
		who = append(who, f.Desk.jobs[best.ID].Subject)
	}
	return who
}

// Who comes an hour after somebody's thousand jobs has every other place; those of the thousand that have lost their turns to him have
// his age in the tree, and get theirs back where he goes.
func TestUsersHaveTheirTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &tree{dir: t.TempDir()}
		f.open(t)
		defer f.stop(t)
		waits := map[managers.ID]managers.Job{}
		pass := func(of time.Duration, users ...string) {
			for end := time.Now().Add(of); time.Now().Before(end); time.Sleep(5 * time.Second) {
				f.follows(waits, users...)
			}
		}
		f.hand(t, "alice", 1000)
		began := time.Now().UnixMilli()
		pass(time.Hour, "alice")
		f.hand(t, "bob", 30)
		pass(time.Minute, "alice", "bob")
		young := 0
		for _, j := range waits {
			if j.Submitted > began+time.Hour.Milliseconds()/2 {
				if young++; f.Desk.jobs[j.ID].Subject != "alice" {
					t.Errorf("%s has the age of one who came late", j.ID)
				}
			}
		}
		if len(waits) != 1030 || young != 30 {
			t.Errorf("of %d jobs in the tree %d are young, not as many as came late", len(waits), young)
		}
		of := map[string]int{}
		for _, who := range f.first(waits, 20) {
			of[who]++
		}
		if of["bob"] < 9 || of["alice"] < 9 {
			t.Errorf("of 20 places: %v", of)
		}
		if err := f.end("bob", slices.Collect(maps.Keys(f.Desk.users["bob"].jobs))); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute, "alice")
		for _, j := range waits {
			if j.Submitted > began+time.Hour.Milliseconds()/2 {
				t.Errorf("%s is young still", j.ID)
			}
		}
	})
}

// A job that comes for one whose place was of no use has its age, one of the same user's, and one alone has.
func TestReturnedJobsKeepTheirAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := one(t, managers.Resources{CPUs: 1})
		age := func(who, key string) time.Duration {
			return time.Since(time.UnixMilli(f.Desk.users[who].jobs[key].Submitted)).Round(time.Second)
		}
		time.Sleep(10 * time.Minute)
		for _, who := range []string{"alice", "bob"} {
			if _, err := f.submit(who, []managers.UserJob{{Key: "a-2", Need: managers.Resources{CPUs: 1}, For: "a"}, {Key: "a-3", Need: managers.Resources{CPUs: 1}, For: "a"}}); err != nil {
				t.Fatal(err)
			}
		}
		if a, b, c := age("alice", "a-2"), age("alice", "a-3"), age("bob", "a-2"); a != 10*time.Minute || b != 0 || c != 0 {
			t.Errorf("%v, one more %v, another's %v", a, b, c)
		}
		f.open(t)
		if _, err := f.submit("alice", []managers.UserJob{{Key: "a-4", Need: managers.Resources{CPUs: 1}, For: "a"}, {Key: "a-5", Need: managers.Resources{CPUs: 1}, For: "a-2"}}); err != nil {
			t.Fatal(err)
		}
		if a, b := age("alice", "a-4"), age("alice", "a-5"); a != 0 || b != 10*time.Minute {
			t.Errorf("after a restart %v, and the one that comes for it %v", a, b)
		}
		f.stop(t)
	})
}
