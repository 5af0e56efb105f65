package environment

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A slowRegistry serves the image of a test's node; once half of a layer is out it waits.
type slowRegistry struct {
	blobs string
	half  chan struct{} // one for each layer that is half out
	rest  chan struct{} // closed: no waiting
}

// ServeHTTP implements http.Handler.
func (s *slowRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v2/" {
		return
	}
	text, err := os.ReadFile(filepath.Join(s.blobs, strings.TrimPrefix(path.Base(r.URL.Path), "sha256:")))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if strings.Contains(r.URL.Path, "/manifests/") {
		w.Header().Set("Content-Type", mediaManifest)
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	at := 0
	if len(text) > 100_000 && r.Method == http.MethodGet {
		at = len(text) / 2
		w.Write(text[:at])
		w.(http.Flusher).Flush()
		select {
		case s.half <- struct{}{}:
		case <-s.rest:
		}
		select {
		case <-s.rest:
		case <-r.Context().Done():
		}
	}
	w.Write(text[at:])
}

// newSlowNode is a node whose image lies in a slow registry.
func newSlowNode(t *testing.T) (*testNode, *slowRegistry) {
	n := newNode(t, "launchers = [\"namespaces\"]")
	s := &slowRegistry{blobs: n.path("layout/blobs/sha256"), half: make(chan struct{}), rest: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	place := "docker://" + strings.TrimPrefix(server.URL, "http://") + "/site/x"
	n.write("definitions/x.toml", strings.ReplaceAll(n.read("definitions/x.toml"), "oci:"+n.path("layout"), place))
	return n, s
}

// left are the names of what lies in the folder of unfinished trees, and of trees.
func (n *testNode) left() string {
	tmp, _ := filepath.Glob(n.path("cache/tmp/*"))
	trees, _ := filepath.Glob(n.path("cache/trees/*"))
	return strings.Join(append(tmp, trees...), " ")
}

// Who is told to end while the environment is deployed ends at once with the signal's code; nothing half deployed remains,
// no process goes on, and it is nobody's fault. Who was waiting for the same image goes on by himself.
func TestToldToEndWhileDeploying(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			n, s := newSlowNode(t)
			report := n.path("sandbox/report")
			first, second := n.command("true"), n.command("true")
			for i := range first.Args {
				if first.Args[i] == "--sandbox" {
					first.Args = append(append(first.Args[:i:i], "--report", report), first.Args[i:]...)
					break
				}
			}
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			<-s.half
			if err := second.Start(); err != nil {
				t.Fatal(err)
			}
			if n.left() == "" {
				t.Error("nothing is being unpacked")
			}
			began := time.Now()
			first.Process.Signal(sig)
			first.Wait()
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("it took %v to end", took)
			}
			if code := first.ProcessState.ExitCode(); sig != syscall.SIGKILL && code != 128+int(sig) {
				t.Errorf("exit code %d, want %d", code, 128+int(sig))
			}
			if text, err := os.ReadFile(report); err == nil {
				t.Errorf("reported as the node's fault: %s", text)
			}
			<-s.half // the second one asks the registry itself, so the first one's deploying has ended
			if left := strings.Fields(n.left()); len(left) != 1 {
				t.Errorf("left over: %v, want the second one's alone", left)
			}
			second.Process.Signal(syscall.SIGTERM)
			second.Wait()
			waitFor(t, "the end of deploying", func() bool { return processesWith(n.path("node.json")) == 0 })
			if left := n.left(); left != "" {
				t.Errorf("left over: %s", left)
			}
			close(s.rest)
			if out, code := n.sh("exit 3"); code != 3 {
				t.Errorf("the next job: %d, %s", code, out)
			}
		})
	}
}
