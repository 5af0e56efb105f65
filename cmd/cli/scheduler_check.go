package cli

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
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
	case c.Planner != "" && c.Planner != "lookahead" && c.Planner != "pairwise":
		return fmt.Errorf("planner = %q: say lookahead or pairwise", c.Planner)
	case c.MaxBypass < 0:
		return fmt.Errorf("max_bypass = %d: say 0 or more", c.MaxBypass)
	case !(c.Sure >= 0 && c.Sure <= 1):
		return fmt.Errorf("sure = %g: say a number from 0 to 1", c.Sure)
	case !(c.Budget >= 0 && c.Budget <= 1e15):
		return fmt.Errorf("budget = %g: say a number from 0 to 1e15", c.Budget)
	case !(c.RequestsPerS >= 0 && c.RequestsPerS <= 1e9):
		return fmt.Errorf("requests_per_second = %g: say a number from 0 to 1e9", c.RequestsPerS)
	}
	for _, d := range []struct {
		name  string
		value duration
	}{{"cycle", c.Cycle}, {"status_every", c.StatusEvery}} {
		if t := time.Duration(d.value); t != 0 && t < 10*time.Millisecond {
			return fmt.Errorf("%s = %q: say 10ms or more", d.name, t)
		}
	}
	if err := c.checkTokens(); err != nil {
		return err
	}
	if err := c.checkLogin(); err != nil {
		return err
	}
	return c.checkClusters(backends)
}

// checkTokens finds tokens that could never be shown, or are two people's.
func (c *schedulerConfig) checkTokens() error {
	subjects := map[string]string{}
	for i := range c.Tokens {
		t := &c.Tokens[i]
		t.SHA256 = strings.ToLower(t.SHA256)
		other, twice := subjects[t.SHA256]
		switch {
		case !aHash.MatchString(t.SHA256):
			return fmt.Errorf("token %d of %q: sha256 = %.80q: say the 64 digits that printf %%s \"$TOKEN\" | sha256sum prints", i+1, t.Subject, t.SHA256)
		case t.Subject == "":
			return fmt.Errorf("token %d: say whose it is with subject", i+1)
		case twice:
			return fmt.Errorf("token %d of %q is that of %q as well: give each a token of his own", i+1, t.Subject, other)
		}
		subjects[t.SHA256] = t.Subject
	}
	return nil
}

// checkLogin finds a login that no browser could come back from, or whose secrets would go over
// the network as they are.
func (c *schedulerConfig) checkLogin() error {
	l := c.Login
	if l == nil {
		return nil
	}
	if l.Client == "" {
		return errors.New("login: say the client as which this scheduler is registered at the issuer")
	}
	for _, s := range []struct{ name, text string }{{"issuer", l.Issuer}, {"url", l.URL}} {
		u, err := url.Parse(s.text)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && credential.ThisMachine(u.Hostname())) {
			return fmt.Errorf("login: %s = %q: say a URL that begins with https://, or http:// of this machine", s.name, s.text)
		}
	}
	if u, _ := url.Parse(l.URL); strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("login: url = %q: say scheme, host and port of the page alone", l.URL)
	}
	l.URL = strings.TrimRight(l.URL, "/")
	return nil
}

// checkClusters finds clusters without a name, two of one name, and those that no jobs
// can be sent to.
func (c *schedulerConfig) checkClusters(backends []plugins.Backend) error {
	seen := map[string]bool{}
	for i, cl := range c.Clusters {
		switch {
		case cl.Name == "":
			return fmt.Errorf("cluster %d, endpoint %q: say its name", i+1, cl.Endpoint)
		case cl.Endpoint == "":
			return fmt.Errorf("cluster %q: say its endpoint", cl.Name)
		case seen[cl.Name]:
			return fmt.Errorf("cluster %q is there twice", cl.Name)
		}
		if _, err := sentBy(backends, cl.Endpoint); err != nil {
			return fmt.Errorf("cluster %q: endpoint = %q: %w", cl.Name, cl.Endpoint, err)
		}
		seen[cl.Name] = true
	}
	return nil
}

// sentBy is the interface by which jobs go to an endpoint.
func sentBy(backends []plugins.Backend, endpoint string) (string, error) {
	scheme, _, _ := strings.Cut(endpoint, ":")
	at := slices.IndexFunc(backends, func(b plugins.Backend) bool { return slices.Contains(b.Schemes, strings.ToLower(scheme)) })
	switch {
	case at < 0:
		return "", errors.New("it is of no known kind")
	case backends[at].ReadOnly, len(backends[at].Interfaces) == 0:
		return "", errors.New("no jobs can be sent there, it is only read")
	}
	return backends[at].Interfaces[0], nil
}
