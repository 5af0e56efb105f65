package daemon

import (
	"strings"
	"testing"

	"gridbroker/forecast/managers"
)

// linked adds a neighbour to a manager.
func linked(t *testing.T, d *Daemon, peer string, role managers.Role) (managers.Neighbour, *conn) {
	t.Helper()
	c := newConn(t.Context(), peer)
	n, err := d.attach(c, role)
	if err != nil {
		t.Fatal(err)
	}
	d.up(n)
	return n, c
}

// What comes over a link that there is a newer one for counts no more: its job is not taken, and the link ends.
func TestMessagesOfAnOlderLink(t *testing.T) {
	d := lonely(t)
	const child = "https://child.example:1"
	n, old := linked(t, d, child, managers.Child)
	if again, _ := linked(t, d, child, managers.Child); again != n || old.ctx.Err() == nil {
		t.Fatalf("neighbours %d and %d, the older link: %v", n, again, old.ctx.Err())
	}
	job := jobOf("https://ui.example", "")
	if err := d.take(n, old, frame{Message: &managers.Message{Job: &job}}); err == nil || len(d.State().Waiting) > 0 {
		t.Errorf("%v; %v wait", err, d.State().Waiting)
	}
}

// Who refuses a job keeps brokers away only where it is the parent, and was sent that job: neither a child that is full, nor a
// parent that refuses what went to a child.
func TestRefusalsOfOthers(t *testing.T) {
	d := lonely(t)
	up, parent := linked(t, d, "https://parent.example:1", managers.Parent)
	down, child := linked(t, d, "https://child.example:1", managers.Child)
	job := jobOf("https://ui.example", "")
	d.guests.goes(&job, child.who)
	for _, from := range []struct {
		n managers.Neighbour
		c *conn
	}{{up, parent}, {down, child}} {
		if err := d.take(from.n, from.c, frame{Job: job.ID, Broker: job.Broker, Refused: "full", Full: true}); err != nil {
			t.Fatal(err)
		}
		if err := d.Submit(nil); err != nil {
			t.Errorf("after a refusal by %s: %v", from.c.peer, err)
		}
	}
	if _, sent := d.guests.note(job.Key()); sent {
		t.Error("the job that was refused is taken for one that is there")
	}
	if err := d.take(down, child, frame{Job: "never sent", Refused: "full", Full: true}); err != nil || d.Submit(nil) != nil {
		t.Error("a refusal of what was not sent counts")
	}
}

// All links of a liar end, also when the job that finds him out comes over another's.
func TestLiarsOtherLinksEnd(t *testing.T) {
	d := lonely(t)
	_, liar := linked(t, d, "https://liar.example:1", managers.Child)
	n, honest := linked(t, d, "https://honest.example:1", managers.Child)
	d.guests.strikes = map[string]strikes{}
	job := jobOf("https://ui.example", "")
	d.guests.goes(&job, honest.who)
	was, _ := d.guests.note(job.Key())
	was.back = map[string]int{liar.who: maxStrikes * maxBounces, honest.who: 1}
	d.guests.put(job.Key(), was)
	if err := d.take(n, honest, frame{Message: &managers.Message{Job: &job}}); err != nil || honest.ctx.Err() != nil {
		t.Errorf("who brought it: %v, %v", err, honest.ctx.Err())
	}
	if liar.ctx.Err() == nil || d.guests.welcome(liar) == nil {
		t.Error("the liar has his link still, or gets another")
	}
}

// What a broker in this process hands in is looked at as what others do: it makes sense, and its certificate is the broker's.
func TestHandedInByThisProcess(t *testing.T) {
	d, cfg := certified(t)
	for broker, want := range map[string]string{"https://127.0.0.1:1": "", "https://elsewhere.example:1": "elsewhere.example"} {
		err := HandIn(d, &cfg.Certificates[0], []managers.Job{{ID: managers.ID(want), Broker: broker, Need: managers.Resources{CPUs: 1}}, jobOf(broker, "")})
		if err == nil {
			t.Errorf("%s: a job without a name, or of another's, was taken", broker)
		}
		err = HandIn(d, &cfg.Certificates[0], []managers.Job{jobOf(broker, "")})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", broker, err)
		}
	}
	if s := d.State(); len(s.Waiting) != 1 {
		t.Errorf("%v wait", s.Waiting)
	}
}
