package registry

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push copies an image of an OCI layout folder to a repository, HOST/NAME, by its digest alone: it gets no name that
// could come to mean another image. What the registry has already is not sent again.
func (r Client) Push(ctx context.Context, dir, digest, place string) error {
	repo, err := name.NewRepository(place, insecure(place)...)
	if err != nil {
		return fmt.Errorf("registry %s: %w", place, err)
	}
	hash, err := v1.NewHash(digest)
	if err != nil {
		return err
	}
	path, err := layout.FromPath(dir)
	if err != nil {
		return err
	}
	img, err := path.Image(hash)
	if err != nil {
		return fmt.Errorf("%s has no image %s: %w", dir, digest, err)
	}
	return remote.Write(repo.Digest(digest), img, r.options(ctx)...)
}
