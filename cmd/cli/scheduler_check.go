package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// aHash is how a token's SHA-256 is written.
var aHash = regexp.MustCompile("^[0-9a-f]{64}$")

// check finds settings of a scheduler that cannot be meant. Hashes of tokens may be
// written in capitals as well.
func (c *schedulerConfig) check(backends []plugins.Backend) error {
	switch {
	case c.Database == "" || c.Database == "sqlite:":
		return faulty("database", "database = %q: say sqlite:FILE or postgres://USER@HOST/NAME", c.Database)
	case c.KeyFile == "":
		return faulty("key_file", "key_file: say the file with the key that encrypts what is kept of users (grid scheduler init makes scheduler.key)")
	case c.Planner != "" && c.Planner != "lookahead" && c.Planner != "pairwise":
		return faulty("planner", "planner = %q: say lookahead or pairwise", c.Planner)
	case c.MaxBypass < 0:
		return faulty("max_bypass", "max_bypass = %d: say 0 or more", c.MaxBypass)
	case !(c.Sure >= 0 && c.Sure <= 1):
		return faulty("sure", "sure = %g: say a number from 0 to 1", c.Sure)
	case !(c.Budget >= 0 && c.Budget <= 1e15):
		return faulty("budget", "budget = %g: say a number from 0 to 1e15", c.Budget)
	case c.AtOnce < 0 || c.AtOnce > 1e6:
		return faulty("requests_at_once", "requests_at_once = %d: say a number from 0 to 1000000", c.AtOnce)
	case c.OfAddress < 0 || c.OfAddress > 1e6:
		return faulty("connections_of_address", "connections_of_address = %d: say a number from 0 to 1000000", c.OfAddress)
	case !(c.RequestsPerS >= 0 && c.RequestsPerS <= 1e9):
		return faulty("requests_per_second", "requests_per_second = %g: say a number from 0 to 1e9", c.RequestsPerS)
	}
	for _, d := range []struct {
		name  string
		value duration
	}{{"cycle", c.Cycle}, {"status_every", c.StatusEvery}} {
		if t := d.value.Duration; t != 0 && t < 10*time.Millisecond {
			return faulty(d.name, "%s = %q: say 10ms or more", d.name, t)
		}
	}
	for _, find := range []func() error{c.checkListen, c.checkTokens, c.checkIssuers, c.checkLogin} {
		if err := find(); err != nil {
			return err
		}
	}
	return c.checkClusters(backends)
}

// checkListen finds an address that nobody can listen on, or where credentials would go
// over the network as they are.
func (c *schedulerConfig) checkListen() error {
	host, port, err := net.SplitHostPort(c.Listen)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return faulty("listen", "listen = %q: say ADDRESS:PORT, as 127.0.0.1:6120", c.Listen)
	}
	switch {
	case c.Cert == "" && c.Key != "":
		return faulty("key", "key: say the certificate, too, with cert")
	case c.Cert != "" && c.Key == "":
		return faulty("cert", "cert: say its key, too, with key")
	case c.Cert == "" && !credential.ThisMachine(host):
		return faulty("listen", "listen = %q: without cert and key only a loopback address, as 127.0.0.1:6120", c.Listen)
	}
	return nil
}

// checkTokens finds tokens that could never be shown, or are two people's.
func (c *schedulerConfig) checkTokens() error {
	subjects := map[string]string{}
	for i := range c.Tokens {
		t, at := &c.Tokens[i], fmt.Sprintf("token.%d", i)
		t.SHA256 = strings.ToLower(t.SHA256)
		other, twice := subjects[t.SHA256]
		switch {
		case !aHash.MatchString(t.SHA256):
			return faulty(at+".sha256", "token %d of %q: sha256 = %.80q: say the 64 digits that printf %%s \"$TOKEN\" | sha256sum prints", i+1, t.Subject, t.SHA256)
		case t.Subject == "":
			return faulty(at+".subject", "token %d: say whose it is with subject", i+1)
		case twice:
			return faulty(at, "token %d of %q is that of %q as well: give each a token of his own", i+1, t.Subject, other)
		}
		subjects[t.SHA256] = t.Subject
	}
	return nil
}

// checkIssuers finds issuers that are none, and those whose tokens nobody could accept.
func (c *schedulerConfig) checkIssuers() error {
	for _, issuer := range c.Issuers {
		if !securedURL(issuer) {
			return faulty("issuers", "issuers: %q: say a URL that begins with https://, or http:// of this machine", issuer)
		}
	}
	for issuer, vos := range c.IssuerVOs {
		switch {
		case !slices.Contains(c.Issuers, issuer):
			return faulty("issuer_vos", "issuer_vos: %q is none of issuers", issuer)
		case len(vos) == 0 || slices.Contains(vos, ""):
			return faulty("issuer_vos", "issuer_vos: %q: say the names of VOs", issuer)
		}
	}
	if len(c.Issuers) > 0 && c.Audience == "" {
		return faulty("issuers", "issuers: say the audience that their tokens name with audience, too")
	}
	return nil
}

// securedURL tells whether secrets may go to a URL.
func securedURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && credential.ThisMachine(u.Hostname()))
}

// checkLogin finds a login that no browser could come back from, or whose secrets would go over
// the network as they are.
func (c *schedulerConfig) checkLogin() error {
	l := c.Login
	if l == nil {
		return nil
	}
	if l.Client == "" {
		return faulty("login.client", "login: say the client as which this scheduler is registered at the issuer")
	}
	for _, s := range []struct{ name, text string }{{"issuer", l.Issuer}, {"url", l.URL}} {
		if !securedURL(s.text) {
			return faulty("login."+s.name, "login: %s = %q: say a URL that begins with https://, or http:// of this machine", s.name, s.text)
		}
	}
	if u, _ := url.Parse(l.URL); strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return faulty("login.url", "login: url = %q: say scheme, host and port of the page alone", l.URL)
	}
	l.URL = strings.TrimRight(l.URL, "/")
	return nil
}

// checkClusters finds clusters without a name, two of one name, those that no jobs can be
// sent to, and those for which no agent could ever speak.
func (c *schedulerConfig) checkClusters(backends []plugins.Backend) error {
	seen := map[string]bool{}
	for i, cl := range c.Clusters {
		at := fmt.Sprintf("cluster.%d", i)
		switch {
		case cl.Name == "":
			return faulty(at+".name", "cluster %d, endpoint %q: say its name", i+1, cl.Endpoint)
		case cl.Endpoint == "":
			return faulty(at+".endpoint", "cluster %q: say its endpoint", cl.Name)
		case seen[cl.Name]:
			return faulty(at+".name", "cluster %q is there twice", cl.Name)
		case slices.Contains(cl.Agents, ""):
			return faulty(at+".agents", "cluster %q: agents: an agent has a subject, which is not empty", cl.Name)
		}
		if _, err := sentBy(backends, cl.Endpoint); err != nil {
			return faulty(at+".endpoint", "cluster %q: endpoint = %q: %v", cl.Name, cl.Endpoint, err)
		}
		seen[cl.Name] = true
	}
	return nil
}

// sentBy is the back-end by whose first interface jobs go to an endpoint.
func sentBy(backends []plugins.Backend, endpoint string) (*plugins.Backend, error) {
	scheme, _, _ := strings.Cut(endpoint, ":")
	at := slices.IndexFunc(backends, func(b plugins.Backend) bool { return slices.Contains(b.Schemes, strings.ToLower(scheme)) })
	switch {
	case at < 0:
		return nil, errors.New("it is of no known kind")
	case backends[at].ReadOnly, len(backends[at].Interfaces) == 0:
		return nil, errors.New("no jobs can be sent there, it is only read")
	}
	return &backends[at], nil
}
