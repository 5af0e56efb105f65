package remote

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/kevinburke/ssh_config"
)

// sshConfig is what ~/.ssh/config says of one host, the URL's own user and
// port first.
type sshConfig struct {
	alias      string // the host as the URL has it
	user       string
	host, port string
	keys       []string // private key files
	onlyKeys   bool     // IdentitiesOnly
	agent      string   // socket; "": none
	knownHosts []string
	hostAlias  string // HostKeyAlias
	reason     string // why the built-in client cannot serve this host; "": it can
}

// needsCommand reports whether only the user's own ssh can reach the host.
func (c *sshConfig) needsCommand() bool { return c.reason != "" }

// beyondUs are settings the built-in client does not follow: the host is then
// reached by the user's ssh command.
var beyondUs = []string{"ProxyJump", "ProxyCommand", "PKCS11Provider", "CertificateFile"}

func readSSHConfig(opts *Options, t Target) (*sshConfig, error) {
	c := &sshConfig{alias: t.Host}
	text, err := os.ReadFile(opts.SSHConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	conf, err := ssh_config.Decode(bytes.NewReader(text))
	if err != nil {
		c.reason = fmt.Sprintf("%s: %v", opts.SSHConfig, err) // Match lines, for one
		return c, nil
	}
	get := func(key string) string {
		v, _ := conf.Get(t.Host, key)
		return v
	}
	for _, key := range beyondUs {
		if v := get(key); v != "" && !strings.EqualFold(v, "none") {
			c.reason = key + " is set"
		}
	}
	if strings.EqualFold(get("GSSAPIAuthentication"), "yes") {
		c.reason = "GSSAPIAuthentication is set"
	}
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	c.host = strings.ReplaceAll(cmp.Or(get("HostName"), t.Host), "%h", t.Host)
	c.user, c.port = cmp.Or(t.User, get("User"), name), cmp.Or(t.Port, get("Port"), "22")
	c.onlyKeys, c.hostAlias = strings.EqualFold(get("IdentitiesOnly"), "yes"), get("HostKeyAlias")
	c.setFiles(opts, conf)
	return c, nil
}

// setFiles finds key files, the agent, and the files of known hosts, with
// OpenSSH's defaults (ssh_config(5)).
func (c *sshConfig) setFiles(opts *Options, conf *ssh_config.Config) {
	expand := func(name string) string {
		name = strings.NewReplacer("%d", opts.Home, "%h", c.host, "%r", c.user, "%%", "%").Replace(strings.Trim(name, `"`))
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(opts.Home, rest)
		}
		return name
	}
	keys, _ := conf.GetAll(c.alias, "IdentityFile")
	for _, k := range keys {
		c.keys = append(c.keys, expand(k))
	}
	if len(c.keys) == 0 {
		for _, k := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			c.keys = append(c.keys, filepath.Join(opts.Home, ".ssh", k))
		}
	}
	list := func(key, def string) {
		v, _ := conf.Get(c.alias, key)
		for _, name := range strings.Fields(cmp.Or(v, def)) {
			if name != "/dev/null" && name != "none" {
				c.knownHosts = append(c.knownHosts, expand(name))
			}
		}
	}
	list("UserKnownHostsFile", "~/.ssh/known_hosts ~/.ssh/known_hosts2")
	list("GlobalKnownHostsFile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2")
	c.agent = lookupEnv(opts.Environ, "SSH_AUTH_SOCK")
	if v, _ := conf.Get(c.alias, "IdentityAgent"); v != "" && v != "SSH_AUTH_SOCK" {
		c.agent = strings.TrimPrefix(expand(v), "none")
	}
}

func lookupEnv(environ []string, name string) string {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
