package remote

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Whatever an SSH configuration and a file of known hosts hold, reading them ends, and a key that
// stands in neither lets no host in.
func FuzzSSHFiles(f *testing.F) {
	signer, _ := newKey(f)
	stranger := signer.PublicKey()
	mine := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(stranger)))
	f.Add("Host *\n HostName %h.example.org\n Port 2222\n User -oProxyCommand=x\n", "[h.example.org]:2222 ssh-ed25519 AAAA\n")
	f.Add("Match host h exec \"touch /tmp/x\"\nHost h\nInclude config\nHostKeyAlias x", "@revoked * ssh-rsa AAAA\n@cert-authority *,!h ssh-ed25519 AAAA\n|1|AAAA|AAAA= ssh-rsa AAAA\n")
	f.Add("UserKnownHostsFile none\nIdentityFile ~/x %d %u\nProxyJump none", "h,*,! ecdsa-sha2-nistp256 AAAA=\n\x00\n#\n")
	f.Fuzz(func(t *testing.T, config, known string) {
		if strings.Contains(known, strings.Fields(mine)[1]) {
			t.Skip("it is known")
		}
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"config": config, "known_hosts": known} {
			if err := os.WriteFile(filepath.Join(home, ".ssh", name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := readSSHConfig(&Options{SSHConfig: filepath.Join(home, ".ssh/config"), Home: home}, Target{Host: "h"})
		if err != nil || c.needsCommand() {
			return
		}
		check, err := c.hostKeys()
		if err != nil {
			return
		}
		check.algorithms()
		if check.verify("", &net.TCPAddr{}, stranger) == nil {
			t.Errorf("let in by\n%s\n%s", config, known)
		}
	})
}
