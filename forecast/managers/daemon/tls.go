package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Authorities are those whose certificates managers and brokers show each other.
type Authorities interface {
	// Roots are their certificates: another pool where anything about them has changed, their revocation lists among that.
	Roots() *x509.CertPool
	// Check says why none of some chains that end in Roots holds, as where a certificate was revoked.
	Check(chains [][]*x509.Certificate) error
}

// TLS returns the configuration of managers and brokers: both sides show
// certificates of the authorities. own and authorities are asked at each handshake.
func TLS(own func() *tls.Certificate, authorities func() Authorities) *tls.Config {
	config := &tls.Config{
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own(), nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own(), nil },
		ClientAuth:           tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c, a := config.Clone(), authorities()
		c.GetConfigForClient, c.RootCAs, c.ClientCAs = nil, a.Roots(), a.Roots()
		c.VerifyConnection = func(state tls.ConnectionState) error { return a.Check(state.VerifiedChains) }
		return c, nil
	}
	return config
}

// handshakeTime is how long a client waits for TLS.
const handshakeTime = 10 * time.Second

// dialer is how connections begin.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// secured connects as a client, by the authorities of now.
func (connect dialer) secured(config *tls.Config) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := connect(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c, err := config.GetConfigForClient(nil)
		if err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		if c.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		ctx, cancel := context.WithTimeout(ctx, handshakeTime)
		defer cancel()
		conn := tls.Client(raw, c)
		if err := conn.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		return conn, nil
	}
}

// current refuses who shows a certificate that has run out since TLS was agreed on, which links keep for weeks, or that the
// authorities of now do not believe, and ends the connection: the next one shows the certificate that there is by then.
func current(next http.Handler, authorities func() Authorities) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(why string) {
			w.Header().Set("Connection", "close") // in HTTP/2, too: the server says GOAWAY
			http.Error(w, why, http.StatusUnauthorized)
		}
		if until, ok := endOf(r.TLS); ok && time.Now().After(until) {
			refuse("the certificate that you showed ran out at " + until.UTC().Format(time.RFC3339))
			return
		}
		if s, ok := r.Context().Value(standingKey{}).(*standing); ok {
			if err := s.asks(r.TLS, authorities()); err != nil {
				refuse(fmt.Sprintf("the certificate that you showed is not believed any more: %v", err))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// believes are the authorities of now of what TLS returned; nil where it has none to tell.
func believes(config *tls.Config) func() Authorities {
	return func() Authorities {
		if config.GetConfigForClient == nil {
			return nil
		}
		c, err := config.GetConfigForClient(nil)
		if err != nil {
			return nil
		}
		return configured{c}
	}
}

// configured are the authorities of a configuration.
type configured struct{ *tls.Config }

// Roots implements Authorities.
func (c configured) Roots() *x509.CertPool { return c.ClientCAs }

// Check implements Authorities.
func (c configured) Check(chains [][]*x509.Certificate) error {
	return c.VerifyConnection(tls.ConnectionState{VerifiedChains: chains})
}

// endOf is when the certificate of the other side runs out; false where none is seen.
func endOf(state *tls.ConnectionState) (time.Time, bool) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return time.Time{}, false
	}
	return state.PeerCertificates[0].NotAfter, true
}

// Server returns the server of a manager or a broker. Links are streams that
// last: they have no deadline but the end of the certificate and of its authority, and signs of life.
func Server(config *tls.Config, h http.Handler) *http.Server {
	return &http.Server{
		Handler: current(h, believes(config)), ConnContext: withStanding, TLSConfig: config.Clone(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1000, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 64 << 10, MaxReadFrameSize: 16 << 10},
	}
}

// Client returns the client of a manager or a broker, by what TLS returned.
func Client(config *tls.Config) *http.Client {
	return client(config, new(net.Dialer).DialContext)
}

// Reader returns a client for whoever looks at many managers at once: of what each answers at most 256 KiB are in memory
// before they are read.
func Reader(config *tls.Config) *http.Client {
	c := Client(config)
	c.Transport.(*renewed).window = 256 << 10
	return c
}

func client(config *tls.Config, connect dialer) *http.Client {
	return &http.Client{
		Transport:     &renewed{config: config, connect: connect},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// transport is one of which so many bytes of a stream are taken before they are read; 0: as many as net/http does.
func transport(config *tls.Config, connect dialer, window int) *http.Transport {
	return &http.Transport{
		DialTLSContext: connect.secured(config), ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		MaxIdleConns: 256, MaxIdleConnsPerHost: 8, MaxResponseHeaderBytes: 64 << 10, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: window, SendPingTimeout: 5 * time.Second, PingTimeout: 5 * time.Second},
	}
}
