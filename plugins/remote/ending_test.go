package remote

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// TestChannelsOfAnEndingConnection: a channel that is asked for in the moment in which
// the other side ends the connection is refused, and not waited for without end.
func TestChannelsOfAnEndingConnection(t *testing.T) {
	d := newSSHD(t)
	d.answers(func(_ string, ch ssh.Channel) bool { ch.Close(); return true })
	m := d.open(d.home()).Machine.(*shell)
	for n := range 100 {
		c, err := m.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for {
					s, err := c.open()
					if err != nil {
						return
					}
					s.Close()
				}
			})
		}
		time.Sleep(2 * time.Millisecond)
		d.cut()
		done := make(chan struct{})
		go func() { all.Wait(); m.drop(c); close(done) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("after the end of connection %d a command still waits for its channel", n)
		}
	}
}
