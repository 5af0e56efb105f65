package wiki

import (
	"net"
	"testing"
	"time"
)

// Who connects and says nothing, or half a message, keeps no scheduler out,
// however often he does, and the server ends beside it.
func TestSilentConnections(t *testing.T) {
	c := serve(t, small(t), func(s *Server) { s.Most = 8 })
	done := make(chan bool)
	t.Cleanup(func() { close(done) })
	for i := range 20 {
		go func() { // comes back whenever it is put out
			for {
				conn, err := net.Dial("unix", c.Address)
				if err != nil {
					return
				}
				if i%2 == 0 {
					conn.Write([]byte("00000100\nTS=1"))
				}
				conn.SetReadDeadline(time.Now().Add(time.Minute))
				conn.Read(make([]byte, 1))
				conn.Close()
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}()
	}
	time.Sleep(200 * time.Millisecond)
	for range 5 {
		began := time.Now()
		if list, err := c.Nodes(t.Context()); err != nil || len(list) != 2 {
			t.Fatalf("%d nodes, %v", len(list), err)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("a scheduler waits for %v", took)
		}
	}
}
