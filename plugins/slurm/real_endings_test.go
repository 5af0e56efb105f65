package slurm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins"
)

// Slurm's accounting tells how jobs ended that the queue does not show any more: one
// that was done, one that failed, one cancelled while it ran and one cancelled while it waited; and
// none that ended before the time asked about.
func TestRealEndings(t *testing.T) {
	t.Parallel()
	clusters(t, accounted)
}

func accounted(t *testing.T, c *cluster) {
	for way, url := range c.urls {
		t.Run(way, func(t *testing.T) {
			reader, err := c.QueueReader(url)
			if err != nil {
				t.Fatal(err)
			}
			account := reader.(interface {
				Endings(ctx context.Context, since time.Time) ([]batch.Ending, error)
			})
			began := time.Now()
			submit := func(argv ...string) string {
				return strings.TrimSpace(c.command(t, append([]string{"sbatch", "--parsable", "-J", "endings", "-o", "/dev/null", "-t", "5"}, argv...)...))
			}
			want := map[string]string{submit("--wrap", "sleep 1"): "done", submit("--wrap", "exit 3"): "failed"}
			runs, waits := submit("--wrap", "sleep 300"), submit("--begin=now+1hour", "--wrap", "sleep 1")
			want[runs], want[waits] = "cancelled running", "cancelled waiting"
			t.Cleanup(func() { c.command(t, "scancel", "-n", "endings") })
			for end := time.Now().Add(time.Minute); !strings.Contains(c.command(t, "squeue", "-h", "-j", runs, "-t", "all", "-o", "%T"), "RUNNING"); time.Sleep(300 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the job does not start")
				}
			}
			c.command(t, "scancel", runs, waits)
			checkEndings(t, account.Endings, began, want)
		})
	}
}

func checkEndings(t *testing.T, endings func(context.Context, time.Time) ([]batch.Ending, error), began time.Time, want map[string]string) {
	t.Helper()
	got := map[string]batch.Ending{}
	for end := time.Now().Add(time.Minute); len(got) < len(want) && time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		list, err := endings(t.Context(), began.Add(-2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if want[e.ID] != "" {
				got[e.ID] = e
			}
		}
	}
	for id, how := range want {
		e, ok := got[id]
		ran := how != "cancelled waiting"
		if !ok || e.Cancelled != strings.HasPrefix(how, "cancelled") || e.Started.IsZero() == ran ||
			e.Ended.Before(began.Add(-time.Second)) || e.Ended.After(time.Now()) || ran && e.Ended.Before(e.Started) {
			t.Errorf("job %s, %s: %+v, told of: %v", id, how, e, ok)
		}
	}
	time.Sleep(2 * time.Second)
	list, err := endings(t.Context(), time.Now())
	for _, e := range list {
		if err != nil || want[e.ID] != "" {
			t.Errorf("asked about what ended from now on: %+v, %v", e, err)
		}
	}
}

// What an account may do is asked of the real Slurm, here and over SSH.
func TestRealGuestRights(t *testing.T) { clusters(t, guestRights) }

func guestRights(t *testing.T, c *cluster) {
	for way, url := range c.urls {
		t.Run(way, func(t *testing.T) {
			reader, err := c.QueueReader(url)
			if err != nil {
				t.Fatal(err)
			}
			found, err := reader.(plugins.GuestChecker).CheckGuests(t.Context(), plugins.Guests{Partition: "no-such-partition", TTL: time.Minute})
			if err != nil || len(found) < 2 || !strings.HasPrefix(found[0].Text, "account ") {
				t.Fatalf("%+v, %v", found, err)
			}
			if last := found[len(found)-1]; !last.Bad || last.Text != "there is no partition no-such-partition" {
				t.Errorf("%+v", found)
			}
		})
	}
}
