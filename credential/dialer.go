package credential

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Dialer opens the TLS connections of discovery, jobs, services, VOMS and doctor. Its
// policy: a credential is shown only to hosts whose certificate an authority of
// the grid signed; those of a public authority are believed where there is
// nothing to be shown, or where the user named the host.
type Dialer struct {
	Trust    *Trust
	Cert     *X509                  // shown to the server; nil: none
	Guarded  bool                   // something else is at stake on this connection: a token, or jobs
	Public   func(host string) bool // hosts for which a public authority is believed all the same; nil: none
	Contacts *Contacts              // remembers who spoke for a host; nil: nobody does
	// Control is asked before a connection is made to an address; nil: all
	// are well.
	Control  func(ctx context.Context, address string) error
	Timeout  time.Duration // for one attempt; 0: 10 s
	Attempts int           // at handshakes that are spoilt; 0: 2
	// Curve, where it is not 0, is the only one that the first attempt
	// offers: A-REX agrees to P-521 alone, and else has to ask for it.
	Curve tls.CurveID
	// Wrap is put around the connection below TLS; nil: nothing.
	Wrap func(net.Conn) net.Conn
	// Before is what is said in the clear to agree on TLS (LDAP's StartTLS), on
	// each new connection; it ends with the context. nil: nothing.
	Before func(context.Context, net.Conn) error
	// Lookup finds the addresses of a host; nil: as the system does. One that does not answer, or
	// hangs before TLS is agreed on, does not keep from the others.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Asked is told of a server that asks for a certificate, with the names of
	// the authorities it lists (DER), where Cert is nil; nil: nobody is.
	Asked func(authorities [][]byte)
}

// DialTLS is Dial as http.Transport.DialTLSContext wants it.
func (d *Dialer) DialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.Dial(ctx, network, addr)
	if err != nil {
		return nil, err // no Conn that is nil inside an interface
	}
	return c, nil
}

// Dial connects and verifies. A handshake that is spoilt without a verdict
// about certificates is repeated: nothing was sent yet.
func (d *Dialer) Dial(ctx context.Context, network, addr string) (*Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	cfg := d.Trust.GridConfig(d.Cert, host)
	every := cfg.CurvePreferences
	if d.Curve != 0 {
		cfg.CurvePreferences = []tls.CurveID{d.Curve}
	}
	for attempt := 1; ; attempt++ {
		var c *Conn
		if c, err = d.once(ctx, network, addr, cfg); err == nil {
			return c, nil
		}
		if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown && d.Trust.System() {
			return d.public(ctx, network, addr, host, err)
		}
		if ctx.Err() != nil || !spoilt(err) || attempt >= max(d.Attempts, 2) {
			return nil, err
		}
		cfg.CurvePreferences = every
	}
}

// public goes on where the grid's authorities do not know the server: the
// system's may. Where a credential would be at stake that is refused, unless
// the user named the host.
func (d *Dialer) public(ctx context.Context, network, addr, host string, unknown error) (*Conn, error) {
	named := d.Public != nil && d.Public(host)
	if (d.Cert != nil || d.Guarded) && !named {
		if c, err := d.once(ctx, network, addr, d.Trust.ClientConfig(nil, host)); err == nil {
			_ = c.Close() // it was to learn what to say
			return nil, PublicCA(host, unknown)
		}
		return nil, unknown
	}
	return d.once(ctx, network, addr, d.Trust.ClientConfig(d.Cert, host))
}

// PublicCA is the finding about a host that only a public authority speaks for.
func PublicCA(host string, cause error) *Finding {
	f := problem("server.public-ca", host, "the server's certificate is of a public authority, which anybody can have", "credentials are given only to hosts of the grid's authorities",
		`if the host is right, name it in the configuration: [auth] public_cas = ["`+host+`"]`)
	f.cause = cause
	return f
}

func (d *Dialer) once(ctx context.Context, network, addr string, cfg *tls.Config) (*Conn, error) {
	limit := d.Timeout
	if limit <= 0 {
		limit = handshakeTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if d.Asked != nil && d.Cert == nil {
		var one sync.Mutex
		cfg.GetClientCertificate = func(req *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			one.Lock()
			defer one.Unlock()
			d.Asked(req.AcceptableCAs)
			return &tls.Certificate{}, nil
		}
	}
	places, err := d.places(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c, err := first(ctx, places, func(ctx context.Context, place string) (*Conn, error) { return d.attempt(ctx, network, place, cfg) })
	if err != nil {
		return nil, err
	}
	if d.Contacts != nil {
		if err := d.Contacts.check(addr, speakers(d.Trust, c.ConnectionState())); err != nil {
			_ = c.Close()
			return nil, err
		}
	}
	return c, nil
}

// attempt connects to one address, and agrees on TLS.
func (d *Dialer) attempt(ctx context.Context, network, addr string, cfg *tls.Config) (*Conn, error) {
	nd := net.Dialer{}
	if d.Control != nil {
		nd.ControlContext = func(ctx context.Context, _, address string, _ syscall.RawConn) error { return d.Control(ctx, address) }
	}
	raw, err := nd.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	below := raw
	if d.Wrap != nil {
		below = d.Wrap(raw)
	}
	if d.Before != nil {
		if err := d.Before(ctx, below); err != nil {
			_ = raw.Close() // as below
			return nil, err
		}
	}
	return Secure(ctx, below, cfg)
}

// spoilt reports whether a handshake failed in a way that another attempt may
// mend. A host that is not there, and what either side decided about
// certificates, stays as it is.
func spoilt(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Timeout()) {
		return false
	}
	_, found := errors.AsType[*Finding](err)
	return !found && !errors.Is(err, context.DeadlineExceeded) && !RefusesUs(err) && !Disbelieved(err)
}

// Alerts of RFC 8446 section 6.
const (
	alertBadCertificate      = tls.AlertError(42)
	alertAccessDenied        = tls.AlertError(49)
	alertCertificateRequired = tls.AlertError(116)
)

// RefusesUs reports whether the server refused our certificate.
func RefusesUs(err error) bool {
	alert, ok := RemoteAlert(err)
	return ok && (alert >= alertBadCertificate && alert <= alertAccessDenied || alert == alertCertificateRequired)
}

// Disbelieved reports whether we refused the server's certificate.
func Disbelieved(err error) bool {
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

// OfGrid reports whether an authority of the grid's directory vouches for a
// connection's server.
func (t *Trust) OfGrid(cs tls.ConnectionState) bool {
	for _, chain := range cs.VerifiedChains {
		if t.authority(chain[len(chain)-1]) != nil {
			return true
		}
	}
	return false
}

// HostPatterns makes a test of host names: "ce.example.org", "*.example.org"
// (one label or more, as the shell's * does).
func HostPatterns(patterns []string) func(host string) bool {
	return func(host string) bool {
		for _, p := range patterns {
			if ok, err := path.Match(strings.ToLower(p), strings.ToLower(host)); err == nil && ok {
				return true
			}
		}
		return false
	}
}
