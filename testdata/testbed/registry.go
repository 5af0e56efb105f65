package testbed

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// TagImage gives an image of a registry a tag, as any client does.
func TagImage(t *testing.T, registry, name, digest, tag string) {
	t.Helper()
	at := registry + "/v2/" + name + "/manifests/"
	resp, err := http.Get(at + digest)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	manifest, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	put, err := http.NewRequestWithContext(t.Context(), http.MethodPut, at+tag, bytes.NewReader(manifest))
	if err != nil {
		t.Fatal(err)
	}
	put.Header.Set("Content-Type", resp.Header.Get("Content-Type"))
	done, err := http.DefaultClient.Do(put)
	if err != nil {
		t.Fatal(err)
	}
	done.Body.Close()
	if done.StatusCode/100 != 2 {
		t.Fatalf("tag %s: %s", tag, done.Status)
	}
}
