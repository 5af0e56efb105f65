package infosys

import (
	"net"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// countingConn counts reads.
type countingConn struct {
	*net.TCPConn
	reads int
}

func (c *countingConn) Read(b []byte) (int, error) {
	c.reads++
	return c.TCPConn.Read(b)
}

// A server that writes one entry at a time does not wake the reader for each,
// and the last entries are not waited for.
func TestEntriesGather(t *testing.T) {
	const entries = 4000
	addr := testbed.Listen(t, func(conn net.Conn) {
		entry := ldapMessage(1, ceEntry("a"))
		for i := range entries {
			if _, err := conn.Write(entry); err != nil {
				return
			}
			if i%8 == 0 {
				time.Sleep(10 * time.Microsecond)
			}
		}
		_, _ = conn.Read(make([]byte, 1)) // until the reader has had enough
	})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	counted := &countingConn{TCPConn: conn.(*net.TCPConn)}
	s := newLDAPSession(counted, 0)
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for range entries {
		if _, err := s.message(); err != nil {
			t.Fatal(err)
		}
	}
	if counted.reads > littleReads+entries/10 {
		t.Errorf("%d reads for %d entries", counted.reads, entries)
	}
	t.Log(counted.reads)
}
