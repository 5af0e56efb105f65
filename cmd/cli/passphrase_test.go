package cli_test

import (
	"bytes"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/youmark/pkcs8"

	"gridbroker/testdata/testbed"
)

const passphrase = "open sesame"

// An encrypted key is opened with a passphrase from standard input, a file, a
// descriptor and a terminal; each tells when it has none or a wrong one.
func TestPassphrase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := testbed.NewCA(t, "CA", time.Now(), nil).Issue("Alice", nil)
	der, err := pkcs8.MarshalPrivateKey(id.Key, []byte(passphrase), nil)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der})
	testbed.WriteFile(t, filepath.Join(dir, ".globus/usercert.pem"), testbed.PEM(id.Cert), 0o644)
	testbed.WriteFile(t, filepath.Join(dir, ".globus/userkey.pem"), key, 0o400)
	testbed.WriteFile(t, filepath.Join(dir, "good"), []byte(passphrase+"\n"), 0o600)
	testbed.WriteFile(t, filepath.Join(dir, "open"), []byte(passphrase+"\n"), 0o644)
	if err := os.Mkdir(filepath.Join(dir, "certificates"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, args, stdin, fd, want string
		terminal                    bool
	}{
		{name: "standard input", args: "--pwstdin", stdin: passphrase + "\n"},
		{name: "without a line end", args: "--pwstdin", stdin: passphrase},
		{name: "third try", args: "--pwstdin", stdin: "a\nb\n" + passphrase + "\n"},
		{name: "wrong", args: "--pwstdin", stdin: "a\nb\nc\nd\n", want: "x509.passphrase"},
		{name: "empty input", args: "--pwstdin", want: "no passphrase in standard input"},
		{name: "file", args: "--pwfile good"},
		{name: "file for all", args: "--pwfile open", want: "file.permissions"},
		{name: "no file", args: "--pwfile none", want: "file.absent"},
		{name: "descriptor", args: "--pwfile /dev/fd/3", fd: passphrase + "\n"},
		{name: "both", args: "--pwfile good --pwstdin", want: "one of them"},
		{name: "no terminal", want: "standard input is no terminal"},
		{name: "terminal", stdin: passphrase + "\n", terminal: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			argv := append([]string{"grid", "auth", "proxy", "-o", filepath.Join(dir, "proxy")}, strings.Fields(tt.args)...)
			if tt.terminal {
				if _, err := exec.LookPath("script"); err != nil {
					t.Skip("script (util-linux) is not installed")
				}
				argv = []string{"script", "-qec", strings.Join(argv, " "), "/dev/null"}
			}
			os.Remove(filepath.Join(dir, "proxy"))
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(tt.stdin)
			cmd.Env = append(os.Environ(), "HOME="+dir, "X509_CERT_DIR="+filepath.Join(dir, "certificates"), "PATH="+gridInPath(t)+":"+os.Getenv("PATH"))
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if tt.fd != "" {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if _, err := w.WriteString(tt.fd); err != nil {
					t.Fatal(err)
				}
				w.Close()
				cmd.ExtraFiles = []*os.File{r}
			}
			_ = cmd.Run() // what it wrote tells
			_, err := os.Stat(filepath.Join(dir, "proxy"))
			if (err == nil) != (tt.want == "") || !strings.Contains(said.String(), tt.want) {
				t.Errorf("proxy %v, want %q in\n%s", err, tt.want, said.String())
			}
			if strings.Contains(said.String(), passphrase) && !tt.terminal {
				t.Errorf("the passphrase is shown: %s", said.String())
			}
		})
	}
}

// gridInPath is a directory where this test's binary is called grid.
func gridInPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err == nil {
		err = os.Symlink(exe, filepath.Join(dir, "grid"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
