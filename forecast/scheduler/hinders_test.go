package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"gridbroker/credential"
)

// has tells the scheduler of a cluster: whom its owner lets in, and when its schedule was made.
func (f *front) has(name, site string, made time.Time) {
	f.t.Helper()
	err := f.store.tx(f.t.Context(), func(h handle) error {
		_, err := h.exec(f.t.Context(), `insert into cluster (name, seq, digest, made, ttl, seen, site, queues, load) values ($1, 1, '', $2, 120, $2, $3, '[]', '{}')
			on conflict (name) do update set made = excluded.made, site = excluded.site`, name, made.Unix(), site)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.now = f.now.Add(fresh) // until then a ping is answered by what was so before
}

// Who pings a scheduler is told what would keep his jobs from being begun, before he hands any in.
func TestPingTellsWhatHinders(t *testing.T) {
	f := newFront(t, nil)
	f.led()
	c := f.client(nil)
	told := func(want string) {
		t.Helper()
		p := f.ping(c, "alice")
		if said := strings.Join(p.Hinders, "; "); !p.LetIn || want == "" && said != "" || !strings.Contains(said, want) {
			t.Errorf("told %q, want %q (let in: %v)", said, want, p.LetIn)
		}
	}
	told("no cluster has been heard of")
	f.has("c0", `{"vos": ["atlas"]}`, f.now)
	told("none of the 1 clusters lets you in: they admit members of VOs")
	f.has("c1", `{"users": ["alice"]}`, f.now.Add(-time.Hour))
	told("no cluster that lets you in is open: c1 is silent")
	f.has("c1", `{"users": ["alice"]}`, f.now)
	told("")
	if err := f.store.Grant(t.Context(), f.now.Unix(), "alice", 0.001, "a"); err != nil {
		t.Fatal(err)
	}
	told("")
	if err := f.store.Grant(t.Context(), f.now.Unix(), "alice", 0, "b"); err != nil {
		t.Fatal(err)
	}
	told("your budget is spent")
	if p := f.ping(c, "nobody"); p.LetIn || len(p.Hinders) > 0 {
		t.Errorf("a stranger is told %v", p.Hinders)
	}
	f.store.Close()
	told("it takes nothing now: the database does not answer")
}

// led has another replica lead, until the test ends or it resigns.
func (f *front) led() *Leadership {
	f.t.Helper()
	l, err := f.store.Campaign(f.t.Context(), "other")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(l.Resign)
	return l
}

// resigns ends a leader's time; a database gives his lock back a moment after he has gone.
func (f *front) resigns(l *Leadership) {
	f.t.Helper()
	l.Resign()
	<-l.Lost
	for range 500 {
		if has, err := led(f.t.Context(), f.store); err != nil || !has {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	f.t.Fatal("the lock is not given back")
}

// Who pings any replica is told where nobody leads, and that his jobs are taken all the same; a leader's end alone, when another
// one leads soon, is not told.
func TestPingTellsThatNobodyLeads(t *testing.T) {
	for name, dsn := range map[string]func(testing.TB) string{"sqlite": sqliteDSN, "postgres": postgresDSN} {
		t.Run(name, func(t *testing.T) {
			f := newFrontOn(t, dsn(t), nil)
			f.has("c0", `{"users": ["alice"]}`, f.now.Add(fresh))
			told := func(want string) {
				t.Helper()
				p := f.ping(f.client(nil), "alice")
				if said := strings.Join(p.Hinders, "; "); !p.LetIn || want == "" && said != "" || !strings.Contains(said, want) {
					t.Errorf("told %q, want %q", said, want)
				}
			}
			told("no replica leads: jobs are taken")
			gone, leave := context.WithCancel(t.Context())
			leave()
			if _, err := leaderless(gone, f.s); !errors.Is(err, context.Canceled) { // who has left is not looked for any longer
				t.Errorf("nobody waits for the answer: %v", err)
			}
			l := f.led()
			told("")
			f.resigns(l)
			next := make(chan *Leadership, 1)
			time.AfterFunc(changeover/50, func() {
				l, err := f.store.Campaign(t.Context(), "next")
				if err != nil {
					t.Error(err)
				}
				next <- l
			})
			told("")
			if l := <-next; l != nil {
				f.resigns(l)
			}
			told("no replica leads")
			f.s.setLead(1)
			told("")
		})
	}
}

// Who pings is told that the disk is full, by an embedded database and by one that has said so.
func TestPingTellsOfAFullDisk(t *testing.T) {
	f := newFront(t, nil)
	f.has("c0", `{"users": ["alice"]}`, f.now.Add(fresh))
	f.led()
	if p := f.ping(f.client(nil), "alice"); len(p.Hinders) > 0 {
		t.Errorf("with room: %v", p.Hinders)
	}
	commit := f.store.commit
	f.store.commit = func(tx *sql.Tx) error {
		tx.Rollback()
		return &pgconn.PgError{Severity: "ERROR", Code: "53100", Message: "could not extend file"}
	}
	body := map[string]any{"jobs": []Submission{{Key: "k", JDL: `[ Executable = "/bin/true"; ]`}}}
	if code := f.ask(f.client(nil), "alice", "POST", "/v1/jobs", body, nil); code != 503 {
		t.Errorf("a submission: %d", code)
	}
	if p := f.ping(f.client(nil), "alice"); len(p.Hinders) != 1 || !strings.Contains(p.Hinders[0], "disk is full") {
		t.Errorf("told %v", p.Hinders)
	}
	f.store.commit = commit
	f.store.filled.Add(-int64(fullLately))
	if p := f.ping(f.client(nil), "alice"); len(p.Hinders) > 0 {
		t.Errorf("with room again: %v", p.Hinders)
	}
}

// A proxy that is soon over is told, too, by the one who shows it.
func TestPingTellsOfAShortProxy(t *testing.T) {
	f := newFront(t, nil)
	f.has("c0", `{}`, f.now.Add(fresh))
	f.led()
	alice := f.user(f.ca, "Alice")
	for life, want := range map[time.Duration]string{12 * time.Hour: "", 30 * time.Minute: "the proxy ends in "} {
		pong, err := f.backend(f.proxy(alice, credential.ProxyOptions{Lifetime: life})).Ping(t.Context(), f.endpoint().URL)
		if said := strings.Join(pong.Hinders, "; "); err != nil || !pong.LetIn || !strings.HasPrefix(said, want) || (said == "") != (want == "") {
			t.Errorf("a proxy of %v: %q, %v", life, said, err)
		}
	}
}
