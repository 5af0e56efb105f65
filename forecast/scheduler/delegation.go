package scheduler

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"gridbroker/credential"
)

// errNoCSR is a delegation that was not asked for.
var errNoCSR = errors.New("no such delegation request")

// A delegation is two steps: the scheduler makes a key and a request, the user
// signs it. The key waits inside the request's id, sealed, so that any replica
// can take the second step and nothing is kept of those that are never taken.

type delegations struct{ *API }

type delegateOut struct {
	Body struct {
		ID  string `json:"id"`
		CSR string `json:"csr" doc:"PEM"`
	}
}

func (a delegations) delegate(ctx context.Context, _ *struct{}) (*delegateOut, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, a.problem(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, a.problem(err)
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "grid scheduler"}}, key)
	if err != nil {
		return nil, a.problem(err)
	}
	out := &delegateOut{}
	out.Body.ID = base64.RawURLEncoding.EncodeToString(a.S.store.seal.Close("delegation/"+p.Subject, der))
	out.Body.CSR = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr}))
	return out, nil
}

type delegatedIn struct {
	Body struct {
		ID    string `json:"id" maxLength:"4096"`
		Chain string `json:"chain" maxLength:"200000" doc:"PEM: the signed proxy, then the chain of its issuer"`
	}
}

func (a delegations) delegated(ctx context.Context, in *delegatedIn) (*struct{}, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	sealed, err := base64.RawURLEncoding.DecodeString(in.Body.ID)
	if err != nil {
		return nil, huma.Error422UnprocessableEntity(errNoCSR.Error())
	}
	der, err := a.S.store.seal.Open("delegation/"+p.Subject, sealed)
	if err != nil {
		return nil, huma.Error422UnprocessableEntity(errNoCSR.Error())
	}
	x, body, err := joined(a.Door.authorities(), in.Body.Chain, der)
	if err != nil {
		return nil, huma.Error422UnprocessableEntity(err.Error())
	}
	if x.Identity() != p.Subject {
		return nil, huma.Error403Forbidden("the proxy is of " + x.Identity() + ", and you are " + p.Subject)
	}
	return nil, a.problem(a.S.store.KeepCredential(ctx, p.Subject, body, x.NotAfter(), credential.AttributesEnd(x), credential.NamedVOs(x)...))
}

// joined is a proxy file: certificate, key, chain.
func joined(trust *credential.Trust, chain string, key []byte) (*credential.X509, []byte, error) {
	var b bytes.Buffer
	own, rest := pem.Decode([]byte(chain))
	if own == nil {
		return nil, nil, errNoCSR
	}
	for _, block := range []*pem.Block{own, {Type: "PRIVATE KEY", Bytes: key}} {
		if err := pem.Encode(&b, block); err != nil {
			return nil, nil, err
		}
	}
	b.Write(rest)
	x, err := credential.ParseX509("the delegation", b.Bytes())
	if err != nil {
		return nil, nil, err
	}
	if trust == nil {
		return nil, nil, errNoTrust
	}
	return x, b.Bytes(), trust.Verify(x)
}
