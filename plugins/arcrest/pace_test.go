package arcrest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/plugins"
)

// piped is a client of a server at the other end of a pipe, which keeps nothing that
// was not read, in a bubble with a clock of its own.
func piped(t *testing.T, h http.HandlerFunc) *client {
	calls := make(chan net.Conn)
	ended := make(chan struct{})
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(pipes{calls, ended}) }()
	c, err := newPKI(t).backend(t).client(t.Context(), "x", "https://ce.example.org/arex", "")
	check(t, err)
	c.base, c.o.Timeout = "http://ce.example.org/arex", time.Minute
	c.versions.Store(&[]string{"1.0"})
	tr := &http.Transport{ResponseHeaderTimeout: c.o.Timeout, DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		calls <- theirs
		return &conn{Conn: ours, stall: c.o.Timeout}, nil
	}}
	c.http.Transport = tr
	t.Cleanup(func() { tr.CloseIdleConnections(); close(ended); _ = srv.Shutdown(context.Background()) })
	return c
}

type pipes struct {
	calls chan net.Conn
	ended chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// zeros is a file of nothing but zeros.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A server that takes a large file a little at a time never stalls; it is given up all the same. One that is
// slow is not, however long the file takes.
func TestUploadThatDrips(t *testing.T) {
	for name, c := range map[string]struct {
		size  int64
		pause time.Duration // after 4 KiB
		slow  bool
	}{
		"drips": {1 << 30, 5 * time.Second, true},
		"slow":  {10 << 20, 500 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := piped(t, func(_ http.ResponseWriter, r *http.Request) {
					for b := make([]byte, 4096); ; time.Sleep(c.pause) {
						if _, err := io.ReadFull(r.Body, b); err != nil {
							return
						}
					}
				})
				began := time.Now()
				ctx, stop := context.WithTimeout(t.Context(), 24*time.Hour)
				defer stop()
				_, err := cl.send(ctx, &call{op: "upload o", method: http.MethodPut, path: "/rest/1.0/jobs/job1/session/o", file: io.LimitReader(zeros{}, c.size), size: c.size})
				took := time.Since(began)
				if c.slow && (!errors.Is(err, plugins.ErrSlow) || !strings.Contains(err.Error(), "ce.example.org") || took > 10*time.Minute) {
					t.Errorf("%v after %v", err, took)
				}
				if !c.slow && (err != nil || took < 10*time.Minute) {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

// Nor does a server that gives each of a hundred thousand files, or directories, just before it is too late.
func TestFilesThatComeOneByOne(t *testing.T) {
	files := "<list>"
	for i := range 1000 {
		files += fmt.Sprintf(`<file size="1">%df</file>`, i)
	}
	for name, list := range map[string]string{
		"files":       files + "</list>",
		"directories": "<list>" + strings.Repeat("<dir>d</dir>", 1000) + "</list>",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := piped(t, func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "f") || strings.HasSuffix(r.URL.Path, "d") {
						time.Sleep(59 * time.Second)
					}
					if strings.HasSuffix(r.URL.Path, "f") {
						io.WriteString(w, "x")
						return
					}
					fmt.Fprint(w, list)
				})
				began := time.Now()
				ctx, stop := context.WithTimeout(t.Context(), 24*time.Hour)
				defer stop()
				_, err := (&download{c: c, id: "job1", meter: &meter{}, dir: t.TempDir()}).run(ctx, t.TempDir())
				if took := time.Since(began); !errors.Is(err, plugins.ErrSlow) || took > 10*time.Minute {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}
