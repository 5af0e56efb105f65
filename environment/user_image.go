package environment

import (
	"fmt"
	"path"
	"strings"
)

// UserImageTag is the tag of nodes whose jobs may bring an image of their own. No definition bears it.
const UserImageTag = "VEE-UserImage"

// UserImage is the environment of an image that a job brings, docker://HOST/NAME@sha256:DIGEST or an unpacked one in a folder of
// the node: the image and the node's defaults, nothing else. It is a *PolicyError where the site has no images of users, or
// none from that place: a registry is asked by the node, which reaches more than a user does.
func (n *Node) UserImage(image string) (*Definition, error) {
	if strings.HasPrefix(image, "/") {
		return n.userFolder(image)
	}
	place, digest, ok := strings.Cut(image, "@")
	d := &Definition{Tag: UserImageTag, Image: place, Digest: digest}
	if !ok {
		return nil, fmt.Errorf("a job's image is docker://HOST/NAME@sha256:DIGEST, not %q", image)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("the job's image %q: %w", image, err)
	}
	if err := n.Policy.Check(d, false); err != nil {
		return nil, err
	}
	return d, n.Policy.checkRegistry(d)
}

// TakesImages tells whether jobs may bring images of their own.
func (p *Policy) TakesImages() bool {
	return p.UserImages && len(p.UserRegistries)+len(p.UserFolders) > 0
}

func (p *Policy) checkRegistry(d *Definition) error {
	name, inRegistry := strings.CutPrefix(d.Image, "docker://")
	if !inRegistry {
		return &PolicyError{d.Tag, "images of jobs that do not lie in a registry, such as " + d.Image}
	}
	if path.Clean(name) == name {
		for _, allowed := range p.UserRegistries {
			if below(name, []string{allowed}) {
				return nil
			}
		}
	}
	return &PolicyError{d.Tag, fmt.Sprintf("images of jobs from %s (allowed: %s)", d.Image, strings.Join(p.UserRegistries, ", "))}
}

// Wanted is the definition of a tag, or of the image that a job brings under UserImageTag; image is empty with other tags.
func (n *Node) Wanted(tag, image string) (*Definition, error) {
	switch {
	case image != "" && !SameTag(tag, UserImageTag):
		return nil, fmt.Errorf("the job asks for environment %s and brings an image: it can run in one", tag)
	case image == "" && SameTag(tag, UserImageTag):
		return nil, fmt.Errorf("%s stands for images that jobs bring, and the job names none", UserImageTag)
	case image != "":
		return n.UserImage(image)
	}
	return n.Definition(tag)
}

// chosen is the one environment that a job asks for: by a list of tags, or by an image that it brings.
func (n *Node) chosen(tags []string, image string) (*Definition, error) {
	found, err := n.Among(tags)
	if err != nil || image == "" {
		return found, err
	}
	if found != nil {
		return nil, fmt.Errorf("the job asks for environment %s and brings an image: it can run in one", found.Tag)
	}
	return n.UserImage(image)
}
