package jdl

import (
	"cmp"
	"fmt"
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

// taggedImage is an image by a tag, or by nothing, which means the tag "latest".
var taggedImage = regexp.MustCompile(`^(docker://[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?(?:/[a-z0-9][a-z0-9._-]*)+?)(?::([A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?$`)

// imageFolder is an unpacked image in a folder of the nodes, as those below /cvmfs/unpacked.cern.ch are.
var imageFolder = regexp.MustCompile(`^(/[A-Za-z0-9_@:-][A-Za-z0-9._@:-]*)+$`)

// oneFile is an image of apptainer's, which is one file.
var oneFile = regexp.MustCompile(`(?i)\.(sif|simg|img|sqsh|squashfs)$|^(oras|library|shub)://`)

// shortImage is one of Docker's short names, whose host is docker.io: docker://NAME, docker://USER/NAME.
var shortImage = regexp.MustCompile(`^docker://([a-z0-9][a-z0-9_-]*/)?[a-z0-9][a-z0-9._-]*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?$`)

// WholeImage writes Docker's short names of images out: docker://ubuntu:22.04 is
// docker://docker.io/library/ubuntu:22.04. A folder is one with a / at its end, too.
func WholeImage(image string) string {
	switch m := shortImage.FindStringSubmatch(image); {
	case ImageFolder(image):
		return image[:1] + strings.TrimRight(image[1:], "/")
	case m == nil || m[1] == "localhost/":
		return image
	case m[1] == "":
		return "docker://docker.io/library/" + strings.TrimPrefix(image, "docker://")
	default:
		return "docker://docker.io/" + strings.TrimPrefix(image, "docker://")
	}
}

// SplitImage tells place and tag of an image that is named by a tag, docker://HOST/NAME:TAG. What it means may change:
// whoever sends the job looks its digest up (Job.PinImage).
func SplitImage(image string) (place, tag string, ok bool) {
	m := taggedImage.FindStringSubmatch(image)
	if m == nil || len(image) > 512 {
		return "", "", false
	}
	return strings.TrimPrefix(m[1], "docker://"), cmp.Or(m[2], "latest"), true
}

// PinImage gives the job, which brings an image by a tag, that of a digest (sha256:...).
func (j *Job) PinImage(digest string) error {
	place, _, ok := SplitImage(j.UserImage())
	image := "docker://" + place + "@" + digest
	if !ok || CheckImage(image) != "" {
		return fmt.Errorf("%s: %q is no image that a digest can be given to", j.Name, j.UserImage())
	}
	j.Ad.Set("ContainerImage", classad.NewLiteral(classad.StringValue(image)))
	for tag := range j.Demand.RuntimeOptions {
		if classad.EqualFold(tag, UserImageTag) {
			j.Demand.RuntimeOptions[tag] = []string{image}
		}
	}
	return nil
}

// ImageLoss tells that another language cannot say that an image is looked up by its tag; nil where there is none.
func (j *Job) ImageLoss() []*classad.Diagnostic {
	if _, tag, ok := SplitImage(j.UserImage()); ok {
		return []*classad.Diagnostic{j.Loss("ContainerImage", "name it by its digest, @sha256:...", "what the tag %s means is looked up when grid sends the job, and nobody else does", tag)}
	}
	return nil
}

// CheckImage tells what keeps a text from naming an image that a job may bring; "" where nothing does.
func CheckImage(image string) (why string) {
	switch {
	case oneFile.MatchString(image):
		return "an image of one file is started by apptainer alone, and nothing here starts it: name the image it was made of, docker://HOST/NAME:TAG, or its unpacked folder on the nodes, /cvmfs/...; " +
			"or send the file along (InputSandbox) and call apptainer exec in the job's own script"
	case len(image) <= 512 && (imageReference.MatchString(image) || imageFolder.MatchString(image)):
		return ""
	case strings.HasPrefix(image, "/"):
		return "the folder of an unpacked image is an absolute path in letters, digits and . _ @ : -, of which no part begins with a dot"
	case !strings.HasPrefix(image, "docker://"):
		return "a job's image lies in a registry, docker://HOST/NAME@sha256:DIGEST, or unpacked in a folder of the nodes, /cvmfs/..."
	case !strings.Contains(image, "@sha256:"):
		return "an image is named by its digest, since a tag may mean another one tomorrow: docker://HOST/NAME@sha256:DIGEST"
	}
	return "want docker://HOST/NAME@sha256: and 64 hexadecimal digits, HOST and NAME in letters, digits and . _ - /"
}

// userImage reads ContainerImage: the job runs in an image of its own, where a site lets it.
func userImage(r *jobReader) {
	image := WholeImage(r.str("ContainerImage"))
	if image == "" {
		return
	}
	if _, _, tagged := SplitImage(image); tagged {
		// its digest is looked up when it is sent
	} else if why := CheckImage(image); why != "" {
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

// ImageFolder reports whether an image lies unpacked in a folder of the nodes.
func ImageFolder(image string) bool { return strings.HasPrefix(image, "/") }

// UserImage is the image that a job brings, docker://HOST/NAME@sha256:DIGEST, or :TAG until it is sent, or a folder of the nodes; empty where it brings none. What an option
// of the tag says that is no such image is given as it is: whoever is to run it refuses it.
func (j *Job) UserImage() string {
	for tag, options := range j.Demand.RuntimeOptions {
		if classad.EqualFold(tag, UserImageTag) && len(options) > 0 {
			return options[0]
		}
	}
	return ""
}
