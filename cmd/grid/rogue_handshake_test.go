package main_test

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// stingy is a connection that sends so many bytes, and then no more.
type stingy struct {
	net.Conn
	left int
}

// Write implements net.Conn.
func (s *stingy) Write(p []byte) (int, error) {
	n := min(len(p), s.left)
	if _, err := s.Conn.Write(p[:n]); err != nil {
		return 0, err
	}
	s.left -= n
	return len(p), nil
}

// TestHandshakesOfStrangers: many who begin to show certificates without end and never end cost a daemon little.
func TestHandshakesOfStrangers(t *testing.T) {
	testbed.Measures(t)
	junk := make([]byte, 16<<10)
	rand.Read(junk)
	var chain [][]byte
	for range 15 {
		chain = append(chain, junk)
	}
	d, _, honest := newManager(t)
	ca := testbed.NewCA(t, "CA", time.Now(), nil)
	own := ca.Issue("rogue", func(*x509.Certificate) {})
	shown := tls.Certificate{Certificate: append([][]byte{own.Cert.Raw}, chain...), PrivateKey: own.Key}
	quiet := d.memory()
	var all sync.WaitGroup
	for range 1500 {
		all.Go(func() {
			raw, err := net.Dial("tcp", d.addr)
			if err != nil {
				return
			}
			defer raw.Close()
			c := tls.Client(&stingy{raw, 230 << 10}, &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }})
			_ = c.Handshake()
			_, _ = io.Copy(io.Discard, raw) // until it is ended
		})
	}
	peak := d.settled() - quiet
	took, err := answered(t.Context(), speaker(honest), "https://"+d.addr+"/v1/state")
	t.Logf("%d MB more; another was answered after %v, %v", peak>>20, took, err)
	if peak > harmMemory || err != nil {
		t.Errorf("%d MB, %v, %v", peak>>20, took, err)
	}
}
