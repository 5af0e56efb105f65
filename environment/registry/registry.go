// Package registry moves images between OCI registries (distribution-spec v1) and this machine. It is apart from package
// environment so that the program which starts jobs does not carry an HTTP client.
package registry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"gridbroker/credential"
	"gridbroker/environment"
)

// A Client is how registries are reached.
type Client struct {
	// Keychain finds the credentials of a registry; nil: those of ~/.docker/config.json or REGISTRY_AUTH_FILE, files that
	// are closed to others.
	Keychain authn.Keychain
	// Timeout bounds one request's silence; 0: 30 s.
	Timeout time.Duration
}

// Blobs gives the content of one repository, HOST/NAME; nothing is fetched yet. It is an environment.Fetch.
func (r Client) Blobs(place string) (environment.Blobs, error) {
	repo, err := name.NewRepository(place, insecure(place)...)
	if err != nil {
		return environment.Blobs{}, fmt.Errorf("registry %s: %w", place, err)
	}
	return environment.Blobs{
		Manifest: func(ctx context.Context, digest string) (io.ReadCloser, error) {
			opts, shown := r.options(ctx, place)
			d, err := remote.Get(repo.Digest(digest), opts...)
			if err != nil {
				return nil, shown.hush(err)
			}
			return io.NopCloser(bytes.NewReader(d.Manifest)), nil
		},
		Blob: func(ctx context.Context, digest string) (io.ReadCloser, error) {
			opts, shown := r.options(ctx, place)
			l, err := remote.Layer(repo.Digest(digest), opts...)
			if err != nil {
				return nil, shown.hush(err)
			}
			body, err := l.Compressed()
			return body, shown.hush(err)
		},
	}, nil
}

// Digest is the digest, sha256:..., of the image that a tag of a repository, HOST/NAME, means now.
func (r Client) Digest(ctx context.Context, place, tag string) (string, error) {
	repo, err := name.NewRepository(place, insecure(place)...)
	if err != nil {
		return "", fmt.Errorf("registry %s: %w", place, err)
	}
	opts, shown := r.options(ctx, place)
	d, err := remote.Get(repo.Tag(tag), opts...)
	if err != nil {
		return "", shown.hush(err)
	}
	return d.Digest.String(), nil
}

// options are those of one request, with what it shows of us.
func (r Client) options(ctx context.Context, place string) ([]remote.Option, *shown) {
	keys := r.Keychain
	if keys == nil {
		keys = careful{}
	}
	timeout := r.Timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	g := newGuard(hostOf(place), timeout)
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(keys), remote.WithTransport(g),
		remote.WithRetryBackoff(remote.Backoff{Duration: timeout / 30, Factor: 3, Jitter: 0.1, Steps: 3}),
	}, &g.shown
}

// hostOf is the host of a repository HOST/NAME, without its port.
func hostOf(place string) string {
	host, _, _ := strings.Cut(place, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.Trim(host, "[]")
}

// insecure allows plain HTTP for this machine's own registry, and for no other.
func insecure(place string) []name.Option {
	if credential.ThisMachine(hostOf(place)) {
		return []name.Option{name.Insecure}
	}
	return nil
}
