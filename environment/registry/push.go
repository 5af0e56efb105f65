package registry

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"gridbroker/environment"
)

// Push copies an image of an OCI layout folder to a repository, HOST/NAME, by its digest alone: it gets no name that
// could come to mean another image. What the registry has already is not sent again. Nothing is sent but regular files
// of the folder.
func (r Client) Push(ctx context.Context, dir, digest, place string) error {
	repo, err := name.NewRepository(place, insecure(place)...)
	if err != nil {
		return fmt.Errorf("registry %s: %w", place, err)
	}
	core := &stored{ctx: ctx, blobs: environment.OpenLayout(dir)}
	if core.raw, err = core.document(digest); err == nil {
		core.manifest, err = v1.ParseManifest(bytes.NewReader(core.raw))
	}
	if err != nil {
		return fmt.Errorf("%s has no image %s: %w", dir, digest, err)
	}
	img, err := partial.CompressedToImage(core)
	if err != nil {
		return err
	}
	opts, shown := r.options(ctx, place)
	return shown.hush(remote.Write(repo.Digest(digest), img, opts...))
}

// stored is an image of a layout, a partial.CompressedImageCore.
type stored struct {
	ctx      context.Context
	blobs    environment.Blobs
	raw      []byte
	manifest *v1.Manifest
}

// document reads a manifest or a configuration and checks its digest.
func (s *stored) document(digest string) ([]byte, error) {
	want, err := v1.NewHash(digest)
	if err != nil {
		return nil, err
	}
	f, err := s.blobs.Manifest(s.ctx, digest)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if got, _, err := v1.SHA256(bytes.NewReader(text)); err != nil || got != want {
		return nil, fmt.Errorf("it is damaged or larger than %d bytes: its digest is %s", maxDocument, got)
	}
	return text, nil
}

// RawManifest implements partial.CompressedImageCore.
func (s *stored) RawManifest() ([]byte, error) { return s.raw, nil }

// RawConfigFile implements partial.ImageCore.
func (s *stored) RawConfigFile() ([]byte, error) {
	return s.document(s.manifest.Config.Digest.String())
}

// MediaType implements partial.ImageCore.
func (s *stored) MediaType() (types.MediaType, error) {
	if s.manifest.MediaType == "" {
		return types.OCIManifestSchema1, nil
	}
	return s.manifest.MediaType, nil
}

// LayerByDigest implements partial.CompressedImageCore.
func (s *stored) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	for _, d := range s.manifest.Layers {
		if d.Digest == h {
			return &storedLayer{s, d}, nil
		}
	}
	return nil, fmt.Errorf("the image has no layer %s", h)
}

// storedLayer is a partial.CompressedLayer.
type storedLayer struct {
	*stored
	d v1.Descriptor
}

// Digest implements partial.CompressedLayer.
func (l *storedLayer) Digest() (v1.Hash, error) { return l.d.Digest, nil }

// Size implements partial.CompressedLayer.
func (l *storedLayer) Size() (int64, error) { return l.d.Size, nil }

// MediaType implements partial.CompressedLayer.
func (l *storedLayer) MediaType() (types.MediaType, error) { return l.d.MediaType, nil }

// Compressed implements partial.CompressedLayer.
func (l *storedLayer) Compressed() (io.ReadCloser, error) {
	return l.blobs.Blob(l.ctx, l.d.Digest.String())
}
