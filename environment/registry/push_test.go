package registry_test

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	served "github.com/google/go-containerregistry/pkg/registry"

	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
	"gridbroker/testdata/testbed"
)

// An image goes to a registry and comes back with the digest it had; another one does not come under its digest.
func TestPushAndImport(t *testing.T) {
	server := httptest.NewServer(served.New(served.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	place := strings.TrimPrefix(server.URL, "http://") + "/site/box"
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "a"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	from, to := environment.Layout{Dir: t.TempDir(), Codec: layers.Codec{}}, environment.Layout{Dir: t.TempDir()}
	digest, err := from.Build(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	client := registry.Client{}
	for range 2 {
		if err := client.Push(t.Context(), from.Dir, digest, place); err != nil {
			t.Fatal(err)
		}
	}
	got, err := to.Import(t.Context(), "docker://"+place, digest, client.Blobs)
	if err != nil || got != digest {
		t.Fatalf("%s, %v, want %s", got, err, digest)
	}
	testbed.TagImage(t, server.URL, "site/box", digest, "v1")
	if now, err := client.Digest(t.Context(), place, "v1"); err != nil || now != digest {
		t.Errorf("what the tag means: %q, %v, want %s", now, err, digest)
	}
	if _, err := client.Digest(t.Context(), place, "v2"); err == nil {
		t.Error("a tag that the registry does not have")
	}
	other := "sha256:" + strings.Repeat("0", 64)
	if err := client.Push(t.Context(), from.Dir, other, place); err == nil || !strings.Contains(err.Error(), "has no image") {
		t.Errorf("an image that is not there: %v", err)
	}
	if _, err := to.Import(t.Context(), "docker://"+place, other, client.Blobs); err == nil {
		t.Error("a digest that the registry does not have")
	}
	cache := &environment.Cache{Dir: filepath.Join(t.TempDir(), "cache"), Fetch: client.Blobs, Codec: layers.Codec{}}
	out, err := cache.Tree(t.Context(), &environment.Definition{Tag: "VEE-Box", Image: "docker://" + place, Digest: digest})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if text, err := os.ReadFile(filepath.Join(out.Path, "a")); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
}
