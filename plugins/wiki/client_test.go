package wiki

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"gridbroker/plugins"
)

// TestFaultyManager: a resource manager that answers too little, too late, too
// much or what cannot be is an error of its kind, in time; asked once more it is
// heard.
func TestFaultyManager(t *testing.T) {
	key := NewKey(42)
	frame := func(body string) string { return fmt.Sprintf("%08d\n%s", len(body), body) }
	good := frame(string(key.Sign(time.Now(), "rm", "SC=0 ARG=1#j:STATE=Idle;UNAME=u;")))
	old := frame(string(key.Sign(time.Now().Add(-2*time.Hour), "rm", "SC=0 ARG=0#")))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan string)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func(text string) {
				defer conn.Close()
				ReadFrame(conn, MaxRequest)
				if text == "drip" { // a byte now and then is no progress
					for i := range good {
						if _, err := io.WriteString(conn, good[i:i+1]); err != nil {
							return
						}
						time.Sleep(20 * time.Millisecond)
					}
				}
				io.WriteString(conn, text)
				if text != "" {
					io.Copy(io.Discard, conn) // holds the connection open
				}
			}(<-answers)
		}
	}()
	defer l.Close()
	c := &Client{Network: "tcp", Address: l.Addr().String(), Key: key, Now: time.Now, MaxSize: 1 << 20}
	for _, f := range []struct {
		what, answer string
		kind         plugins.Kind
	}{
		{"nothing", "", plugins.Unavailable},
		{"half a header", "0000", plugins.Unavailable},
		{"half a body", good[:len(good)-5], plugins.Unavailable},
		{"no number", "abcdefgh\nSC=0", plugins.Unavailable},
		{"too much", "99999999\n", plugins.Unavailable},
		{"a drop at a time", "drip", plugins.Unavailable},
		{"no status", frame(string(key.Sign(time.Now(), "rm", "ARG=0#"))), plugins.Unavailable},
		{"another key", frame(string(NewKey(43).Sign(time.Now(), "rm", "SC=0 ARG=0#"))), plugins.Credential},
		{"no checksum", frame("SC=0 ARG=0#"), plugins.Credential},
		{"an answer of long ago", old, plugins.Unavailable},
		{"refused", frame(string(key.Sign(time.Now(), "rm", "SC=-720 RESPONSE=down"))), plugins.Refused},
	} {
		began := time.Now()
		if c.Timeout = time.Minute; f.kind == plugins.Unavailable { // perhaps for want of an answer
			c.Timeout = 300 * time.Millisecond
		}
		asked := make(chan error, 1)
		go func() {
			_, err := c.Jobs(t.Context(), time.Time{})
			asked <- err
		}()
		answers <- f.answer
		err := <-asked
		failed, ok := errors.AsType[*plugins.Error](err)
		if took := time.Since(began); !ok || failed.Kind != f.kind || failed.Endpoint != c.Address || took > 30*time.Second {
			t.Errorf("%s: %v after %v, want kind %v", f.what, err, took, f.kind)
		}
		c.Timeout = time.Minute
		go func() {
			_, err := c.Jobs(t.Context(), time.Time{})
			asked <- err
		}()
		answers <- good
		if err := <-asked; err != nil {
			t.Errorf("after %s: %v", f.what, err)
		}
	}
}
