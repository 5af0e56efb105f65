package environment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
)

// A reference says where an image lies.
type reference struct {
	scheme string // oci, docker, tree
	place  string // a folder, HOST/NAME, or a file
}

func parseReference(text string) (reference, error) {
	for _, scheme := range []string{"oci:", "tree:"} {
		if place, ok := strings.CutPrefix(text, scheme); ok {
			if !cleanAbsolute(place) {
				return reference{}, fmt.Errorf("%q: %q is not an absolute path", text, place)
			}
			return reference{strings.TrimSuffix(scheme, ":"), place}, nil
		}
	}
	place, ok := strings.CutPrefix(text, "docker://")
	host, name, both := strings.Cut(place, "/")
	if !ok || !both || host == "" || name == "" || strings.ContainsAny(place, "@ \t\n") {
		return reference{}, fmt.Errorf("%q is not oci:FOLDER, docker://HOST/NAME or tree:FILE", text)
	}
	return reference{"docker", place}, nil
}

func validDigest(d string) bool {
	raw, ok := strings.CutPrefix(d, "sha256:")
	if !ok || len(raw) != 64 || strings.ToLower(raw) != raw {
		return false
	}
	_, err := hex.DecodeString(raw)
	return err == nil
}

// An image is the layers of a definition's image; blobs come as they were stored, digests unchecked.
type image struct {
	codec  Codec
	layers []layer
	blob   func(ctx context.Context, digest string) (io.ReadCloser, error)
}

// A layer is one compressed tar and the digests of both its forms; diffID is empty where only the blob's is known.
type layer struct {
	digest, diffID string
	size           int64 // of the blob, bytes; -1 where not known
}

// A DigestError is content that is not what its digest promised.
type DigestError struct{ What, Want, Got string }

func (e *DigestError) Error() string {
	return fmt.Sprintf("%s: its digest is %s, and %s was asked for: damaged or exchanged", e.What, e.Got, e.Want)
}

// maxManifest bounds manifests and configurations in bytes; the OCI distribution specification asks registries for 4 MiB.
const maxManifest = 4 << 20

// manifest is what we need of an OCI image manifest (image-spec v1) or a Docker manifest of schema 2.
type manifest struct {
	MediaType string       `json:"mediaType"`
	Config    descriptor   `json:"config"`
	Layers    []descriptor `json:"layers"`
	Manifests []descriptor `json:"manifests"` // an index: one image for each platform
}

type descriptor struct {
	Digest   string `json:"digest"`
	Size     int64  `json:"size"`
	Platform *struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	} `json:"platform"`
}

// config is what we need of an image's configuration.
type config struct {
	RootFS struct {
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// Blobs gives stored content by digest; nothing is checked there. A registry keeps manifests and blobs apart.
type Blobs struct {
	Manifest, Blob func(ctx context.Context, digest string) (io.ReadCloser, error)
}

// Fetch opens a repository of a registry, HOST/NAME.
type Fetch func(place string) (Blobs, error)

// ErrNoRegistry is an image in a registry, asked of a program that cannot reach registries.
var ErrNoRegistry = errors.New("the image lies in a registry, and this program does not fetch from registries")

// A Codec reads and writes the layers of images; layers.Codec is one.
type Codec interface {
	Reader(io.Reader) (io.ReadCloser, error)  // of zstd, gzip or a plain archive
	Writer(io.Writer) (io.WriteCloser, error) // zstd
}

// errNoCodec is an image that was to be unpacked by a program that starts jobs and no more.
var errNoCodec = errors.New("this program does not unpack images")

// openManifest reads manifest and configuration of an image and checks both digests. An index leads to the image of
// this platform.
func openManifest(ctx context.Context, get Blobs, digest, arch string) (*image, error) {
	var m manifest
	if err := readDocument(ctx, get.Manifest, "manifest", digest, &m); err != nil {
		return nil, err
	}
	if len(m.Manifests) > 0 {
		for _, d := range m.Manifests {
			if d.Platform != nil && d.Platform.OS == "linux" && d.Platform.Architecture == arch && d.Digest != digest {
				return openManifest(ctx, get, d.Digest, arch)
			}
		}
		return nil, fmt.Errorf("image %s has no form for linux/%s", digest, arch)
	}
	var c config
	if err := readDocument(ctx, get.Blob, "configuration", m.Config.Digest, &c); err != nil {
		return nil, err
	}
	if len(c.RootFS.DiffIDs) != len(m.Layers) || len(m.Layers) == 0 {
		return nil, fmt.Errorf("image %s has %d layers and %d diff ids", digest, len(m.Layers), len(c.RootFS.DiffIDs))
	}
	img := &image{blob: get.Blob}
	for i, d := range m.Layers {
		if !validDigest(d.Digest) || !validDigest(c.RootFS.DiffIDs[i]) || d.Size < 0 {
			return nil, fmt.Errorf("image %s: layer %d has no valid digest or size", digest, i+1)
		}
		img.layers = append(img.layers, layer{d.Digest, c.RootFS.DiffIDs[i], d.Size})
	}
	return img, nil
}

func readDocument(ctx context.Context, get func(context.Context, string) (io.ReadCloser, error), what, digest string,
	into any) error {
	if !validDigest(digest) {
		return fmt.Errorf("image %s: %q is no sha256 digest", what, digest)
	}
	r, err := get(ctx, digest)
	if err != nil {
		return fmt.Errorf("image %s: %w", what, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return fmt.Errorf("image %s: %w", what, err)
	}
	if len(text) > maxManifest {
		return fmt.Errorf("image %s is larger than %d bytes", what, maxManifest)
	}
	if got := digestOf(text); got != digest {
		return &DigestError{"image " + what, digest, got}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("image %s: %w", what, err)
	}
	return nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// openLayout gives the blobs of an OCI image layout folder.
func openLayout(dir string) Blobs {
	get := func(_ context.Context, digest string) (io.ReadCloser, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return root.Open("blobs/sha256/" + strings.TrimPrefix(digest, "sha256:"))
	}
	return Blobs{get, get}
}

// openTree takes a tar archive for an image of one layer whose blob is the file itself.
func openTree(file, digest string) *image {
	return &image{
		layers: []layer{{digest: digest, size: -1}},
		blob:   func(context.Context, string) (io.ReadCloser, error) { return os.Open(file) },
	}
}

// unpack writes the layers into root, each checked against both digests while it streams.
func (img *image) unpack(ctx context.Context, root *os.Root, budget Budget) error {
	u := newUnpacker(root, budget)
	for _, l := range img.layers {
		if err := img.unpackLayer(ctx, u, l); err != nil {
			return err
		}
	}
	if err := u.places(); err != nil {
		return err
	}
	return u.finish()
}

func (img *image) unpackLayer(ctx context.Context, u *unpacker, l layer) error {
	r, err := img.blob(ctx, l.digest)
	if err != nil {
		return fmt.Errorf("image layer %s: %w", l.digest, err)
	}
	defer r.Close()
	blob := &hashing{r: r, sum: sha256.New(), left: l.size, alive: ctx.Err}
	plain, err := img.codec.Reader(blob)
	if err != nil {
		return fmt.Errorf("image layer %s: %w", l.digest, err)
	}
	defer plain.Close()
	diff := &hashing{r: plain, sum: sha256.New(), left: -1, alive: ctx.Err}
	if err := u.apply(ctx, diff); err != nil {
		return err
	}
	// What lies behind the archive's end counts for the digests and for nothing else.
	if err := drain(diff, u.left.Bytes); err != nil {
		return fmt.Errorf("image layer %s: %w", l.digest, err)
	}
	if err := drain(blob, u.left.Bytes); err != nil {
		return fmt.Errorf("image layer %s: %w", l.digest, err)
	}
	if got := blob.digest(); got != l.digest {
		return &DigestError{"image layer", l.digest, got}
	}
	if got := diff.digest(); l.diffID != "" && got != l.diffID {
		return &DigestError{"unpacked image layer", l.diffID, got}
	}
	return nil
}

// drain reads what is left, at most limit bytes of it.
func drain(r io.Reader, limit int64) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("more than %d bytes follow the archive", limit)
	}
	return err
}

// hashing hashes what is read through it; left bounds the bytes where it is not negative.
type hashing struct {
	r    io.Reader
	sum  hash.Hash
	left int64

	alive func() error // why nobody wants the rest
}

func (h *hashing) Read(p []byte) (int, error) {
	if err := h.alive(); err != nil {
		return 0, err
	}
	n, err := h.r.Read(p)
	h.sum.Write(p[:n])
	if h.left >= 0 {
		if h.left -= int64(n); h.left < 0 {
			return 0, fmt.Errorf("is longer than its manifest says")
		}
	}
	return n, err
}

func (h *hashing) digest() string { return "sha256:" + hex.EncodeToString(h.sum.Sum(nil)) }
