package arcrest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

var quiet = log.New(io.Discard, "", 0)

// isNew is the request that makes jobs.
func isNew(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/jobs") && r.URL.Query().Get("action") == "new"
}

func kindOf(t *testing.T, err error) plugins.Kind {
	t.Helper()
	e, ok := errors.AsType[*plugins.Error](err)
	if !ok {
		t.Fatalf("%v is no *plugins.Error", err)
	}
	return e.Kind
}

// status answers with a reason phrase of our choice, as A-REX does.
func status(w http.ResponseWriter, line string) {
	c, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(buf, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", line)
	_ = buf.Flush()
	_ = c.Close()
}

func TestSubmitOutcomes(t *testing.T) {
	items := func(list ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, "<jobs>")
			for _, s := range list {
				code, rest, _ := strings.Cut(s, " ")
				fmt.Fprintf(w, "<job><status-code>%s</status-code><reason>%s</reason><id>%s</id></job>", code, rest, rest)
			}
			fmt.Fprint(w, "</jobs>")
		}
	}
	say := func(line string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { status(w, line) }
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		want   [2]plugins.Kind // 0: accepted
		said   string
	}{
		"both":            {items("201 a1", "201 a2"), [2]plugins.Kind{0, 0}, ""},
		"one refused":     {items("201 a1", "500 Requested queue x is not allowed for this user"), [2]plugins.Kind{0, plugins.Refused}, "Requested queue x"},
		"full, by item":   {items("500 No more jobs allowed", "201 a"), [2]plugins.Kind{plugins.Refused, 0}, "No more jobs allowed"},
		"full":            {say("500 No more jobs allowed"), [2]plugins.Kind{plugins.Refused, plugins.Refused}, "No more jobs allowed"},
		"stranger":        {say("500 User can't be assigned configuration"), [2]plugins.Kind{plugins.Credential, plugins.Credential}, "500 User"},
		"forbidden":       {say("403 Operation is not allowed"), [2]plugins.Kind{plugins.Credential, plugins.Credential}, "not allowed"},
		"down":            {say("503 Service Unavailable"), [2]plugins.Kind{plugins.Unavailable, plugins.Unavailable}, "503"},
		"gateway":         {say("504 Gateway Timeout"), [2]plugins.Kind{plugins.Uncertain, plugins.Uncertain}, "504"},
		"cut":             {cut, [2]plugins.Kind{plugins.Uncertain, plugins.Uncertain}, "no answer after"},
		"too few":         {items("201 a1"), [2]plugins.Kind{plugins.Uncertain, plugins.Uncertain}, "another number"},
		"garbage":         {func(w http.ResponseWriter) { fmt.Fprint(w, "<html>hello") }, [2]plugins.Kind{plugins.Uncertain, plugins.Uncertain}, ""},
		"garbage, no XML": {func(w http.ResponseWriter) { fmt.Fprint(w, "\x00\x01") }, [2]plugins.Kind{plugins.Uncertain, plugins.Uncertain}, ""},
		"empty":           {func(w http.ResponseWriter) { w.WriteHeader(http.StatusCreated) }, [2]plugins.Kind{plugins.Uncertain, plugins.Uncertain}, "another number"},
		"id as a path":    {items("201 ../../x", "201 a2"), [2]plugins.Kind{plugins.Uncertain, 0}, "no id"},
		"moved":           {say("301 Moved Permanently"), [2]plugins.Kind{plugins.Refused, plugins.Refused}, "301"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
				if isNew(r) {
					c.answer(w)
				}
				return isNew(r)
			})
			for i, r := range f.backend(t).Submit(t.Context(), at(f.url(), shell("j1", "x"), shell("j2", "x")), nil) {
				got := plugins.Kind(0)
				if r.Err != nil {
					got = kindOf(t, r.Err)
				}
				if got != c.want[i] {
					t.Errorf("job %d: %v (%v), want %v", i, got, r.Err, c.want[i])
				}
				if got != 0 && !strings.Contains(r.Err.Error(), c.said) {
					t.Errorf("job %d: %v; want the words %q", i, r.Err, c.said)
				}
				if (got == 0) != (r.Handle.ID != "") {
					t.Errorf("job %d: handle %+v with %v", i, r.Handle, r.Err)
				}
			}
			if n := f.count("/jobs?action=new"); n != 1 {
				t.Errorf("submitted %d times", n)
			}
		})
	}
}

// cut ends the connection without an answer.
func cut(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_ = c.Close()
}

func TestFullSaysWhenToTryAgain(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if isNew(r) {
			status(w, "500 No more jobs allowed")
		}
		return isNew(r)
	})
	e, _ := errors.AsType[*plugins.Error](f.backend(t).Submit(t.Context(), at(f.url(), shell("j", "x")), nil)[0].Err)
	if e.RetryIn <= 0 || e.Hint == "" {
		t.Errorf("%+v", e)
	}
}

// After a batch without an answer no further one is begun; those that are
// under way have outcomes of their own, and what was not sent is not uncertain.
func TestUncertainBatchEndsSubmission(t *testing.T) {
	var posts atomic.Int32
	var under sync.WaitGroup
	under.Add(batchesAtOnce)
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if !isNew(r) {
			return false
		}
		n := posts.Add(1)
		if n <= batchesAtOnce {
			under.Done()
			under.Wait() // all are there before the first is answered
		}
		if n == 2 {
			cut(w)
			return true
		}
		if n <= batchesAtOnce {
			time.Sleep(2 * time.Second) // the cut comes first
		}
		return false
	})
	var reqs []plugins.Request
	for i := range (batchesAtOnce+2)*maxBatch + 7 {
		reqs = append(reqs, shell(fmt.Sprintf("j%d", i), "x"))
	}
	count := map[plugins.Kind]int{}
	for _, r := range f.backend(t).Submit(t.Context(), at(f.url(), reqs...), nil) {
		k := plugins.Kind(0)
		if r.Err != nil {
			k = kindOf(t, r.Err)
		}
		count[k]++
	}
	// The place of the cut batch is given to one more at the most.
	if n := int(posts.Load()); n > batchesAtOnce+1 || count[plugins.Uncertain] != maxBatch ||
		count[0] != (n-1)*maxBatch || count[plugins.Unavailable] != len(reqs)-n*maxBatch {
		t.Errorf("%v after %d requests", count, n)
	}
}

func TestHangingServer(t *testing.T) {
	wait := make(chan struct{})
	var asked atomic.Bool
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if isNew(r) {
			asked.Store(true)
			<-wait
		}
		return false
	})
	defer close(wait)
	for within := 2 * time.Second; ; within *= 2 { // a busy machine may take longer to ask
		ctx, stop := context.WithTimeout(t.Context(), within)
		begin := time.Now()
		r := f.backend(t).Submit(ctx, at(f.url(), shell("j", "x")), nil)[0]
		stop()
		if took := time.Since(begin); took > within+30*time.Second {
			t.Errorf("took %v", took)
		}
		if !asked.Load() && within < time.Minute {
			continue
		}
		if k := kindOf(t, r.Err); k != plugins.Uncertain || !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("%v: %v", k, r.Err)
		}
		return
	}
}

// Servers that are no A-REX, or none at all: nothing was asked of them that
// could have made a job.
func TestBrokenServers(t *testing.T) {
	p := newPKI(t)
	for name, serve := range map[string]func(net.Conn){
		"silent":             func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"closes":             func(net.Conn) {},
		"garbage":            func(c net.Conn) { fmt.Fprint(c, "220 mail.example.org ESMTP\r\n") },
		"garbage behind TLS": tlsAnswer(p, t, time.Hour, "\x00\x01\x02 hello\n\n"),
		"endless header":     tlsAnswer(p, t, time.Hour, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-A: b\r\n", 1<<16)),
		"another page":       tlsAnswer(p, t, time.Hour, "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>"),
		"not found":          tlsAnswer(p, t, time.Hour, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
		"version 2 only":     tlsAnswer(p, t, time.Hour, "HTTP/1.1 200 OK\r\nContent-Length: 49\r\n\r\n<versions>  <version>2.0</version>    </versions>"),
		"expired":            tlsAnswer(p, t, -time.Hour, ""),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
			defer stop()
			url := listen(t, serve)
			begin := time.Now()
			err := p.backend(t).Submit(ctx, at(url, shell("j", "x")), nil)[0].Err
			if k := kindOf(t, err); k != plugins.Unavailable {
				t.Errorf("%v: %v", k, err)
			}
			if time.Since(begin) > 30*time.Second {
				t.Errorf("took %v", time.Since(begin))
			}
			t.Log(err)
		})
	}
}

func listen(t *testing.T, serve func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	return "https://" + l.Addr().String() + "/arex"
}

func tlsAnswer(p *pki, t *testing.T, life time.Duration, text string) func(net.Conn) {
	cfg := p.server(t, time.Now().Add(life))
	return func(c net.Conn) {
		s := tlsServer(c, cfg)
		buf := make([]byte, 4096)
		if _, err := s.Read(buf); err == nil {
			_, _ = io.WriteString(s, text)
		}
		_ = s.Close()
	}
}

func TestWrongCA(t *testing.T) {
	f := newFake(t, nil)
	err := newPKI(t).backend(t).Submit(t.Context(), at(f.url(), shell("j", "x")), nil)[0].Err
	if kindOf(t, err) != plugins.Unavailable || !strings.Contains(err.Error(), "X509_CERT_DIR") {
		t.Error(err)
	}
}

func TestExpiredCredentialStaysHere(t *testing.T) {
	f := newFake(t, nil)
	f.pki.user = f.pki.person(t, time.Now().Add(-time.Minute))
	set, _ := credential.Discover(credential.Env{UID: os.Getuid()}, f.pki.user)
	b := New(Options{Credentials: func() (*credential.Set, error) { return set, nil }})
	err := b.Submit(t.Context(), at(f.url(), shell("j", "x")), nil)[0].Err
	if kindOf(t, err) != plugins.Credential || !strings.Contains(err.Error(), "expired") {
		t.Error(err)
	}
	if n := f.count(""); n != 0 {
		t.Errorf("%d requests with an expired credential", n)
	}
}

// A proxy that expires while a command follows jobs is told of as what it is.
func TestExpiresMeanwhile(t *testing.T) {
	f := newFake(t, nil)
	f.pki.user = f.pki.person(t, time.Now().Add(time.Minute))
	set, _ := credential.Discover(credential.Env{UID: os.Getuid()}, f.pki.user)
	b := New(Options{Credentials: func() (*credential.Set, error) { return set, nil }, Now: func() time.Time { return time.Now().Add(3 * time.Minute) }})
	err := b.Submit(t.Context(), at(f.url(), shell("j", "x")), nil)[0].Err
	if kindOf(t, err) != plugins.Credential || !strings.Contains(err.Error(), "the proxy expired 2 min ago; make a new one: grid auth proxy") {
		t.Error(err)
	}
}

// A-REX sometimes sends the closing alert of one connection into the next.
func TestSpoiltHandshake(t *testing.T) {
	f := newFake(t, nil)
	var n atomic.Int32
	url := listen(t, func(c net.Conn) {
		if n.Add(1) <= 2 {
			_, _ = c.Write([]byte("\x17\x03\x03\x00\x13an encrypted alert!"))
			return
		}
		back, err := net.Dial("tcp", f.Listener.Addr().String())
		if err != nil {
			return
		}
		defer back.Close()
		go func() { _, _ = io.Copy(back, c) }()
		_, _ = io.Copy(c, back)
	})
	if err := f.backend(t).Submit(t.Context(), at(url, shell("j", "x")), nil)[0].Err; err != nil {
		t.Error(err)
	}
}
