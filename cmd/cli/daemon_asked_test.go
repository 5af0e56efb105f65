package cli_test

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"gridbroker/testdata/testbed"
)

// TestDaemonIsAskedWhenItEnds: a daemon that is told to end while somebody waits for what it waits for itself ends in order all
// the same, with exit code 0: whoever keeps it would take it for failed else.
func TestDaemonIsAskedWhenItEnds(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // an origin that takes connections, and nothing more
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	origin := "https://" + silent.Addr().String() + "/"
	dir := testbed.Home(t)
	cmd := exec.Command("grid", "cache", "serve", "--dir", filepath.Join(dir, "cache"), "--origin", origin, "--listen", "127.0.0.1:0")
	cmd.Env, cmd.Dir = append(os.Environ(), "HOME="+dir), dir
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(says).ReadString('\n')
	at := regexp.MustCompile(`at (127\.0\.0\.1:\d+)`).FindStringSubmatch(line)
	if err != nil || at == nil {
		t.Fatalf("%q %v", line, err)
	}
	go func() {
		if resp, err := http.Get("http://" + at[1] + "/file?url=" + origin + "x"); err == nil {
			resp.Body.Close()
		}
	}()
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it was asked when it was told to end: %v", err)
	}
}
