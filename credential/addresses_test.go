package credential_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// Of a host's addresses one refuses, one takes connections and says nothing, and one is well: that is
// reached long before those that hang have used up the time. Where all fail, what a server
// showed is told and not that another was not there.
func TestHostOfSeveralAddresses(t *testing.T) {
	now := time.Now()
	ca, other := testbed.NewCA(t, "Test CA", now, nil), testbed.NewCA(t, "Other CA", now, nil)
	well := func(ca *testbed.CA) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{ca.Server(nil)}}
	}
	at := spoilsFirst(t, well(ca), 0, "")
	_, port, _ := net.SplitHostPort(at)
	hangs, err := net.Listen("tcp", "127.0.0.3:"+port)
	if err != nil {
		t.Skip(err)
	}
	defer hangs.Close()
	strange, err := net.Listen("tcp", "127.0.0.4:"+port)
	if err != nil {
		t.Skip(err)
	}
	defer strange.Close()
	go func() {
		for {
			c, err := strange.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); tls.Server(c, well(other)).Handshake() }()
		}
	}()
	const refuses, silent, foreign, good = "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.1"
	dial := func(within time.Duration, hosts ...string) error {
		d := &credential.Dialer{Trust: gridTrust(t, ca), Timeout: within, Lookup: func(context.Context, string) (list []netip.Addr, err error) {
			for _, h := range hosts {
				list = append(list, netip.MustParseAddr(h))
			}
			return list, nil
		}}
		c, err := d.Dial(t.Context(), "tcp", net.JoinHostPort("localhost", port))
		if err == nil {
			c.Close()
		}
		return err
	}
	for _, hosts := range [][]string{{refuses, good}, {silent, good}, {refuses, silent, silent, good}, {foreign, good}, {"::1", silent, good}} {
		began := time.Now()
		if err := dial(5*time.Minute, hosts...); err != nil {
			t.Errorf("%v: %v", hosts, err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%v: let in after %v", hosts, took)
		}
	}
	for _, hosts := range [][]string{{refuses, foreign}, {foreign, refuses}} {
		if err := dial(time.Minute, hosts...); !credential.Disbelieved(err) {
			t.Errorf("%v: %v", hosts, err)
		}
	}
	if err := dial(testbed.Paced(t, 300*time.Millisecond), silent, silent); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("all are silent: %v", err)
	}
	var nowhere *net.DNSError
	if err := dial(time.Minute); !errors.As(err, &nowhere) || !nowhere.IsNotFound {
		t.Errorf("without an address: %v", err)
	}
}
