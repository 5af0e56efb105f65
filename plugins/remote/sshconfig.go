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
	"syscall"
	"unicode"

	"github.com/kevinburke/ssh_config"

	"gridbroker/durable"
	"gridbroker/plugins"
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
var beyondUs = []string{"ProxyJump", "ProxyCommand", "PKCS11Provider", "CertificateFile", "RevokedHostKeys", "KnownHostsCommand",
	"HostKeyAlgorithms", "KexAlgorithms", "Ciphers", "MACs", "PubkeyAcceptedAlgorithms", "RequiredRSASize", "BindAddress", "BindInterface"}

func readSSHConfig(opts *Options, t Target) (*sshConfig, error) {
	c := &sshConfig{alias: t.Host}
	if err := trusted(opts.SSHConfig, opts.Home, 0); err != nil {
		return nil, err
	}
	text, err := durable.ReadFile(opts.SSHConfig, maxConfigured)
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
	for _, file := range c.knownHosts {
		if info, err := os.Stat(file); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			return nil, &plugins.Error{Kind: plugins.Invalid, Op: "read", Endpoint: file, Said: "it is no regular file"} // and would be waited for
		}
	}
	if why := c.beyondKnownHosts(); why != "" {
		c.reason = why
	}
	return c, nil
}

// beyondKnownHosts says what of the files of known hosts the built-in client cannot follow:
// authorities that speak for the host, and lines that ssh passes over.
func (c *sshConfig) beyondKnownHosts() string {
	check, err := c.hostKeys()
	if err != nil {
		return err.Error()
	}
	for _, k := range check.want() {
		if marked(k.Filename, k.Line, "@cert-authority") {
			return fmt.Sprintf("%s:%d names an authority for the host", k.Filename, k.Line)
		}
	}
	return ""
}

// marked reports whether a line of a file, from 1, begins with a word.
func marked(file string, line int, word string) bool {
	text, err := durable.ReadFile(file, maxConfigured)
	if err != nil {
		return false
	}
	for l := range bytes.Lines(text) {
		if line--; line == 0 {
			return bytes.HasPrefix(bytes.TrimSpace(l), []byte(word))
		}
	}
	return false
}

// maxConfigured bounds a configuration and a key, in bytes.
const maxConfigured = 16 << 20

// maxIncluded is how deep configurations include others (READCONF_MAX_DEPTH of OpenSSH).
const maxIncluded = 16

// trusted refuses a configuration that others could have written, or have included, as ssh does
// with the user's own: it says where a name leads, who speaks for it, and what is run.
func trusted(file, home string, depth int) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return &plugins.Error{Kind: plugins.Invalid, Op: "read", Endpoint: file, Said: fmt.Sprintf("others can write to it (user %d, mode %04o)", st.Uid, info.Mode().Perm()),
			Hint: "ssh does not use it either: make it yours, and chmod go-w " + file}
	}
	if !info.Mode().IsRegular() || depth >= maxIncluded {
		return nil // for its reader to say
	}
	text, err := durable.ReadFile(file, maxConfigured)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		for _, name := range included(string(line), home) {
			if err := trusted(name, home, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// included lists the files that a line includes.
func included(line, home string) (files []string) {
	words := strings.FieldsFunc(line, func(c rune) bool { return unicode.IsSpace(c) || c == '=' || c == '"' })
	if len(words) < 2 || !strings.EqualFold(words[0], "include") {
		return nil
	}
	for _, name := range words[1:] {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(home, rest)
		} else if !filepath.IsAbs(name) {
			name = filepath.Join(home, ".ssh", name)
		}
		if found, err := filepath.Glob(name); err == nil {
			files = append(files, found...)
		}
	}
	return files
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
