package environment

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/durable"
)

// Media types of the OCI image-spec v1.1.
const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaZstd     = "application/vnd.oci.image.layer.v1.tar+zstd"
)

// A Layout is an OCI image layout folder (image-spec v1, image-layout.md) that images are added to. What it holds
// already is never changed; index.json is replaced whole.
type Layout struct {
	Dir string
	// Codec compresses what is built; nil: nothing can be built, only imported.
	Codec Codec
}

// Build adds an image of one zstd layer with what stands below tree, and gives the digest of its manifest. The same
// tree with the same times gives the same digest. Owners are left out, and so are devices, pipes and sockets.
func (l Layout) Build(ctx context.Context, tree string) (digest string, err error) {
	if l.Codec == nil {
		return "", errNoCodec
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(writeTar(ctx, w, tree)) }()
	defer r.Close()
	return l.add(ctx, r)
}

// BuildArchive adds an image of one layer from a tar archive: plain, gzip or zstd.
func (l Layout) BuildArchive(ctx context.Context, archive string) (digest string, err error) {
	if l.Codec == nil {
		return "", errNoCodec
	}
	f, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := l.Codec.Reader(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", archive, err)
	}
	defer raw.Close()
	whole := newWholeTar(raw, ctx.Err)
	defer whole.copy.Close()
	if digest, err = l.add(ctx, whole); err != nil {
		return "", fmt.Errorf("%s: %w", archive, err)
	}
	return digest, nil
}

// wholeTar reads a tar archive until somebody says that it is enough. Its end is an error where it was none, or was cut: no
// job could be run in it.
type wholeTar struct {
	r     io.Reader
	alive func() error
	copy  *io.PipeWriter
	found chan error
}

func newWholeTar(r io.Reader, alive func() error) *wholeTar {
	out, in := io.Pipe()
	w := &wholeTar{r, alive, in, make(chan error, 1)}
	go func() {
		err := readTar(out)
		out.CloseWithError(err)
		w.found <- err
	}()
	return w
}

// Read implements io.Reader.
func (w *wholeTar) Read(p []byte) (int, error) {
	if err := w.alive(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	if n > 0 {
		if _, bad := w.copy.Write(p[:n]); bad != nil {
			return 0, bad
		}
	}
	if err == io.EOF {
		w.copy.Close()
		if bad := <-w.found; bad != nil {
			return 0, bad
		}
	}
	return n, err
}

// readTar reads an archive and what follows it to the end.
func readTar(r io.Reader) error {
	entries := 0
	for t := tar.NewReader(r); ; entries++ {
		_, err := t.Next()
		if err == io.EOF && entries > 0 {
			_, err = io.Copy(io.Discard, r)
			return err
		}
		if err != nil {
			return fmt.Errorf("no whole tar archive, after %d entries: %w", entries, err)
		}
	}
}

// Import copies an image of another layout ("oci:DIR") or a registry ("docker://HOST/NAME") by its digest, every blob
// checked. Of an index it takes the image of this platform; its own digest is given back.
func (l Layout) Import(ctx context.Context, image, digest string, from Fetch) (string, error) {
	ref, err := parseReference(image)
	if err != nil {
		return "", err
	}
	get := OpenLayout(ref.place)
	switch ref.scheme {
	case "tree":
		return "", fmt.Errorf("%s: an archive is built, not imported", image)
	case "docker":
		if from == nil {
			return "", ErrNoRegistry
		}
		if get, err = from(ref.place); err != nil {
			return "", err
		}
	}
	return l.copyImage(ctx, get, digest)
}

func (l Layout) copyImage(ctx context.Context, get Blobs, digest string) (string, error) {
	m, digest, err := platformManifest(ctx, get, digest, runtime.GOARCH)
	if err != nil {
		return "", err
	}
	if err := l.prepare(); err != nil {
		return "", err
	}
	if err := l.room(m); err != nil {
		return "", err
	}
	for _, d := range append(m.Layers, m.Config) {
		if err := l.copyBlob(ctx, get.Blob, d.Digest, d.Size); err != nil {
			return "", err
		}
	}
	if err := l.copyBlob(ctx, get.Manifest, digest, maxManifest); err != nil {
		return "", err
	}
	info, err := os.Stat(l.blob(digest))
	if err != nil {
		return "", err
	}
	return digest, l.enter(ctx, digest, info.Size())
}

// room sees that the disk has what an image's blobs take.
func (l Layout) room(m manifest) error {
	need := m.Config.Size
	for _, d := range m.Layers {
		need += d.Size
	}
	free, err := freeBytes(l.Dir)
	if err == nil && free < need {
		err = &SpaceError{l.Dir, need, free}
	}
	return err
}

// copyBlob copies a blob of at most so many bytes.
func (l Layout) copyBlob(ctx context.Context, get func(context.Context, string) (io.ReadCloser, error), digest string, most int64) error {
	if !validDigest(digest) {
		return fmt.Errorf("%q is no sha256 digest", digest)
	}
	if _, err := os.Stat(l.blob(digest)); err == nil {
		return nil
	}
	r, err := get(ctx, digest)
	if err != nil {
		return err
	}
	defer r.Close()
	bounded := &hashing{r: r, sum: sha256.New(), left: most, alive: ctx.Err}
	got, _, err := l.store(func(w io.Writer) error { _, err := io.Copy(w, bounded); return err }, digest)
	if err != nil {
		return fmt.Errorf("blob %s: %w", digest, err)
	}
	if got != digest {
		return &DigestError{"blob", digest, got}
	}
	return nil
}

// add makes an image of a plain tar.
func (l Layout) add(ctx context.Context, raw io.Reader) (string, error) {
	if err := l.prepare(); err != nil {
		return "", err
	}
	diff := sha256.New()
	layer, size, err := l.store(func(w io.Writer) error {
		z, err := l.Codec.Writer(w)
		if err != nil {
			return err
		}
		if _, err = io.Copy(z, io.TeeReader(raw, diff)); err != nil {
			z.Close() // which says the same once more
			return err
		}
		return z.Close()
	}, "")
	if err != nil {
		return "", err
	}
	conf, confSize, err := l.document(map[string]any{
		"os": "linux", "architecture": runtime.GOARCH, "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(diff.Sum(nil))}},
	})
	if err != nil {
		return "", err
	}
	digest, manifestSize, err := l.document(map[string]any{
		"schemaVersion": 2, "mediaType": mediaManifest,
		"config": map[string]any{"mediaType": mediaConfig, "digest": conf, "size": confSize},
		"layers": []any{map[string]any{"mediaType": mediaZstd, "digest": layer, "size": size}},
	})
	if err != nil {
		return "", err
	}
	return digest, l.enter(ctx, digest, manifestSize)
}

func (l Layout) document(v any) (digest string, size int64, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", 0, err
	}
	return l.store(func(w io.Writer) error { _, err := w.Write(text); return err }, "")
}

// store writes a blob beside its place and names it by what it is; with want it is named only where that agrees.
func (l Layout) store(write func(io.Writer) error, want string) (digest string, size int64, err error) {
	tmp, err := os.CreateTemp(filepath.Join(l.Dir, "blobs", "sha256"), newBlob+"*")
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(tmp.Name()) // gone where it got its name
	lockFile(tmp, unix.F_WRLCK) // for sweep; a file system without locks has its blobs swept late
	sum := sha256.New()
	err = write(io.MultiWriter(tmp, sum))
	if err == nil {
		err = errors.Join(tmp.Chmod(0o644), tmp.Sync())
	}
	info, serr := tmp.Stat()
	if err = errors.Join(err, serr, tmp.Close()); err != nil {
		return "", 0, err
	}
	digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	if want != "" && want != digest {
		return digest, 0, nil
	}
	return digest, info.Size(), os.Rename(tmp.Name(), l.blob(digest))
}

func (l Layout) blob(digest string) string {
	return filepath.Join(l.Dir, "blobs", "sha256", hexOf(digest))
}

// prepare makes the folders of a layout. One that came from others may have links in their places, which would lead
// what is written, and what is swept, elsewhere.
func (l Layout) prepare() error {
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return err
	}
	blobs := filepath.Join(l.Dir, "blobs")
	for _, dir := range []string{blobs, filepath.Join(blobs, "sha256")} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is no folder: a layout has its blobs in its own, not where a link leads", dir)
		}
	}
	l.sweep()
	return l.replace("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
}

// sweep removes what writers left over that died: nobody has it locked, or it is a day old.
func (l Layout) sweep() {
	left, _ := durable.Named(filepath.Join(l.Dir, "blobs", "sha256"), newBlob+"*")
	for _, name := range left {
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < time.Minute { // its writer may not have locked it yet
			continue
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if lockFile(f, unix.F_WRLCK) == nil || time.Since(info.ModTime()) > 24*time.Hour {
			os.Remove(name)
		}
		f.Close()
	}
}

// newBlob begins the names of blobs that are being written.
const newBlob = ".new-"

// enter names an image in index.json, so that other programs and a garbage collector find it.
func (l Layout) enter(ctx context.Context, digest string, size int64) error {
	lock, err := os.OpenFile(filepath.Join(l.Dir, ".lock"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := durable.Lock(ctx, lock); err != nil {
		return err
	}
	index := struct {
		SchemaVersion int              `json:"schemaVersion"`
		MediaType     string           `json:"mediaType,omitempty"`
		Manifests     []map[string]any `json:"manifests"`
	}{SchemaVersion: 2, MediaType: mediaIndex}
	text, err := durable.ReadFile(filepath.Join(l.Dir, "index.json"), maxIndex)
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", filepath.Join(l.Dir, "index.json"), err)
	}
	for _, m := range index.Manifests {
		if m["digest"] == digest {
			return nil
		}
	}
	index.Manifests = append(index.Manifests, map[string]any{"mediaType": mediaManifest, "digest": digest, "size": size})
	if text, err = json.Marshal(index); err != nil {
		return err
	}
	return l.replace("index.json", text)
}

func (l Layout) replace(name string, text []byte) error {
	path := filepath.Join(l.Dir, name)
	if have, err := durable.ReadFile(path, maxIndex); err == nil && string(have) == string(text) {
		return nil
	}
	return durable.Replace(path, "."+name+".new-*", 0o644, text)
}

// maxIndex bounds what is read of a layout's index.json, in bytes.
const maxIndex = 16 << 20

// FileOfTag is the name of a tag's definition in a folder: VEE-X.toml, ENV_SINGULARITY.toml.
func FileOfTag(tag string) string { return strings.ReplaceAll(tag, "/", "_") + ".toml" }
