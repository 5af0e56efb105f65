package jdl

import (
	"regexp"
	"strings"

	"gridbroker/jdl/classad"
)

// UserImageTag is the tag of places where a job may bring an image of its own: the site publishes it, and a job whose
// ContainerImage names one asks for it as for any runtime environment. The image is the tag's option.
const UserImageTag = "VEE-UserImage"

// imageReference is an image in a registry by the digest of its manifest. A name without one could mean another image
// tomorrow.
var imageReference = regexp.MustCompile(`^docker://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9][a-z0-9._-]*)+@sha256:[0-9a-f]{64}$`)

// CheckImage tells what keeps a text from naming an image that a job may bring; "" where nothing does.
func CheckImage(image string) (why string) {
	switch {
	case len(image) <= 512 && imageReference.MatchString(image):
		return ""
	case !strings.HasPrefix(image, "docker://"):
		return "a job's image lies in a registry: docker://HOST/NAME@sha256:DIGEST"
	case !strings.Contains(image, "@sha256:"):
		return "an image is named by its digest, since a tag may mean another one tomorrow: docker://HOST/NAME@sha256:DIGEST"
	}
	return "want docker://HOST/NAME@sha256: and 64 hexadecimal digits, HOST and NAME in letters, digits and . _ - /"
}

// userImage reads ContainerImage: the job runs in an image of its own, where a site lets it.
func userImage(r *jobReader) {
	image := r.str("ContainerImage")
	if image == "" {
		return
	}
	if why := CheckImage(image); why != "" {
		r.failAttr("ContainerImage", "image", "", "%q: %s", image, why)
		return
	}
	d := &r.job.Demand
	for _, wish := range d.RuntimeEnvironments {
		if len(wish) > 4 && classad.EqualFold(wish[:4], "VEE-") && !classad.EqualFold(wish, UserImageTag) {
			r.failAttr("ContainerImage", "conflict", "", "the job asks for the environment %s too, and can run in one", wish)
			return
		}
	}
	d.RuntimeEnvironments = addOnce(d.RuntimeEnvironments, UserImageTag)
	if d.RuntimeOptions == nil {
		d.RuntimeOptions = map[string][]string{}
	}
	d.RuntimeOptions[UserImageTag] = []string{image}
}

// UserImage is the image that a job brings, docker://HOST/NAME@sha256:DIGEST; empty where it brings none. What an option
// of the tag says that is no such image is given as it is: whoever is to run it refuses it.
func (j *Job) UserImage() string {
	for tag, options := range j.Demand.RuntimeOptions {
		if classad.EqualFold(tag, UserImageTag) && len(options) > 0 {
			return options[0]
		}
	}
	return ""
}
