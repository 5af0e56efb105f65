package daemon

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/managers"
)

// What could not be written, or not brought to the disk, is said so; the next write is of all that is held, in a new file.
func TestKeeperThatFails(t *testing.T) {
	closed := func(t *testing.T, k *keeper) { k.file.Close() }
	unsynced := func(t *testing.T, k *keeper) { // a pipe takes all, and brings nothing to a disk
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close() })
		k.file.Close()
		k.file = out
	}
	for name, c := range map[string]struct {
		spoil        func(*testing.T, *keeper)
		fails, works string // a job that is put, or with a dash before it dropped
		want         string // that is held in the end
	}{
		"not written": {closed, "b", "c", "a b c"}, "not brought to the disk": {unsynced, "b", "c", "a b c"},
		"an end not written": {closed, "-a", "c", "c"}, "an end after a failure": {closed, "b", "-a", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			k, held, err := openKeeper(dir)
			if err != nil {
				t.Fatal(err)
			}
			do := func(what string) error {
				if gone, drops := strings.CutPrefix(what, "-"); drops {
					job := managers.Key{ID: managers.ID(gone)}
					delete(held, job)
					return k.drop(job, held)
				}
				a := &assignment{Job: managers.Job{ID: managers.ID(what)}}
				held[a.Job.Key()] = a
				return k.put(held, a)
			}
			if err := do("a"); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, k)
			if do(c.fails) == nil {
				t.Error("what could not be kept was")
			}
			if err := errors.Join(do(c.works), k.close()); err != nil {
				t.Errorf("after a failure: %v", err)
			}
			k, held, err = openKeeper(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer k.close()
			var ids []string
			for job := range held {
				ids = append(ids, string(job.ID))
			}
			if slices.Sort(ids); strings.Join(ids, " ") != c.want {
				t.Errorf("held: %v, want %s", ids, c.want)
			}
		})
	}
}

// Where a broker never answers an offer, jobs of others that wait go on waiting, and have what is free then.
func TestOthersOfASilentBrokerWaitOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, n, c := running(t, 1, func(url string) (any, error) {
			if strings.Contains(url, "dead") {
				return nil, os.ErrDeadlineExceeded
			}
			return Answer{Granted: true}, nil
		})
		for i, broker := range []string{"https://dead.example", "https://ui.example", "https://dead.example", "https://ui.example"} {
			bring(t, d, n, c, managers.Job{ID: managers.ID(string(rune('a' + i))), Broker: broker, Need: managers.Resources{CPUs: 1}, Submitted: int64(i)})
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if s := d.State(); len(s.Running) != 1 || s.Running[0] != "b" || len(s.Waiting) != 1 || s.Waiting[0] != "d" {
			t.Errorf("%v run, %v wait", s.Running, s.Waiting)
		}
	})
}

// A job of which its broker says that it had the place and has ended has nothing more there.
func TestOfferOfAJobThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, n, c := running(t, 1, func(url string) (any, error) {
			if strings.HasSuffix(url, "/v1/offer") {
				return Answer{Granted: true, Ended: true}, nil
			}
			return Orders{}, nil
		})
		bring(t, d, n, c, managers.Job{ID: "j", Broker: "https://ui.example", Need: managers.Resources{CPUs: 1}})
		time.Sleep(time.Second)
		synctest.Wait()
		if s := d.State(); len(s.Running) != 0 || s.Free.CPUs != 1 {
			t.Errorf("%v run, %v free", s.Running, s.Free)
		}
	})
}

// Who is back at his parent leaves the other one, and keeps his children; nothing is sent to the one that he has left.
func TestLeavesOneParentForAnother(t *testing.T) {
	d := lonely(t)
	away, other := linked(t, d, "https://other.example:1", managers.Parent)
	_, child := linked(t, d, "https://child.example:1", managers.Child)
	home, parent := linked(t, d, "https://parent.example:1", managers.Parent)
	leave(d, home)
	if other.ctx.Err() == nil || parent.ctx.Err() != nil || child.ctx.Err() != nil {
		t.Errorf("the other parent's link: %v, the parent's %v, the child's %v", other.ctx.Err(), parent.ctx.Err(), child.ctx.Err())
	}
	job := jobOf("https://ui.example", "")
	if err := d.take(away, other, frame{Message: &managers.Message{Job: &job}}); err == nil {
		t.Error("what the other one sends still counts")
	}
	rooms := managers.Set{{CPUs: 8}}
	if _, err := d.manager.Handle(now(), away, managers.Message{Rooms: rooms, Whole: rooms}); err == nil {
		t.Error("the link is taken for one that is up")
	}
}
