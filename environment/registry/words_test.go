package registry_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
	"gridbroker/testdata/testbed"
)

// TestWordsOfRegistries: what a registry says of an error is told as text, in one line, and without the login that it was shown.
func TestWordsOfRegistries(t *testing.T) {
	g := newRogue(t, t.TempDir())
	dir := testbed.Home(t)
	login := base64.StdEncoding.EncodeToString([]byte("user:geheim"))
	digest := "sha256:" + strings.Repeat("1", 64)
	g.trick = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		if r.URL.Path == "/v2/" {
			return false
		}
		words, err := json.Marshal("no such image for " + login + " of geheim\x1b[2J\ngrid-deploy: all is well")
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":%s}]}`, words)
		return true
	}
	auth, err := json.Marshal(map[string]any{"auths": map[string]any{g.host(): map[string]string{"auth": login}}})
	if err := errors.Join(err, os.Mkdir(filepath.Join(dir, "definitions"), 0o755)); err != nil {
		t.Fatal(err)
	}
	testbed.WriteFile(t, filepath.Join(dir, "auth.json"), auth, 0o600)
	testbed.WriteFile(t, filepath.Join(dir, "definitions/x.toml"), fmt.Appendf(nil, "tag = \"VEE-X\"\nimage = \"docker://%s/x\"\ndigest = %q\n", g.host(), digest), 0o644)
	testbed.WriteFile(t, filepath.Join(dir, "node.json"), fmt.Appendf(nil, `{"definitions": %q, "cache": %q}`, filepath.Join(dir, "definitions"), filepath.Join(dir, "cache")), 0o644)
	t.Setenv("REGISTRY_AUTH_FILE", filepath.Join(dir, "auth.json"))
	var said strings.Builder
	code := environment.Deploy(t.Context(), []string{"--node", filepath.Join(dir, "node.json"), "VEE-X"}, registry.Client{}.Blobs, layers.Codec{}, &said)
	text := strings.TrimSuffix(said.String(), "\n")
	if code == 0 || !strings.Contains(text, "no such image") {
		t.Fatalf("%d %q", code, text)
	}
	if strings.ContainsAny(text, "\x1b\n") {
		t.Errorf("it goes to the terminal as it is: %q", text)
	}
	if strings.Contains(text, "geheim") || strings.Contains(text, login) {
		t.Errorf("the login is shown: %q", text)
	}
}
