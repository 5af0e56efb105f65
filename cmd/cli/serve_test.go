package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDaemonsEnd: who has asked a daemon that is told to end gets the answer, and one whose answer has no end does not keep it.
func TestDaemonsEnd(t *testing.T) {
	t.Parallel()
	told := make(chan bool) // to end, the daemon with the slow answer
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		whole  bool
	}{
		"nobody asks": {},
		"a slow answer": {func(w http.ResponseWriter, _ *http.Request) {
			<-told
			io.WriteString(w, "whole")
		}, true},
		"a stream of events": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, end := context.WithCancel(t.Context())
			began, got := make(chan bool), make(chan string, 1)
			srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(began)
				c.answer(w, r)
			})}
			if c.whole {
				srv.RegisterOnShutdown(func() { close(told) })
			}
			ended := make(chan error, 1)
			go func() { ended <- serveOn(ctx, srv, l, 0) }()
			if c.answer != nil {
				go func() {
					resp, err := http.Get("http://" + l.Addr().String())
					if err != nil {
						got <- err.Error()
						return
					}
					defer resp.Body.Close()
					text, _ := io.ReadAll(resp.Body)
					got <- string(text)
				}()
				<-began
			}
			end()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it does not end")
			}
			if c.answer == nil {
				return
			}
			select {
			case text := <-got:
				if (text == "whole") != c.whole {
					t.Errorf("%q", text)
				}
			case <-time.After(20 * time.Second):
				t.Error("it has ended, and its client waits")
			}
		})
	}
}

// TestPortThatIsClosed: a port that cannot be served is an error, not an end.
func TestPortThatIsClosed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := serveOn(t.Context(), &http.Server{}, l, 0); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestComplaints: whoever causes complaints without end fills no log; how many there were is said.
func TestComplaints(t *testing.T) {
	var out strings.Builder
	now := time.Unix(1_800_000_000, 0)
	log := complaints(&deps{env: Env{Err: &out, Now: func() time.Time { return now }}})
	for range 100_000 {
		log.Printf("http: TLS handshake error from 192.0.2.1:1: \x1b[2J%s", strings.Repeat("x", 10_000))
	}
	now = now.Add(time.Minute)
	log.Print("another")
	text := out.String()
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != mostComplaints+2 || len(text) > 200_000 || strings.Contains(text, "\x1b") ||
		lines[mostComplaints] != "grid: and 99980 more such complaints" || lines[mostComplaints+1] != "grid: another" {
		t.Errorf("%d lines, %d bytes: %.300q", len(lines), len(text), text)
	}
}
