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
