package credential

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"gridbroker/credential/voms"
)

// Peer is whom a client certificate shows: a chain of a connection, own
// certificate first, that Trust has verified. It has no key: it tells who it
// is, and can do nothing.
func (t *Trust) Peer(chain []*x509.Certificate) (*X509, error) {
	if len(chain) == 0 {
		return nil, errors.New("no certificate was shown")
	}
	if err := t.VerifyChain(chain); err != nil {
		return nil, err
	}
	x := &X509{chain: order(chain), path: "the connection"}
	if !voms.Unmistakable(x.entity().RawSubject) {
		return nil, fmt.Errorf("the name %.200s that the certificate shows may be read as another's", x.Identity())
	}
	return x, nil
}

// ServerConfig is the TLS configuration of a server that shows a pair of KeyPair and asks
// clients for certificates and proxies. What they show is not verified by it, since TLS
// knows no proxies: see Peer.
func ServerConfig(own func() *tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own(), nil }, ClientAuth: tls.RequestClientCert,
		NextProtos: []string{"h2", "http/1.1"},
	}
}
