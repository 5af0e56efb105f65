package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"
)

// TLS returns the configuration of managers and brokers: both sides show
// certificates of the authorities. own is asked at each handshake.
func TLS(own func() *tls.Certificate, authorities *x509.CertPool) *tls.Config {
	return &tls.Config{
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own(), nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own(), nil },
		RootCAs:              authorities, ClientCAs: authorities,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}
}

// Server returns the server of a manager or a broker. Links are streams that
// last: they have no deadline, but signs of life.
func Server(config *tls.Config, h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, TLSConfig: config.Clone(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1000, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 64 << 10, MaxReadFrameSize: 16 << 10},
	}
}

// Client returns the client of a manager or a broker.
func Client(config *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute,
			MaxIdleConnsPerHost: 8, MaxResponseHeaderBytes: 64 << 10, HTTP2: &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 5 * time.Second},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
