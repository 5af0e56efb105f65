package environment

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// A Registry is how images are fetched from OCI registries (distribution-spec v1).
type Registry struct {
	// Keychain finds the credentials of a registry; nil: those of ~/.docker/config.json or REGISTRY_AUTH_FILE.
	Keychain authn.Keychain
	// Timeout bounds one request's silence; 0: 30 s.
	Timeout time.Duration
}

// blobs gives the content of one repository.
func (r Registry) blobs(place string) (blobs, error) {
	repo, err := name.NewRepository(place, insecure(place)...)
	if err != nil {
		return blobs{}, fmt.Errorf("registry %s: %w", place, err)
	}
	return blobs{
		manifest: func(ctx context.Context, digest string) (io.ReadCloser, error) {
			d, err := remote.Get(repo.Digest(digest), r.options(ctx)...)
			if err != nil {
				return nil, err
			}
			return io.NopCloser(bytes.NewReader(d.Manifest)), nil
		},
		blob: func(ctx context.Context, digest string) (io.ReadCloser, error) {
			l, err := remote.Layer(repo.Digest(digest), r.options(ctx)...)
			if err != nil {
				return nil, err
			}
			return l.Compressed()
		},
	}, nil
}

func (r Registry) options(ctx context.Context) []remote.Option {
	keys := r.Keychain
	if keys == nil {
		keys = authn.DefaultKeychain
	}
	timeout := r.Timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = timeout
	t.DialContext = (&net.Dialer{Timeout: timeout}).DialContext
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(keys), remote.WithTransport(t)}
}

// insecure allows plain HTTP for this machine's own registry, and for no other.
func insecure(place string) []name.Option {
	host, _, _ := strings.Cut(place, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return []name.Option{name.Insecure}
	}
	return nil
}
