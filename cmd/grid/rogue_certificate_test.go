package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// oddWords are what a terminal would act on, and what would pass for a line of its own.
const oddWords = "x\x1b]0;owned\x07\x1b[2J\u202e\ngrid: all is well"

// manyNames are so many names of hosts, none of which is anybody's.
func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("h%d.example.org", i)
	}
	return names
}

// rogueCertificates are what a server may show that has its certificate of an authority of the grid, or of none.
func rogueCertificates(t *testing.T, ca *testbed.CA) map[string]tls.Certificate {
	elsewhere := func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, manyNames(8000) }
	odd := func(c *x509.Certificate) {
		c.Subject, c.IPAddresses, c.DNSNames = testbed.Name(oddWords), nil, []string{"a\x1b[2J\n\x07grid: all is well"}
	}
	long := func(c *x509.Certificate) {
		c.Subject, c.IPAddresses, c.DNSNames = testbed.Name(strings.Repeat("x", 100<<10)), nil, nil
	}
	stranger := testbed.NewCA(t, oddWords, time.Now(), nil)
	pad := func(own tls.Certificate, with []byte) tls.Certificate {
		for size := 0; size < 200<<10; size += len(with) {
			own.Certificate = append(own.Certificate, with)
		}
		return own
	}
	narrow := ca.Sub("Narrow")
	template := ca.Template("Narrow")
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	for _, name := range manyNames(3000) {
		template.PermittedDNSDomains = append(template.PermittedDNSDomains, "a."+name)
		template.ExcludedDNSDomains = append(template.ExcludedDNSDomains, "b."+name)
	}
	narrow.Cert = ca.Sign(template, ca.Cert, narrow.Key.Public(), ca.Key)
	many := func(c *x509.Certificate) { c.DNSNames = manyNames(3000) }
	return map[string]tls.Certificate{
		"names of others":           ca.Server(elsewhere),
		"names of others, unknown":  stranger.Server(elsewhere),
		"a long name":               ca.Server(long),
		"words":                     ca.Server(odd),
		"words, unknown":            stranger.Server(odd),
		"a chain of itself":         pad(ca.Server(nil), ca.Server(nil).Certificate[0]),
		"a chain of authorities":    pad(stranger.Server(nil), stranger.Cert.Raw),
		"narrow names":              narrow.Server(many),
		"narrow names and no right": narrow.Server(nil),
	}
}

// TestCertificatesOfRogues: what a server's certificate says costs nothing, is not acted on, and who shows it is named.
func TestCertificatesOfRogues(t *testing.T) {
	t.Parallel()
	lab := newTLSLab(t)
	for name, own := range rogueCertificates(t, lab.ca) {
		addr := testbed.Listen(t, func(raw net.Conn) {
			c := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{own}})
			_, _ = io.WriteString(c, "HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		})
		for who, ask := range tlsAskers {
			t.Run(name+"/"+who, func(t *testing.T) {
				t.Parallel()
				v := lab.victim(t)
				h := v.grid(0, ask(v, addr)...)
				h.errs += h.out
				v.bounded(h, addr)
				if strings.ContainsAny(h.errs, "\x1b\x07\u202e") || strings.Contains(h.errs, "\ngrid: all is well") {
					t.Errorf("%q", h.errs)
				}
			})
		}
	}
}

// TestHandshakesThatDrip: agreeing on TLS has an end, however it drips.
func TestHandshakesThatDrip(t *testing.T) {
	t.Parallel()
	lab := newTLSLab(t)
	for who, ask := range tlsAskers {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			addr := testbed.Listen(t, func(raw net.Conn) {
				_, err := raw.Write([]byte{recordHandshake, 3, 3, 0x40, 0, 2, 0, 0x40, 0}) // a hello of 16 KiB
				for ; err == nil; time.Sleep(100 * time.Millisecond) {
					_, err = raw.Write([]byte{3})
				}
			})
			v := lab.victim(t)
			h := v.grid(0, ask(v, addr)...)
			h.errs += h.out
			v.bounded(h, addr)
			if h.took > time.Minute {
				t.Errorf("%v", h.took)
			}
		})
	}
}
