package registry_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"golang.org/x/sys/unix"

	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
	"gridbroker/testdata/testbed"
)

// A rogue serves the blobs of a layout; what it does with a request first is the test's.
type rogue struct {
	*httptest.Server
	blobs string
	trick func(w http.ResponseWriter, r *http.Request) (done bool)

	mu   sync.Mutex
	seen []*http.Request
}

func newRogue(t *testing.T, blobs string) *rogue {
	g := &rogue{blobs: blobs}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(func() { g.CloseClientConnections(); g.Close() })
	return g
}

func (g *rogue) serve(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.seen = append(g.seen, r.Clone(r.Context()))
	g.mu.Unlock()
	if g.trick != nil && g.trick(w, r) || r.URL.Path == "/v2/" {
		return
	}
	if strings.Contains(r.URL.Path, "/manifests/") {
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	}
	text, err := os.ReadFile(filepath.Join(g.blobs, strings.TrimPrefix(path.Base(r.URL.Path), "sha256:")))
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Write(text)
}

func (g *rogue) host() string { return strings.TrimPrefix(g.URL, "http://") }

// told are the credentials that it was given.
func (g *rogue) told() (list []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.seen {
		if a := r.Header.Get("Authorization"); a != "" {
			list = append(list, a)
		}
	}
	return list
}

// secretOf are credentials for one registry.
type secretOf string

// Resolve implements authn.Keychain.
func (s secretOf) Resolve(r authn.Resource) (authn.Authenticator, error) {
	if r.RegistryStr() == string(s) {
		return &authn.Basic{Username: "user", Password: "secret"}, nil
	}
	return authn.Anonymous, nil
}

// boxImage builds an image whose layer is of some size, and tells where its blobs lie and which is the layer.
func boxImage(t *testing.T) (dir, digest, layer string) {
	tree := t.TempDir()
	text := make([]byte, 200_000)
	for i := range text {
		text[i] = byte(i*i>>3 ^ i>>7)
	}
	if err := os.WriteFile(filepath.Join(tree, "a"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	l := environment.Layout{Dir: t.TempDir(), Codec: layers.Codec{}}
	digest, err := l.Build(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Layers []struct{ Digest string } }
	raw, err := os.ReadFile(filepath.Join(l.Dir, "blobs/sha256", strings.TrimPrefix(digest, "sha256:")))
	if err != nil || json.Unmarshal(raw, &m) != nil {
		t.Fatal(err)
	}
	return l.Dir, digest, m.Layers[0].Digest
}

// endless answers for ever, or until nobody listens.
func endless(w http.ResponseWriter, _ *http.Request) bool {
	for piece := make([]byte, 1<<20); ; {
		if _, err := w.Write(piece); err != nil {
			return true
		}
	}
}

func blobs(trick func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return on("/blobs/", trick)
}

// on plays a trick upon requests of some kind.
func on(kind string, trick func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return strings.Contains(r.URL.Path, kind) && trick(w, r)
	}
}

// A registry that sends more, less, something else, slowly or for ever is refused by import and by a node's cache alike,
// and leaves nothing behind.
func TestHostileRegistries(t *testing.T) {
	dir, digest, layer := boxImage(t)
	text := func(s string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { io.WriteString(w, s); return true }
	}
	silent := func(w http.ResponseWriter, r *http.Request) bool {
		w.Write([]byte("some"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	dead := func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	drips := func(w http.ResponseWriter, r *http.Request) bool {
		for r.Context().Err() == nil {
			w.Write([]byte("."))
			w.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
		return true
	}
	cases := []struct {
		name, want string
		trick      func(http.ResponseWriter, *http.Request) bool
	}{
		{"endless blob", "", blobs(endless)},
		{"endless layer", "longer than its manifest says", on("/blobs/"+layer, endless)},
		{"endless manifest", "", on("/manifests/", endless)},
		{"endless greeting", "", on("/v2/", endless)},
		{"endless error", "", blobs(func(w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(500); return endless(w, r) })},
		{"endless head", "exceeded 65536 bytes", blobs(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
			return true
		})},
		{"other blob", "", blobs(text("another"))},
		{"other manifest", "", on("/manifests/", text(`{"schemaVersion": 2}`))},
		{"silent within a blob", "timeout", blobs(silent)},
		{"silent at once", "timeout", blobs(dead)},
		{"a byte now and then of a blob", "registry 127.0.0.1 sends less than 64 kB in", blobs(drips)},
		{"a byte now and then of a manifest", "registry 127.0.0.1 sends less than 64 kB in", on("/manifests/", drips)},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newRogue(t, filepath.Join(dir, "blobs/sha256"))
			g.trick = tt.trick
			client := registry.Client{Timeout: time.Second, Keychain: secretOf("nobody")} // a busy machine may keep a byte for some tenths of it
			refused(t, client, g.host()+"/x", digest, tt.want)
		})
	}
	g := newRogue(t, filepath.Join(dir, "blobs/sha256"))
	into := environment.Layout{Dir: t.TempDir()}
	if _, err := into.Import(t.Context(), "docker://"+g.host()+"/x", digest, registry.Client{}.Blobs); err != nil {
		t.Errorf("an honest one: %v", err)
	}
	if _, err := os.Stat(filepath.Join(into.Dir, "blobs/sha256", strings.TrimPrefix(layer, "sha256:"))); err != nil {
		t.Error(err)
	}
}

// refused sees that neither import nor a cache takes an image, for that reason, and that nothing of it stays.
func refused(t *testing.T, client registry.Client, place, digest, want string) {
	t.Helper()
	into := environment.Layout{Dir: t.TempDir()}
	_, err := into.Import(t.Context(), "docker://"+place, digest, client.Blobs)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("import: %v, want %q", err, want)
	}
	cache := &environment.Cache{Dir: filepath.Join(t.TempDir(), "cache"), Fetch: client.Blobs, Codec: layers.Codec{}}
	_, err = cache.Tree(t.Context(), &environment.Definition{Tag: "X", Image: "docker://" + place, Digest: digest})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("cache: %v, want %q", err, want)
	}
	if _, err := os.Stat(filepath.Join(into.Dir, "index.json")); err == nil {
		t.Error("the image is in the index")
	}
	for _, pattern := range []string{filepath.Join(into.Dir, "blobs/sha256/.new-*"), filepath.Join(cache.Dir, "tmp/*"), filepath.Join(cache.Dir, "trees/*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
}

// Manifests whose structure is hostile are refused before a layer is fetched.
func TestHostileManifests(t *testing.T) {
	some := "sha256:" + strings.Repeat("1", 64)
	layer := func(size int64) map[string]any { return map[string]any{"digest": some, "size": size} }
	index := func(digest string) any {
		return map[string]any{"manifests": []any{map[string]any{"digest": digest, "platform": map[string]string{"os": "linux", "architecture": "amd64"}}}}
	}
	cases := []struct {
		name, want string
		document   any
		indexes    int
	}{
		{"giant layer", "larger than", map[string]any{"config": layer(1), "layers": []any{layer(1 << 60)}}, 0},
		{"giants together", "larger than", map[string]any{"config": layer(1), "layers": []any{layer(15e9), layer(15e9)}}, 0},
		{"negative size", "no valid digest or size", map[string]any{"config": layer(1), "layers": []any{layer(-1)}}, 0},
		{"no layers", "has 0 layers", map[string]any{"config": layer(1)}, 0},
		{"thousands of layers", "has 5000 layers", map[string]any{"config": layer(1), "layers": slices.Repeat([]any{layer(1)}, 5000)}, 0},
		{"a digest that is a path", "no valid digest", map[string]any{"config": layer(1), "layers": []any{map[string]any{"digest": "sha256:../../../etc/passwd", "size": 1}}}, 0},
		{"indexes without end", "indexes lead to it", map[string]any{"config": layer(1), "layers": []any{layer(1)}}, 50},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			g := newRogue(t, t.TempDir())
			digest := g.put(t, tt.document)
			for range tt.indexes {
				digest = g.put(t, index(digest))
			}
			refused(t, registry.Client{}, g.host()+"/x", digest, tt.want)
			for _, r := range g.seen {
				if strings.Contains(r.URL.Path, "/blobs/") {
					t.Errorf("it was asked for %s", r.URL.Path)
				}
			}
		})
	}
}

func (g *rogue) put(t *testing.T, document any) string {
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(text))
	if err := os.WriteFile(filepath.Join(g.blobs, sum), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return "sha256:" + sum
}

// Credentials of a registry go to it alone: not where it redirects to, not to the server of tokens that it names, not
// where it wants uploads.
func TestCredentialsStayWithTheirRegistry(t *testing.T) {
	dir, digest, _ := boxImage(t)
	stored := filepath.Join(dir, "blobs/sha256")
	t.Run("redirect", func(t *testing.T) {
		other, g := newRogue(t, stored), newRogue(t, stored)
		g.trick = func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.Header.Get("Authorization") == "":
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(http.StatusUnauthorized)
			case strings.Contains(r.URL.Path, "/blobs/"):
				http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
			default:
				return false
			}
			return true
		}
		into := environment.Layout{Dir: t.TempDir()}
		if _, err := into.Import(t.Context(), "docker://"+g.host()+"/x", digest, registry.Client{Keychain: secretOf(g.host())}.Blobs); err != nil {
			t.Errorf("blobs may lie elsewhere: %v", err)
		}
		if len(g.told()) == 0 || len(other.seen) == 0 || len(other.told()) != 0 {
			t.Errorf("told %v; the other one, asked %d times, %v", g.told(), len(other.seen), other.told())
		}
	})
	t.Run("server of tokens", func(t *testing.T) {
		other, g := newRogue(t, stored), newRogue(t, stored)
		g.trick = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="x"`, other.URL))
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		into := environment.Layout{Dir: t.TempDir()}
		if _, err := into.Import(t.Context(), "docker://"+g.host()+"/x", digest, registry.Client{Keychain: secretOf(g.host())}.Blobs); err == nil {
			t.Error("imported without a token")
		}
		if told := other.told(); len(told) != 0 {
			t.Errorf("a server of tokens at another place was told %v", told)
		}
	})
	t.Run("upload", func(t *testing.T) {
		other, g := newRogue(t, t.TempDir()), newRogue(t, t.TempDir())
		g.trick = func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.Header.Get("Authorization") == "":
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(http.StatusUnauthorized)
			case r.Method == http.MethodPost:
				w.Header().Set("Location", other.URL+"/upload")
				w.WriteHeader(http.StatusAccepted)
			default:
				return false
			}
			return true
		}
		err := registry.Client{Keychain: secretOf(g.host())}.Push(t.Context(), dir, digest, g.host()+"/x")
		if err == nil {
			t.Error("pushed to a place that takes nothing")
		}
		if told := other.told(); len(told) != 0 {
			t.Errorf("where uploads were wanted was told %v", told)
		}
	})
}

// What a layout's folder only points to, or waits for, is neither imported nor pushed.
func TestHostileLayouts(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("not for others"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(blob string) error{
		"pipe":   func(blob string) error { return unix.Mkfifo(blob, 0o644) },
		"folder": func(blob string) error { return os.Mkdir(blob, 0o755) },
		"link":   func(blob string) error { return os.Symlink(secret, blob) },
		"zeros":  func(blob string) error { return os.Symlink("/dev/zero", blob) },
		"climbs": func(blob string) error { return os.Symlink("../../../../../../../../../"+secret, blob) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, digest, layer := boxImage(t)
			blob := filepath.Join(dir, "blobs/sha256", strings.TrimPrefix(layer, "sha256:"))
			if err := os.Remove(blob); err != nil {
				t.Fatal(err)
			}
			if err := put(blob); err != nil {
				t.Fatal(err)
			}
			into := environment.Layout{Dir: t.TempDir()}
			if _, err := into.Import(t.Context(), "oci:"+dir, digest, nil); err == nil {
				t.Error("imported")
			}
			g, sent := newRogue(t, t.TempDir()), &strings.Builder{}
			g.trick = func(w http.ResponseWriter, r *http.Request) bool {
				text, _ := io.ReadAll(r.Body)
				g.mu.Lock()
				sent.Write(text)
				g.mu.Unlock()
				switch r.Method {
				case http.MethodPost:
					w.Header().Set("Location", g.URL+"/upload")
					w.WriteHeader(http.StatusAccepted)
				case http.MethodPut:
					w.WriteHeader(http.StatusCreated)
				default:
					return false
				}
				return true
			}
			if err := (registry.Client{}).Push(t.Context(), dir, digest, g.host()+"/x"); err == nil {
				t.Error("pushed")
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			if strings.Contains(sent.String(), "not for others") {
				t.Error("a file from outside of the layout went to the registry")
			}
		})
	}
}

// A manifest or an index of as many empty things as a document may have bytes is refused at a bounded cost.
func TestManifestsOfEmptyThings(t *testing.T) {
	testbed.Computes(t)
	for _, list := range []string{"layers", "manifests"} {
		g := newRogue(t, t.TempDir())
		digest := g.put(t, map[string]any{"config": map[string]any{}, list: json.RawMessage("[" + strings.Repeat("{},", 1_300_000) + "{}]")})
		testbed.Within(t, 2*time.Second, 200<<20, func() { refused(t, registry.Client{}, g.host()+"/x", digest, "has too many parts") })
	}
}
