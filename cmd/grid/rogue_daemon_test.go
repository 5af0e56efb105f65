package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gridbroker/forecast/scheduler"
)

// daemon is one of the program's servers while others mean ill with it.
type daemon struct {
	*victim
	cmd  *exec.Cmd
	addr string

	mu   sync.Mutex
	said strings.Builder
}

var servesAt = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// serve starts a daemon through env(1), or what else may stand before it, and waits until it says where it listens.
func (v *victim) serve(before []string, args ...string) *daemon {
	v.t.Helper()
	all := append(append(append([]string{"env"}, before...), program(v.t)), args...)
	d := &daemon{victim: v, cmd: exec.Command(all[0], all[1:]...)}
	d.cmd.Dir, d.cmd.Env = v.dir, v.env
	errs, err := d.cmd.StderrPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	at, ended := make(chan string, 1), make(chan struct{})
	go d.listen(errs, at, ended)
	v.t.Cleanup(func() {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = d.cmd.Wait()
		if v.t.Failed() {
			v.t.Logf("it said: %.3000s", d.words())
		}
	})
	select {
	case d.addr = <-at:
	case <-ended:
		v.t.Fatalf("it ended: %s", d.words())
	case <-time.After(30 * time.Second):
		v.t.Fatalf("it does not listen: %s", d.words())
	}
	return d
}

func (d *daemon) listen(errs io.Reader, at chan<- string, ended chan<- struct{}) {
	defer close(ended)
	for lines := bufio.NewReader(errs); ; {
		line, err := lines.ReadString('\n')
		d.mu.Lock()
		d.said.WriteString(line)
		d.mu.Unlock()
		if addr := servesAt.FindString(line); addr != "" {
			select {
			case at <- addr:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

func (d *daemon) words() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said.String()
}

// memory is what it has in memory now, in bytes, processor the time that it has computed for.
func (d *daemon) memory() (bytes int64) {
	d.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", d.cmd.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		d.t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

func (d *daemon) processor() time.Duration {
	d.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		d.t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // a hundred ticks a second
}

// newRogueScheduled is a scheduler whose configuration has more lines; alice has the token "secret-a".
func newRogueScheduled(t *testing.T, before []string, env []string, more string) *daemon {
	t.Helper()
	v := newVictim(t, env...)
	conf := fmt.Sprintf(`database = "sqlite:%[1]s/db"
key_file = "%[1]s/key"
listen = "127.0.0.1:0"
public = true
%[2]s
[[token]]
sha256 = "%[3]s"
subject = "alice"
vo = "vo"
`, v.dir, more, scheduler.HashToken("secret-a"))
	for name, text := range map[string]string{"scheduler.toml": conf, "key": scheduler.NewKey()} {
		if err := os.WriteFile(filepath.Join(v.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if h := v.grid(0, "scheduler", "init", "--file", "scheduler.toml"); h.code != 0 {
		t.Fatalf("%d %s", h.code, h.errs)
	}
	return v.serve(before, "scheduler", "serve", "--file", "scheduler.toml")
}

// ping asks the scheduler, as one who connects anew from another of this machine's networks.
func (d *daemon) ping(token string) (subject string, took time.Duration, err error) {
	dial := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 9, 9)}}
	c := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: dial.DialContext, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, "http://"+d.addr+"/v1/ping", nil)
	if err != nil {
		return "", 0, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	began := time.Now()
	resp, err := c.Do(r)
	if err != nil {
		return "", time.Since(began), err
	}
	defer resp.Body.Close()
	var pong struct{ Subject string }
	err = json.NewDecoder(resp.Body).Decode(&pong)
	return pong.Subject, time.Since(began), err
}

// crowd connects to it many times, and does something with each connection.
func (d *daemon) crowd(n int, do func(net.Conn)) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	d.t.Cleanup(cancel)
	for range n {
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", d.addr)
		if err != nil {
			d.t.Logf("no more connections: %v", err)
			return
		}
		context.AfterFunc(ctx, func() { c.Close() })
		go do(c)
	}
}

// TestCrowdsAtDaemons: many who connect and say nothing, little, or only ask and do not read, keep
// nobody else from an answer, and cost little, also where they are more than the daemon may open files.
func TestCrowdsAtDaemons(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(net.Conn){
		"silent": func(net.Conn) {},
		"slow": func(c net.Conn) {
			for _, b := range "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 1000) {
				if _, err := c.Write([]byte{byte(b)}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		},
		"deaf": func(c net.Conn) {
			many := strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 2000)
			for {
				if _, err := io.WriteString(c, many); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newRogueScheduled(t, []string{"prlimit", "--nofile=256:256"}, nil, "")
			_, alone, err := d.ping("secret-a")
			if err != nil {
				t.Fatal(err)
			}
			quiet := d.memory()
			d.crowd(1000, do)
			for range 3 {
				subject, took, err := d.ping("secret-a")
				t.Logf("%q after %v, %v; %d MB more", subject, took, err, (d.memory()-quiet)>>20)
				if err != nil || subject != "alice" || took > 5*time.Second+10*alone {
					t.Errorf("%q after %v, %v", subject, took, err)
				}
				time.Sleep(500 * time.Millisecond)
			}
			if more := d.memory() - quiet; more > harmMemory {
				t.Errorf("%d MB", more>>20)
			}
			if n := len(d.words()); n > harmWords {
				t.Errorf("%d bytes of words: %.1000s", n, d.words())
			}
		})
	}
}

// TestOneAddressAtAScheduler: who keeps more connections than one address may have has the oldest of these closed that ask
// nothing, and is answered; so are others.
func TestOneAddressAtAScheduler(t *testing.T) {
	t.Parallel()
	d := newRogueScheduled(t, nil, nil, "connections_of_address = 20\n")
	kept, closed := make([]net.Conn, 30), make(chan struct{}, 30)
	for i := range kept {
		c, err := net.Dial("tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		kept[i] = c
		if _, err := io.WriteString(c, "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range kept { // most of those that are closed are the first: the server may note a moment later that one asks nothing
		go func() {
			_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // the scheduler keeps idle ones for two
			if _, err := c.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				closed <- struct{}{}
			}
		}()
	}
	for n := range 10 {
		select {
		case <-closed:
		case <-time.After(20 * time.Second):
			t.Fatalf("of 30 connections of one address %d were closed, 20 are its", n)
		}
	}
	if subject, _, err := d.ping("secret-a"); err != nil || subject != "alice" {
		t.Errorf("another address is not answered: %q %v", subject, err)
	}
}
