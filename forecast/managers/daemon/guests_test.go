package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/forecast/managers"
)

// answering is a client for brokers that the test plays.
type answering func(url string) (body any, err error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := a(r.URL.String())
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	writeBody(w, body)
	return w.Result(), nil
}

// running is a system's manager with a child, in virtual time.
func running(t *testing.T, cpus int, brokers answering) (d *Daemon, n managers.Neighbour, c *conn) {
	t.Helper()
	rules := managers.Serving()
	d, err := New(t.Context(), Config{
		Name: "https://m.example:1", System: "here", Total: managers.Resources{CPUs: cpus}, Rules: rules,
		Dir: t.TempDir(), Client: &http.Client{Transport: brokers}, Beat: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	go d.Run()
	c = newConn(t.Context(), "https://child.example:1")
	if n, err = d.attach(c, managers.Child); err != nil {
		t.Fatal(err)
	}
	d.up(n)
	return d, n, c
}

func bring(t *testing.T, d *Daemon, n managers.Neighbour, c *conn, j managers.Job) {
	t.Helper()
	if err := d.take(n, c, frame{Message: &managers.Message{Job: &j}}); err != nil {
		t.Fatal(err)
	}
}

// Two copies of a job that wait are one: started in one look, they would both
// have resources, and only one would give them back.
func TestCopiesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		d, n, c := running(t, 2, func(url string) (any, error) {
			if strings.HasSuffix(url, "/v1/offer") {
				return Answer{Granted: true}, nil
			}
			if ended.Load() {
				return Orders{Ended: []managers.ID{"first", "j"}}, nil
			}
			return Orders{}, nil
		})
		bring(t, d, n, c, managers.Job{ID: "first", Broker: "https://ui.example", Need: managers.Resources{CPUs: 2}})
		for attempt := range 3 {
			bring(t, d, n, c, managers.Job{ID: "j", Broker: "https://ui.example", Need: managers.Resources{CPUs: 1}, Submitted: int64(attempt), Attempt: attempt})
		}
		if s := d.State(); len(s.Waiting) != 1 || len(s.Running) != 1 {
			t.Errorf("%v wait, %v run", s.Waiting, s.Running)
		}
		ended.Store(true)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if s := d.State(); len(s.Waiting)+len(s.Running) != 0 || s.Free.CPUs != 2 {
			t.Errorf("when all have ended %v wait, %v run, %d of 2 cpus are free", s.Waiting, s.Running, s.Free.CPUs)
		}
	})
}

// A request for what runs here already is answered: else the neighbour's row would
// be marked for it for ever.
func TestCopiesAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, n, c := running(t, 2, func(string) (any, error) { return Answer{Granted: true}, nil })
		for range 2 {
			bring(t, d, n, c, managers.Job{ID: "j", Broker: "https://ui.example", Need: managers.Resources{CPUs: 1}})
		}
		time.Sleep(5 * time.Minute)
		var last *managers.Message
		for len(c.out) > 0 {
			if f := <-c.out; f.Message != nil {
				last = f.Message
			}
		}
		if last == nil || last.Seen != 2 || fmt.Sprint(last.Rooms) != "[1 cpus]" {
			t.Errorf("the neighbour was told %+v", last)
		}
	})
}

// Jobs whose broker is not there hold processors for a minute, and then none of
// them for longer and longer; those of a broker that answers are held.
func TestBrokersThatAreNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, n, c := running(t, 4, func(url string) (any, error) {
			if strings.Contains(url, "dead") {
				return nil, errors.New("connection refused")
			}
			return Answer{Granted: true}, nil
		})
		held, refused := 0, 0
		for i := range 60 {
			bring(t, d, n, c, managers.Job{ID: managers.ID(fmt.Sprint("copy", i)), Broker: "https://dead.example", Need: managers.Resources{CPUs: 4}})
			time.Sleep(time.Minute)
			synctest.Wait()
			held += len(d.State().Running)
			for len(c.out) > 0 {
				if f := <-c.out; strings.Contains(f.Refused, "https://dead.example does not answer") {
					refused++
				}
			}
		}
		time.Sleep(3 * time.Minute)
		bring(t, d, n, c, managers.Job{ID: "real", Broker: "https://ui.example", Need: managers.Resources{CPUs: 4}})
		synctest.Wait()
		if s := d.State(); held > 20 || refused < 40 || fmt.Sprint(s.Running) != "[real]" || len(s.Waiting) > 0 {
			t.Errorf("of 60 minutes dead ones held all for %d, %d were refused; %v run, %v wait", held, refused, s.Running, s.Waiting)
		}
	})
}

// A granted job is held while its broker answers, however long that takes; when
// its broker is silent, until it has had its time.
func TestGrantsOfTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var silent atomic.Bool
		d, n, c := running(t, 4, func(url string) (any, error) {
			if silent.Load() {
				return nil, errors.New("connection refused")
			}
			if strings.HasSuffix(url, "/v1/offer") {
				return Answer{Granted: true}, nil
			}
			return Orders{}, nil
		})
		for _, wall := range []int64{60, 3 * 3600, 1 << 40, 0} {
			bring(t, d, n, c, managers.Job{ID: managers.ID(fmt.Sprint("wall", wall)), Broker: "https://ui.example", Need: managers.Resources{CPUs: 1, Wall: wall}})
		}
		held := func(after time.Duration) string {
			time.Sleep(after)
			synctest.Wait()
			return fmt.Sprint(d.State().Running, d.State().Free.CPUs)
		}
		if got := held(48 * time.Hour); got != "[wall0 wall10800 wall1099511627776 wall60] 0" {
			t.Errorf("while the broker answers: %s", got)
		}
		silent.Store(true)
		for _, want := range []struct {
			after time.Duration
			held  string
		}{
			{5 * time.Minute, "[wall0 wall10800 wall1099511627776 wall60] 0"}, {10 * time.Minute, "[wall0 wall10800 wall1099511627776] 1"},
			{3 * time.Hour, "[wall0 wall1099511627776] 2"}, {20 * time.Hour, "[wall0 wall1099511627776] 2"}, {2 * time.Hour, "[] 4"},
		} {
			if got := held(want.after); got != want.held {
				t.Errorf("another %v of silence: %s, want %s", want.after, got, want.held)
			}
		}
	})
}

// Jobs that wait are bounded for each neighbour, which is told; brokers are told
// to come later where the parent is full.
func TestJobsOfOneLinkAreBounded(t *testing.T) {
	d, err := New(t.Context(), Config{Name: "https://m.example:1", Rules: managers.Serving(), Dir: t.TempDir(), Client: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.keep.close() })
	c := newConn(t.Context(), "https://child.example:1")
	n, err := d.attach(c, managers.Child)
	if err != nil {
		t.Fatal(err)
	}
	d.up(n)
	for i := range maxWaiting + 10 {
		bring(t, d, n, c, managers.Job{ID: managers.ID(fmt.Sprintf("j%07d", i)), Broker: "https://ui.example", Need: managers.Resources{CPUs: 1}, Submitted: int64(i)})
	}
	refusals := 0
	var last frame
	for len(c.out) > 0 {
		if f := <-c.out; f.Refused != "" {
			refusals, last = refusals+1, *f
		}
	}
	if got := len(d.State().Waiting); got != maxWaiting || refusals != 10 || !last.Full || last.Job != "j0200009" {
		t.Fatalf("%d wait, %d refused, the last by %+v", got, refusals, last)
	}

	child := lonely(t)
	up := newConn(t.Context(), "https://parent.example:1")
	if n, err = child.attach(up, managers.Parent); err != nil {
		t.Fatal(err)
	}
	child.up(n)
	rooms := managers.Set{{CPUs: 8}}
	if err := child.take(n, up, frame{Message: &managers.Message{Rooms: rooms, Whole: rooms}}); err != nil {
		t.Fatal(err)
	}
	own := jobOf("https://ui.example", "")
	for _, id := range []managers.ID{"never sent", own.ID} {
		if err := child.Submit([]managers.Job{own}); err != nil {
			t.Fatal(err)
		}
		child.take(n, up, frame{Refused: last.Refused, Full: true, Job: id, Broker: own.Broker})
	}
	if err := child.Submit([]managers.Job{own}); err != ErrFull {
		t.Errorf("while the parent is full: %v", err)
	}
}

// serving is a domain's manager over TLS, and a client with a certificate of its authority.
func serving(t *testing.T) (d *Daemon, client *http.Client) {
	t.Helper()
	d, client, _ = servingTwo(t)
	return d, client
}

// servingTwo has a second client, with another certificate.
func servingTwo(t *testing.T) (d *Daemon, client, other *http.Client) {
	t.Helper()
	ca := newAuthority(t)
	cert, key := ca.issue(t)
	cfg, err := tlsConfig(ca.cert.Raw, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = ca.issue(t)
	second, err := tlsConfig(ca.cert.Raw, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	other = Reader(second) // which is in this process, too
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client = Client(cfg)
	d, err = New(t.Context(), Config{Name: "https://" + l.Addr().String(), Dir: t.TempDir(), Rules: managers.Serving(), Client: client, Beat: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := Server(cfg, d.Handler())
	go s.ServeTLS(l, "", "")
	t.Cleanup(func() { client.CloseIdleConnections(); other.CloseIdleConnections(); s.Close(); d.keep.close() })
	return d, client, other
}

// A child that says it has room, and sends back whatever it is sent as if it had
// never been there, ends its link and gets none for a while.
func TestChildThatSendsBack(t *testing.T) {
	d, client := serving(t)
	lie := func(most int) (requests int, why string) {
		in, out := io.Pipe()
		defer in.Close()
		enc := json.NewEncoder(out)
		go enc.Encode(frame{Hello: "https://127.0.0.1:1"})
		resp, err := client.Post(d.config.Name+"/v1/link", "application/json", in)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		rooms := managers.Set{{CPUs: 1000}}
		readFrames(t.Context(), resp.Body, new(incoming), "", func(f frame) error {
			switch {
			case f.Refused != "":
				why = f.Refused
			case f.Welcome:
				return enc.Encode(frame{Message: &managers.Message{Rooms: rooms, Whole: rooms}})
			case f.Message != nil && f.Message.Job != nil:
				if requests++; requests >= most {
					return io.EOF
				}
				j := *f.Message.Job
				j.Hops, j.Placed, j.Attempt = 0, false, j.Attempt+1
				return enc.Encode(frame{Message: &managers.Message{Job: &j, With: true, Rooms: rooms}})
			}
			return nil
		})
		return requests, why
	}
	job := jobOf("https://127.0.0.1:2", "")
	for k := range maxStrikes {
		job.ID = managers.ID(fmt.Sprint("j", k))
		if err := d.Submit([]managers.Job{job}); err != nil {
			t.Fatal(err)
		}
	}
	if requests, _ := lie(5000); requests > 2*maxBounces*maxStrikes || requests < maxBounces {
		t.Errorf("the jobs went there %d times", requests)
	}
	if _, why := lie(1); !strings.Contains(why, "sent jobs back without end") {
		t.Errorf("when it came again: %q", why)
	}
}
