package scheduler

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A reader of events who does not read is given up after a while, whoever he is,
// and one who reads slowly or hears nothing for long is not.
func TestReadersWhoDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &API{S: &Scheduler{hub: newHub()}, Public: true, streams: streams{now: time.Now}}
		there, here := net.Pipe()
		l := &oneConn{conns: make(chan net.Conn, 1)}
		l.conns <- there
		srv := &http.Server{Handler: http.HandlerFunc(a.events), WriteTimeout: 2 * time.Minute}
		go srv.Serve(l)
		defer srv.Close()
		fmt.Fprint(here, "GET /v1/events HTTP/1.1\r\nHost: here\r\n\r\n")
		in := bufio.NewReader(here)
		readUntil := func(until time.Time) {
			here.SetReadDeadline(until)
			for {
				if _, err := in.ReadByte(); err != nil {
					return
				}
			}
		}
		readUntil(time.Now().Add(time.Hour))
		if !a.S.hub.listened() {
			t.Fatal("one who reads was cut off")
		}
		time.Sleep(15*time.Second + readerPatience + time.Second)
		synctest.Wait()
		if a.S.hub.listened() {
			t.Errorf("one who does not read holds his stream")
		}
	})
}

// Who hears events hears them for as long as what he has shown is good: whose session or token is over has to come again.
func TestEventsEndWithTheCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &API{S: &Scheduler{hub: newHub(), now: time.Now}, streams: streams{now: time.Now}}
		who := Person{Subject: "alice", Admin: true, Expires: time.Now().Add(time.Hour)}
		there, here := net.Pipe()
		l := &oneConn{conns: make(chan net.Conn, 1)}
		l.conns <- there
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.events(w, r.WithContext(context.WithValue(r.Context(), personKey{}, who)))
		})}
		go srv.Serve(l)
		defer srv.Close()
		fmt.Fprint(here, "GET /v1/events HTTP/1.1\r\nHost: here\r\n\r\n")
		go io.Copy(io.Discard, here)
		for _, at := range []struct {
			after time.Duration
			heard bool
		}{{59 * time.Minute, true}, {2 * time.Minute, false}} {
			time.Sleep(at.after)
			synctest.Wait()
			if a.S.hub.listened() != at.heard {
				t.Errorf("%v before the end of what he has shown he hears events: %v", time.Until(who.Expires), !at.heard)
			}
		}
	})
}

type oneConn struct{ conns chan net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l *oneConn) Close() error   { close(l.conns); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// A few addresses of strangers do not hold all streams: others get theirs, none
// of a subject's own is lost, and nobody takes them back and forth.
func TestStreamsOfStrangers(t *testing.T) {
	s := streams{now: time.Now}
	lost := map[string]int{}
	open := func(subject string) func() { return s.open(subject, func() { lost[subject]++ }) }
	if open("alice") == nil {
		t.Fatal("alice has no stream")
	}
	var closed []func()
	for i := range strangeStreams / ownStreams {
		for range ownStreams {
			closed = append(closed, open(fmt.Sprintf("\x00%d", i)))
		}
	}
	for i := range 240 {
		if open(fmt.Sprintf("\x00late%d", i)) == nil {
			t.Fatalf("late comer %d was refused", i)
		}
	}
	if open("\x00late0") != nil {
		t.Error("one who has as many as the others took one from them")
	}
	if lost["alice"] != 0 || lost["\x000"] != 15 || s.strangers != strangeStreams {
		t.Error(lost, s.strangers)
	}
	for _, end := range closed {
		end()
		end()
	}
	if s.strangers != 240 || len(s.of) != 241 {
		t.Error(s.strangers, len(s.of))
	}
}

// Addresses without end do not push each other's streams out all the time: each
// that is let in has its turn; and those of one network count together, and take
// their turns from each other alone.
func TestStreamsOfManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streams{now: time.Now}
		lost := map[string]int{}
		open := func(address string) bool {
			return s.open("\x00"+address, func() { lost[address]++ }) != nil
		}
		apart := func(i int) string { return fmt.Sprintf("10.%d.%d.1", i/256, i%256) }
		for i := range strangeStreams {
			if !open(apart(i)) {
				t.Fatalf("address %d got none", i)
			}
		}
		for i := range 1000 {
			if open(apart(1000 + i)) {
				t.Fatalf("one that has just begun gave way: %v", lost)
			}
		}
		time.Sleep(strangeTurn)
		for i := range 3 * strangeStreams {
			open(apart(3000 + i))
		}
		if len(lost) != strangeStreams || lost[apart(3000)] != 0 {
			t.Errorf("%d lost theirs, %d of them who had just come", len(lost), lost[apart(3000)])
		}

		s, lost = streams{now: time.Now}, map[string]int{}
		open("203.0.113.9")
		for range 4 {
			for i := range 256 {
				open(fmt.Sprintf("192.0.2.%d", i))
			}
			time.Sleep(strangeTurn)
		}
		if lost["203.0.113.9"] != 0 {
			t.Error("a network of many pushed out one from elsewhere")
		}
		if !open("198.51.100.3") || len(lost) == 0 {
			t.Error("a network of many keeps others out")
		}
	})
}

// How long a stream has lasted is told by the scheduler's clock, as all else is.
func TestStreamsGoByTheSchedulersClock(t *testing.T) {
	now := simEpoch
	a := &API{S: New(Config{}, nil, nil, func() time.Time { return now }, slog.New(slog.DiscardHandler))}
	a.Handler()
	for i := range strangeStreams {
		if a.streams.open(fmt.Sprintf("\x0010.%d.0.1", i), func() {}) == nil {
			t.Fatal("no room for", i)
		}
	}
	if a.streams.open("\x0011.0.0.1", func() {}) != nil {
		t.Error("one had to go before its turn was over")
	}
	now = now.Add(strangeTurn)
	if a.streams.open("\x0011.0.0.1", func() {}) == nil {
		t.Error("nobody went when a turn was over")
	}
}
