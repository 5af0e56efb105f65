package arcrest

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"gridbroker/credential"
)

// dialAttempts bounds the repetition of spoilt handshakes: A-REX now and then
// sends the closing alert of another connection into a new one.
const dialAttempts = 4

// newTransport keeps connections, follows no proxy, and speaks HTTP/1.1, which
// is all that A-REX knows.
func newTransport(o Options, who *identity) *http.Transport {
	d := &dialer{timeout: min(o.Timeout, 10*time.Second), stall: o.Timeout, who: who}
	return &http.Transport{
		DialTLSContext:         d.dial,
		MaxConnsPerHost:        o.Connections,
		MaxIdleConnsPerHost:    o.Connections,
		IdleConnTimeout:        20 * time.Second,
		ResponseHeaderTimeout:  o.Timeout,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		ForceAttemptHTTP2:      false,
	}
}

// Warm makes the tables of the curve that A-REX agrees to, which takes 9 ms of
// a processor and else delays the first connection. It may run beside what
// comes before that.
func Warm() {
	_, _ = ecdh.P521().GenerateKey(rand.Reader) // only the tables matter
}

type dialer struct {
	timeout time.Duration // for one attempt
	stall   time.Duration
	who     *identity
}

// dial connects. A-REX agrees to the curve P-521 alone: with the first attempt
// nothing else is offered, which saves it from having to ask for that. Any
// other attempt offers all curves. A server that the grid's authorities do not
// know is tried with the system's too, which take a while to be read.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &dialError{err}
	}
	cfg := d.who.trust.GridConfig(d.who.x509, host)
	every := cfg.CurvePreferences
	cfg.CurvePreferences = []tls.CurveID{tls.CurveP521}
	for range dialAttempts {
		var c net.Conn
		if c, err = d.once(ctx, network, addr, cfg); err == nil {
			return c, nil
		}
		if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown && d.who.trust.System() {
			cfg = d.who.trust.ClientConfig(d.who.x509, host)
			if c, err = d.once(ctx, network, addr, cfg); err == nil {
				return c, nil
			}
		}
		if ctx.Err() != nil || !spoilt(err) {
			break
		}
		cfg.CurvePreferences = every
	}
	return nil, &dialError{err}
}

func (d *dialer) once(ctx context.Context, network, addr string, cfg *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	var nd net.Dialer
	raw, err := nd.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := tls.Client(&conn{Conn: raw, stall: d.stall}, cfg)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // the handshake's error says it all
		return nil, err
	}
	return c, nil
}

// spoilt reports whether a handshake failed in a way that another attempt may
// mend. Nothing of ours was sent yet, so it is safe. A host that is not there,
// and what either side decided about certificates, stays as it is.
func spoilt(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Timeout()) {
		return false
	}
	return !errors.Is(err, context.DeadlineExceeded) && !certificateAlert(err) && !isCertificate(err)
}

// Alerts of RFC 8446 section 6.
const (
	alertBadCertificate      = tls.AlertError(42)
	alertAccessDenied        = tls.AlertError(49)
	alertCertificateRequired = tls.AlertError(116)
)

// certificateAlert reports whether the server refused our certificate.
func certificateAlert(err error) bool {
	alert, ok := credential.RemoteAlert(err)
	return ok && (alert >= alertBadCertificate && alert <= alertAccessDenied || alert == alertCertificateRequired)
}

// isCertificate reports whether we refused the server's certificate.
func isCertificate(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.CertificateInvalidError](err)
	return ok
}

// dialError marks a failure before any request was sent.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// conn re-arms quick acknowledgements, and fails when nothing moves for the
// stall time.
type conn struct {
	net.Conn
	stall time.Duration
}

func (c *conn) Read(p []byte) (int, error) {
	quickAck(c.Conn)
	_ = c.SetReadDeadline(time.Now().Add(c.stall)) // a closed connection fails the read itself
	return c.Conn.Read(p)
}

func (c *conn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.stall)) // as above
	return c.Conn.Write(p)
}
