package registry_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	served "github.com/google/go-containerregistry/pkg/registry"

	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
)

// TestFilesOfCredentials: credentials of docker and podman are used where nobody else can read them, and their files where
// nobody else can write to them, since they may name a program to run.
func TestFilesOfCredentials(t *testing.T) {
	inner := served.New(served.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "me" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "a"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	image := environment.Layout{Dir: t.TempDir(), Codec: layers.Codec{}}
	digest, err := image.Build(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	login := `{"auths": {"` + host + `": {"auth": "bWU6c2VjcmV0"}}}` // me:secret
	for _, tt := range []struct {
		file, text string
		mode       os.FileMode
		says       string // "": the login is used
	}{
		{".docker/config.json", login, 0o600, ""},
		{".docker/config.json", login, 0o640, "chmod"},
		{".docker/config.json", login, 0o604, "chmod"},
		{".docker/config.json", login, 0o622, "others could have written"},
		{".docker/config.json", `{"credsStore": "desktop"}`, 0o666, "others could have written"},
		{".docker/config.json", `{"auths": {"` + host + `": {}}, "HttpHeaders": {}}`, 0o644, "401"},
		{".docker/config.json", `{"auths": "` + host, 0o644, "chmod"},
		{"named.json", login, 0o600, ""},
		{"named.json", login, 0o644, "chmod"},
		{"run/containers/auth.json", login, 0o600, ""},
		{"run/containers/auth.json", login, 0o644, "chmod"},
		{"settings/containers/auth.json", login, 0o600, ""},
		{"settings/containers/auth.json", login, 0o666, "others could have written"},
	} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("DOCKER_CONFIG", filepath.Join(home, ".docker")) // docker's library looks at HOME once
		t.Setenv("REGISTRY_AUTH_FILE", filepath.Join(home, "named.json"))
		t.Setenv("XDG_RUNTIME_DIR", filepath.Join(home, "run"))
		t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "settings"))
		file := filepath.Join(home, tt.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, tt.mode); err != nil {
			t.Fatal(err)
		}
		err := registry.Client{}.Push(t.Context(), image.Dir, digest, host+"/site/box")
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s of mode %o: %v, want %q", tt.file, tt.mode, err, tt.says)
		}
		if err != nil && strings.Contains(err.Error(), "bWU6c2VjcmV0") {
			t.Errorf("the login is told: %v", err)
		}
	}
}
