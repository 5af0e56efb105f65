package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"gridbroker/durable"
	"gridbroker/plugins"
)

// clientConfig gathers what the handshake needs. closeAgent ends the
// connection to the agent.
func (c *sshConfig) clientConfig(ctx context.Context) (conf *ssh.ClientConfig, closeAgent func(), err error) {
	check, err := c.hostKeys()
	if err != nil {
		return nil, nil, err
	}
	signers, closeAgent, notes := c.signers(ctx)
	if len(signers) == 0 {
		closeAgent()
		return nil, nil, &plugins.Error{Kind: plugins.Credential, Op: "connect", Endpoint: c.address(), Err: plugins.ErrKeys,
			Said: "no usable SSH key" + notes, Hint: "start an agent with ssh-add, or name a key by IdentityFile in ~/.ssh/config"}
	}
	return &ssh.ClientConfig{
		User: c.user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signers...)},
		HostKeyCallback:   check.verify,
		HostKeyAlgorithms: check.algorithms(),
	}, closeAgent, nil
}

func (c *sshConfig) address() string { return net.JoinHostPort(c.host, c.port) }

// signers lists the agent's keys, then those of files that no passphrase
// protects; notes says what was left out.
func (c *sshConfig) signers(ctx context.Context) (list []ssh.Signer, closeAgent func(), notes string) {
	seen := map[string]bool{}
	add := func(s ssh.Signer) {
		if key := string(s.PublicKey().Marshal()); !seen[key] {
			seen[key] = true
			list = append(list, s)
		}
	}
	named := map[string]bool{}
	for _, file := range c.keys {
		if key := publicKey(file); key != "" {
			named[key] = true
		}
		text, err := durable.ReadFile(file, maxConfigured)
		if errors.Is(err, fs.ErrNotExist) || err == nil && isPublicKey(text) {
			continue
		}
		if err == nil {
			err = private(file)
		}
		if err == nil {
			var s ssh.Signer
			if s, err = ssh.ParsePrivateKey(text); err == nil {
				add(s)
				continue
			}
		}
		notes += fmt.Sprintf("; %s: %v", file, err)
		if e, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok && e.PublicKey != nil {
			named[string(e.PublicKey.Marshal())] = true
		}
	}
	held, closeAgent, err := c.agentSigners(ctx)
	if err != nil {
		notes += fmt.Sprintf("; agent: %v", err)
	}
	for _, s := range held {
		if !c.onlyKeys || named[string(s.PublicKey().Marshal())] {
			add(s)
		}
	}
	return list, closeAgent, notes
}

// agentLists is how long an agent may take to list its keys; to sign may take a user's hand.
const agentLists = 5 * time.Second

// agentSigners lists the keys that the agent holds, if there is one. It answers, and
// signs, until ctx ends: one that was forwarded over a connection that died says nothing.
func (c *sshConfig) agentSigners(ctx context.Context) (held []ssh.Signer, closeAgent func(), err error) {
	if c.agent == "" {
		return nil, func() {}, nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.agent)
	if err != nil {
		return nil, func() {}, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(agentLists))
	held, err = agent.NewClient(conn).Signers()
	conn.SetDeadline(time.Time{})
	return held, func() { stop(); conn.Close() }, err
}

// private refuses a key that others may read or that belongs to somebody else,
// as the ssh command does.
func private(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("others may read it (mode %04o): chmod 600 %s", perm, file)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d", st.Uid)
	}
	return nil
}

// publicKey is the public half of a key file, from the file beside it or the
// file itself: with it the agent's key is recognised where the private one is
// encrypted, or is in the agent alone (ssh_config(5), IdentityFile).
func publicKey(file string) string {
	for _, name := range []string{file + ".pub", file} {
		text, err := durable.ReadFile(name, maxConfigured)
		if err != nil || !isPublicKey(text) {
			continue
		}
		if key, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
			return string(key.Marshal())
		}
	}
	return ""
}

func isPublicKey(text []byte) bool {
	return !bytes.Contains(text, []byte("PRIVATE KEY")) && !bytes.HasPrefix(text, []byte("-----"))
}

// hostCheck verifies host keys against known_hosts.
type hostCheck struct {
	conf  *sshConfig
	known ssh.HostKeyCallback
}

func (c *sshConfig) hostKeys() (*hostCheck, error) {
	var have []string
	for _, f := range c.knownHosts {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() { // in /dev/null there is none
			have = append(have, f)
		}
	}
	known, err := knownhosts.New(have...)
	if err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	return &hostCheck{c, known}, nil
}

// name is the host as known_hosts has it: with its port, or where only that is there, without.
func (h *hostCheck) name() string {
	if h.conf.hostAlias != "" {
		return net.JoinHostPort(h.conf.hostAlias, "22")
	}
	if h.conf.port != "22" && len(h.wanted(h.conf.address())) == 0 { // as ssh does
		return net.JoinHostPort(h.conf.host, "22")
	}
	return h.conf.address()
}

var anyAddr net.Addr = &net.TCPAddr{IP: net.IPv4zero}

func (h *hostCheck) verify(_ string, _ net.Addr, key ssh.PublicKey) error {
	err := h.known(h.name(), anyAddr, key)
	if r, ok := errors.AsType[*knownhosts.RevokedError](err); ok {
		return &plugins.Error{Kind: plugins.Unavailable, Op: "connect", Endpoint: h.conf.address(),
			Said: fmt.Sprintf("host key %s is revoked by %s:%d", ssh.FingerprintSHA256(key), r.Revoked.Filename, r.Revoked.Line),
			Hint: "whoever shows it may have stolen it: ask the site for its new key"}
	}
	e, ok := errors.AsType[*knownhosts.KeyError](err)
	if !ok {
		return err
	}
	said, hint := "", "someone may be listening in; if the host was set up anew: ssh-keygen -R '"+knownhosts.Normalize(h.name())+"'"
	if len(e.Want) == 0 {
		said = fmt.Sprintf("host key %s is not in known_hosts", ssh.FingerprintSHA256(key))
		hint = "connect once with ssh and compare the fingerprint"
	} else {
		said = fmt.Sprintf("host key changed: offered %s, %s:%d has another", ssh.FingerprintSHA256(key), e.Want[0].Filename, e.Want[0].Line)
	}
	return &plugins.Error{Kind: plugins.Unavailable, Op: "connect", Endpoint: h.conf.address(), Said: said, Hint: hint}
}

// algorithms lists those for which the host's key is known, so that the
// server is not asked for another one; nil when none is known.
func (h *hostCheck) algorithms() []string {
	var algos []string
	for _, k := range h.want() {
		switch t := k.Key.Type(); t {
		case ssh.KeyAlgoRSA:
			algos = append(algos, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		default:
			algos = append(algos, t)
		}
	}
	return algos
}

// want lists the keys that are known of the host.
func (h *hostCheck) want() []knownhosts.KnownKey { return h.wanted(h.name()) }

func (h *hostCheck) wanted(name string) []knownhosts.KnownKey {
	e, ok := errors.AsType[*knownhosts.KeyError](h.known(name, anyAddr, noKey{}))
	if !ok {
		return nil
	}
	return e.Want
}

// noKey is a key that matches none: it makes known_hosts tell what it has.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

// authFailed recognises the client library's report of refused keys.
func authFailed(err error) bool { return strings.Contains(err.Error(), "unable to authenticate") }
