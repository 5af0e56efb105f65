package main_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"gridbroker/testdata/testbed"
)

// newSecuredScheduler is one that speaks TLS, and so HTTP/2.
func newSecuredScheduler(t *testing.T) *daemon {
	t.Helper()
	dir := t.TempDir()
	ca := testbed.NewCA(t, "CA", time.Now(), nil)
	own := ca.Server(nil)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	testbed.WriteFile(t, cert, testbed.PEM(own.Leaf, ca.Cert), 0o644)
	testbed.WriteFile(t, key, testbed.KeyPEM(t, own.PrivateKey.(crypto.Signer)), 0o600)
	return newRogueScheduled(t, []string{"prlimit", "--nofile=4096:4096"}, []string{"X509_CERT_DIR=" + dir}, fmt.Sprintf("cert = %q\nkey = %q\n", cert, key))
}

// streams is one who speaks HTTP/2 with a server by its frames.
type streams struct {
	*http2.Framer
	next uint32
}

// speak begins HTTP/2 on a connection.
func speak(ctx context.Context, c net.Conn, deaf bool) (*streams, error) {
	secured := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if secured.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, fmt.Errorf("it speaks %q", secured.ConnectionState().NegotiatedProtocol)
	}
	if _, err := secured.Write([]byte(http2.ClientPreface)); err != nil {
		return nil, err
	}
	s := &streams{http2.NewFramer(secured, secured), 1}
	if deaf {
		return s, s.WriteSettings()
	}
	go func() { // what the server says is read, and no more
		for {
			if _, err := s.ReadFrame(); err != nil {
				return
			}
		}
	}()
	return s, s.WriteSettings()
}

// ask sends the headers of a request, and says which stream it has.
func (s *streams) ask(method, path string, end bool) (uint32, error) {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", method}, {":scheme", "https"}, {":authority", "x"}, {":path", path}, {"authorization", "Bearer secret-a"}, {"content-type", "application/json"}} {
		_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	id := s.next
	s.next += 2
	return id, s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: end, EndHeaders: true})
}

// TestFloodsOfHTTP2: a crowd that speaks HTTP/2 with a daemon costs no more than one that speaks HTTP/1.1: neither requests that
// are taken back at once, nor pings, nor bodies that never end.
func TestFloodsOfHTTP2(t *testing.T) {
	testbed.Measures(t)
	for name, do := range map[string]func(*streams) error{ // each for as long as the daemon lets it
		"taken back": func(s *streams) error {
			for {
				id, err := s.ask("GET", "/v1/jobs", true)
				if err == nil {
					err = s.WriteRSTStream(id, http2.ErrCodeCancel)
				}
				if err != nil {
					return err
				}
			}
		},
		"pings": func(s *streams) error {
			for {
				if err := s.WritePing(false, [8]byte{1}); err != nil {
					return err
				}
			}
		},
		"pings of the deaf": func(s *streams) error {
			for range 20_000 {
				if err := s.WritePing(false, [8]byte{1}); err != nil {
					return err
				}
			}
			return nil
		},
		"settings": func(s *streams) error {
			for {
				if err := s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}); err != nil {
					return err
				}
			}
		},
		"bodies without end": func(s *streams) error {
			text := bytes.Repeat([]byte(" "), 16<<10)
			for range 200 {
				id, err := s.ask("POST", "/v1/jobs", false)
				for range 4 {
					if err == nil {
						err = s.WriteData(id, false, text)
					}
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newSecuredScheduler(t)
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			defer stop()
			quiet, began := d.memory(), d.processor()
			crowd, work := 50, 3*time.Second // who never rest
			if name == "bodies without end" {
				crowd = 200
			} else if strings.HasSuffix(name, "deaf") {
				crowd, work = 500, 20*time.Second // each sends what it will, and waits
			}
			var flooding atomic.Int32
			flooding.Store(int32(crowd))
			d.crowd(crowd, func(c net.Conn) {
				defer flooding.Add(-1)
				context.AfterFunc(ctx, func() { c.Close() })
				deaf := strings.HasSuffix(name, "deaf")
				if tcp, ok := c.(*net.TCPConn); ok && deaf {
					_ = tcp.SetReadBuffer(4 << 10)
				}
				s, err := speak(ctx, c, deaf)
				if err == nil {
					err = do(s)
				}
				_ = err // the server may have had enough
			})
			// However fast the machine is, the daemon has had so much work, or all that there is.
			peak := int64(0)
			for end := time.Now().Add(time.Minute); flooding.Load() > 0 && d.processor()-began < work && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				peak = max(peak, d.memory())
			}
			if flooding.Load() == 0 {
				time.Sleep(time.Second) // for what came last
			}
			peak = max(peak, d.memory())
			stop()
			t.Logf("%d MB more, %v of the processor", (peak-quiet)>>20, d.processor()-began)
			if more := peak - quiet; more > harmMemory {
				t.Errorf("%d MB", more>>20)
			}
		})
	}
}
