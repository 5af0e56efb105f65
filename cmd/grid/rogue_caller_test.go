package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"gridbroker/forecast/scheduler"
	"gridbroker/testdata/testbed"
)

// TestOneUserAmongOthers: a user who begins a thousand requests and ends none, each with a body that is nearly there, has so
// many in the scheduler as its configuration says: the others are refused and told when to come again, they cost no
// memory, and another user is served.
func TestOneUserAmongOthers(t *testing.T) {
	testbed.Measures(t)
	more := fmt.Sprintf("requests_at_once = 40\n[[token]]\nsha256 = %q\nsubject = \"bob\"\n", scheduler.HashToken("secret-b"))
	d := newRogueScheduled(t, []string{"prlimit", "--nofile=4096:4096"}, nil, more)
	_, alone, err := d.ping("secret-b")
	if err != nil {
		t.Fatal(err)
	}
	quiet := d.memory()
	const size = 1 << 20
	text := bytes.Repeat([]byte(" "), size-1)
	var mu sync.Mutex
	told := map[string]int{} // by status and Retry-After
	d.crowd(1000, func(c net.Conn) {
		fmt.Fprintf(c, "POST /v1/jobs/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret-a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
		go func() { _, _ = c.Write(text) }() // which may be refused meanwhile
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		mu.Lock()
		told[resp.Status+" "+resp.Header.Get("Retry-After")]++
		mu.Unlock()
	})
	peak := int64(0)
	for range 6 {
		subject, took, err := d.ping("secret-b")
		peak = max(peak, d.memory()-quiet)
		t.Logf("%q after %v, %v; %d MB more", subject, took, err, peak>>20)
		if err != nil || subject != "bob" || took > 5*time.Second+10*alone {
			t.Errorf("%q after %v, %v", subject, took, err)
		}
		time.Sleep(500 * time.Millisecond)
	}
	if peak > harmMemory {
		t.Errorf("%d MB", peak>>20)
	}
	mu.Lock()
	defer mu.Unlock()
	if refused := told["429 Too Many Requests 1"]; refused < 900 || len(told) > 1 {
		t.Errorf("it was told %v", told)
	}
}

// TestManyUsersAmongOthers: two hundred users who each begin a long request and end none together cost the scheduler
// what it has room for, not what they have sent; another user is served meanwhile, and his own long request is taken.
func TestManyUsersAmongOthers(t *testing.T) {
	testbed.Measures(t)
	const users, size = 200, 8 << 20
	more := fmt.Sprintf("[[token]]\nsha256 = %q\nsubject = \"bob\"\n", scheduler.HashToken("secret-b"))
	for i := range users {
		more += fmt.Sprintf("[[token]]\nsha256 = %q\nsubject = \"user%d\"\n", scheduler.HashToken(fmt.Sprint("u", i)), i)
	}
	d := newRogueScheduled(t, nil, nil, more)
	if _, _, err := d.ping("secret-b"); err != nil {
		t.Fatal(err)
	}
	quiet := d.memory()
	text := bytes.Repeat([]byte(" "), size-1)
	for i := range users {
		d.crowd(1, func(conn net.Conn) {
			fmt.Fprintf(conn, "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer u%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", i, size)
			_, _ = conn.Write(text)
		})
	}
	peak := d.settled() - quiet
	subject, took, err := d.ping("secret-b")
	t.Logf("%d MB more; %q after %v, %v", peak>>20, subject, took, err)
	if peak > 3*harmMemory || err != nil || subject != "bob" {
		t.Errorf("%d MB; %q, %v", peak>>20, subject, err)
	}
	if said, err := d.asksLong("secret-b", 2<<20); err != nil || said != "200 OK" {
		t.Errorf("another's request: %s, %v", said, err)
	}
}

// asksLong asks for the states of no job with a document of so many bytes, as one who comes again where he is told to.
func (d *daemon) asksLong(token string, size int) (said string, err error) {
	c := &http.Client{Timeout: time.Minute}
	for range 20 {
		body := append([]byte(`{"ids": []`), bytes.Repeat([]byte(" "), size)...)
		r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, "http://"+d.addr+"/v1/jobs/status", bytes.NewReader(append(body, '}')))
		if err != nil {
			return "", err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := c.Do(r)
		if err != nil {
			return "", err
		}
		resp.Body.Close()
		if said = resp.Status; resp.StatusCode != http.StatusTooManyRequests {
			return said, nil
		}
		time.Sleep(time.Second)
	}
	return said, nil
}
