package cli

import (
	"context"
	"fmt"
	"time"

	"gridbroker/environment/registry"
	"gridbroker/jdl"
)

// imageWait is how long a registry may take to say what a tag means.
const imageWait = time.Minute

// pinImages looks up what the images of jobs are that are named by a tag: a job runs in the image that the tag means now,
// wherever it is sent and however often.
func pinImages(ctx context.Context, d *deps, all []*jdl.Job) error {
	known := map[string]string{}
	for _, job := range all {
		image := job.UserImage()
		place, tag, tagged := jdl.SplitImage(image)
		if !tagged {
			continue
		}
		digest, asked := known[image]
		if !asked {
			var err error
			if digest, err = imageDigest(ctx, place, tag); err != nil {
				return fmt.Errorf("%s: what %s means: %w", job.Name, image, err)
			}
			known[image] = digest
			sayErr(d, "%s is docker://%s@%s now; that is what runs", image, place, digest)
		}
		if err := job.PinImage(digest); err != nil {
			return err
		}
	}
	return nil
}

func imageDigest(ctx context.Context, place, tag string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, imageWait)
	defer cancel()
	return registry.Client{}.Digest(ctx, place, tag)
}
