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
	"slices"
	"strings"

	"gridbroker/durable"
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

// Bounds of an image's structure: what one image may consist of, and how many indexes lead to it.
const (
	maxLayers  = 500
	maxIndexes = 4
)

// platformManifest reads an image's manifest and checks its digest. An index leads to the image of this platform.
func platformManifest(ctx context.Context, get Blobs, digest, arch string) (m manifest, at string, err error) {
	for range maxIndexes {
		m = manifest{}
		if err := readDocument(ctx, get.Manifest, "manifest", digest, &m); err != nil {
			return m, "", err
		}
		if len(m.Manifests) == 0 {
			return m, digest, m.check(digest)
		}
		i := slices.IndexFunc(m.Manifests, func(d descriptor) bool {
			return d.Platform != nil && d.Platform.OS == "linux" && d.Platform.Architecture == arch
		})
		if i < 0 {
			return m, "", fmt.Errorf("image %s has no form for linux/%s", digest, arch)
		}
		digest = m.Manifests[i].Digest
	}
	return m, "", fmt.Errorf("image %s: more than %d indexes lead to it", digest, maxIndexes)
}

// check bounds what a manifest says of its blobs, of whose sizes no more is read.
func (m *manifest) check(digest string) error {
	if len(m.Layers) == 0 || len(m.Layers) > maxLayers {
		return fmt.Errorf("image %s has %d layers: want 1 to %d", digest, len(m.Layers), maxLayers)
	}
	left := DefaultBudget.Bytes
	for i, d := range append(slices.Clone(m.Layers), m.Config) {
		if !validDigest(d.Digest) || d.Size < 0 {
			return fmt.Errorf("image %s: layer %d has no valid digest or size", digest, i+1)
		}
		if left -= d.Size; d.Size > DefaultBudget.Bytes || left < 0 {
			return fmt.Errorf("image %s is larger than the %d MB that are allowed", digest, DefaultBudget.Bytes/1e6)
		}
	}
	return nil
}

// openManifest reads manifest and configuration of an image and checks both digests.
func openManifest(ctx context.Context, get Blobs, digest, arch string) (*image, error) {
	m, digest, err := platformManifest(ctx, get, digest, arch)
	if err != nil {
		return nil, err
	}
	var c config
	if err := readDocument(ctx, get.Blob, "configuration", m.Config.Digest, &c); err != nil {
		return nil, err
	}
	if len(c.RootFS.DiffIDs) != len(m.Layers) {
		return nil, fmt.Errorf("image %s has %d layers and %d diff ids", digest, len(m.Layers), len(c.RootFS.DiffIDs))
	}
	img := &image{blob: get.Blob}
	for i, d := range m.Layers {
		if !validDigest(c.RootFS.DiffIDs[i]) {
			return nil, fmt.Errorf("image %s: layer %d has no valid diff id", digest, i+1)
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

// OpenLayout gives the blobs of an OCI image layout folder: regular files that lie in it.
func OpenLayout(dir string) Blobs {
	get := func(_ context.Context, digest string) (io.ReadCloser, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		f, err := durable.OpenIn(root, "blobs/sha256/"+hexOf(digest), os.O_RDONLY)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		return f, nil
	}
	return Blobs{get, get}
}

// openTree takes a tar archive for an image of one layer whose blob is the file itself.
func openTree(file, digest string) *image {
	return &image{
		layers: []layer{{digest: digest, size: -1}},
		blob:   func(context.Context, string) (io.ReadCloser, error) { return durable.Open(file) },
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
	n, err := drain(diff, u.left.Bytes)
	if err != nil {
		return fmt.Errorf("image layer %s: %w", l.digest, err)
	}
	u.left.Bytes -= n // of all layers together: zeros cost nothing where they are packed
	if _, err := drain(blob, u.left.Bytes); err != nil {
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

// drain reads what is left, at most limit bytes of it, and tells how much that was.
func drain(r io.Reader, limit int64) (int64, error) {
	n, err := io.Copy(io.Discard, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("more than %d bytes follow the archive", limit)
	}
	return n, err
}

// hashing hashes what is read through it; left bounds the bytes where it is not negative.
type hashing struct {
	r    io.Reader
	sum  hash.Hash
	left int64

	alive func() error // why nobody wants the rest
}

// errTooLong is a blob of more bytes than its descriptor says.
var errTooLong = errors.New("is longer than its manifest says")

func (h *hashing) Read(p []byte) (int, error) {
	if err := h.alive(); err != nil {
		return 0, err
	}
	n, err := h.r.Read(p)
	h.sum.Write(p[:n])
	if h.left >= 0 {
		if h.left -= int64(n); h.left < 0 {
			return 0, errTooLong
		}
	}
	return n, err
}

func (h *hashing) digest() string { return "sha256:" + hex.EncodeToString(h.sum.Sum(nil)) }
