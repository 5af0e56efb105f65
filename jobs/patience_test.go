package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// A node that becomes due while nothing takes it waits where that may pass,
// for as long as patience and its ExpiryTime allow, and fails at once where
// it cannot. A time in which nobody looks, since the machine sleeps, is no patience
// used up, and a clock that is set back has nobody wait for its old time.
func TestPatience(t *testing.T) {
	draining := func(r *glue.Resource) { r.Serving = glue.Draining }
	current := func(r *glue.Resource) { r.Created, r.Fetched = time.Time{}, time.Time{} }
	opens := func(since time.Duration) []*glue.Resource {
		if since < 5*time.Minute {
			return []*glue.Resource{site("a", draining, current)}
		}
		return []*glue.Resource{site("a", current)}
	}
	otherVO := func(r *glue.Resource) { r.Access = []string{"VO:cms"}; r.Serving = glue.Draining }
	for _, c := range []struct {
		name   string
		found  func(since time.Duration) []*glue.Resource
		expiry time.Duration
		state  plugins.State
		after  time.Duration // without the jump
		jump   time.Duration // of the clock, after two minutes
	}{
		{"opens again", opens, 0, plugins.Done, 5 * time.Minute, 0},
		{"nobody publishes for a while", func(since time.Duration) []*glue.Resource {
			if since < 5*time.Minute {
				return nil
			}
			return []*glue.Resource{site("a")}
		}, 0, plugins.Done, 5 * time.Minute, 0},
		{"stays closed", func(time.Duration) []*glue.Resource { return []*glue.Resource{site("a", draining)} }, 0, plugins.Failed, time.Hour, 0},
		{"expires", func(time.Duration) []*glue.Resource { return []*glue.Resource{site("a", draining)} }, 20 * time.Minute, plugins.Failed, 20 * time.Minute, 0},
		{"closed, and not for this VO anyway", func(time.Duration) []*glue.Resource { return []*glue.Resource{site("a", otherVO)} }, 0, plugins.Failed, 0, 0},
		{"opens after a sleep", opens, 0, plugins.Done, 5 * time.Minute, 24 * time.Hour},
		{"opens after the clock was set back", opens, 0, plugins.Done, 5 * time.Minute, -24 * time.Hour},
		{"stays closed after a sleep", func(time.Duration) []*glue.Resource { return []*glue.Resource{site("a", draining)} }, 0, plugins.Failed, time.Hour, 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, f := rig(t)
			now, awake := start, time.Duration(0)
			b.Clock = clock.Set(func() time.Time { return now })
			f.status = func(plugins.Handle) plugins.Status {
				return plugins.Status{State: plugins.Done, ExitCode: glue.Some(0)}
			}
			first := stored(t, `Executable = "/bin/true";`, func(j *jdl.Job) { j.Node = "first" })
			text := `Executable = "/bin/true";`
			if c.expiry > 0 {
				text += fmt.Sprintf(" ExpiryTime = %d;", start.Add(c.expiry).Unix())
			}
			second := stored(t, text, func(j *jdl.Job) { j.Node, j.After = "second", []string{"first"} })
			rs := submit(t, b, []*glue.Resource{site("a")}, &jdl.JobSet{Kind: jdl.DAG, Jobs: []*jdl.Job{first, second}})
			asked := 0
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			err := b.Wait(ctx, rs, jobs.Waiting{Pause: time.Microsecond,
				Discover: func(context.Context, jobs.Origin) ([]*glue.Resource, error) {
					asked++
					return c.found(awake), nil
				},
				Seen: func([]*jobs.Outcome) {
					if now, awake = now.Add(10*time.Second), awake+10*time.Second; awake == 2*time.Minute {
						now = now.Add(c.jump)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if rs[1].State != c.state {
				t.Errorf("%s (%s), want %s", rs[1].State, rs[1].Reason, c.state)
			}
			if took := rs[1].Ended.Sub(start) - c.jump; took < c.after || took > c.after+2*time.Minute {
				t.Errorf("ended after %s, want %s", took, c.after)
			}
			if most := int(c.after/time.Minute) + 2; asked > most {
				t.Errorf("looked for resources %d times, want at most %d", asked, most)
			}
			if c.state == plugins.Failed && !strings.Contains(rs[1].Reason, "none of 1 resources matches") {
				t.Errorf("reason %q", rs[1].Reason)
			}
		})
	}
}
