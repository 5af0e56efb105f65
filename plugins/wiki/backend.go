package wiki

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"time"

	"gridbroker/batch"
	"gridbroker/durable"
	"gridbroker/plugins"
)

// Schemes are those of the URLs of WIKI resource managers.
var Schemes = []string{"wiki", "wikis", "wiki+unix"}

// backend reads resource managers; the protocol takes no jobs.
type backend struct {
	settings settings
	now      func() time.Time

	mu    sync.Mutex
	sites map[string]*site
}

var (
	_ plugins.Submitter    = (*backend)(nil)
	_ plugins.QueueOpener  = (*backend)(nil)
	_ plugins.SourceOpener = (*backend)(nil)
	_ plugins.Pinger       = (*backend)(nil)
)

// settings is the table [wiki] of the configuration.
type settings struct {
	KeyFile string `toml:"key_file"` // with the number that signs messages
	CAFile  string `toml:"ca_file"`  // PEM; the authorities that wikis:// trusts; "": the system's
	Policy  string `toml:"policy"`   // by which the cluster's scheduler is taken to start jobs; "": maui
}

// Open opens the back-end. Its files are read when a resource manager is first
// asked, so that what is wrong with them stops nobody else.
func Open(c plugins.Config) (plugins.Submitter, error) {
	b := &backend{now: c.Now, sites: map[string]*site{}}
	if err := c.Settings("wiki", &b.settings); err != nil {
		return nil, err
	}
	b.settings.Policy = cmp.Or(b.settings.Policy, "maui")
	if err := (batch.Policy{Name: b.settings.Policy}).Check(); err != nil {
		return nil, fmt.Errorf("[wiki] %w", err)
	}
	return b, nil
}

// site returns the resource manager of a URL, made once.
func (b *backend) site(raw string) (*site, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sites[raw]; s != nil {
		return s, nil
	}
	c, err := ParseURL(raw)
	if err != nil {
		return nil, err
	}
	if b.settings.KeyFile != "" {
		if c.Key, err = ReadKey(b.settings.KeyFile); err != nil {
			return nil, &plugins.Error{Kind: plugins.Credential, Op: "read key for", Endpoint: raw, Err: err, Hint: keyHint}
		}
	}
	if b.settings.CAFile != "" && c.TLS != nil {
		if err := Trust(c.TLS, b.settings.CAFile); err != nil {
			return nil, &plugins.Error{Kind: plugins.Credential, Op: "read authorities for", Endpoint: raw, Err: err}
		}
	}
	c.Now = b.now
	s := &site{url: raw, client: c, policy: batch.Policy{Name: b.settings.Policy}}
	b.sites[raw] = s
	return s, nil
}

// Trust makes a TLS configuration trust the authorities of a file only.
func Trust(c *tls.Config, path string) error {
	pem, err := durable.ReadFile(path, 16<<20)
	if err != nil {
		return err
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s: no certificate", path)
	}
	return nil
}

// QueueReader implements plugins.QueueOpener.
func (b *backend) QueueReader(rawURL string) (plugins.QueueReader, error) {
	s, err := b.site(rawURL)
	if err != nil {
		return nil, err
	}
	return s.client, nil
}

// errNoJobs is why nothing is submitted.
func errNoJobs(op, endpoint string) error {
	return &plugins.Error{
		Kind: plugins.Refused, Op: op, Endpoint: endpoint, Said: "WIKI starts jobs that a cluster has, it takes none",
		Hint: "submit at the cluster itself, or by another interface of it such as slurm+ssh://",
	}
}

// Submit implements plugins.Submitter: nothing can be submitted.
func (b *backend) Submit(_ context.Context, reqs []plugins.Request, _ plugins.Progress) []plugins.Result {
	out := make([]plugins.Result, len(reqs))
	for i, r := range reqs {
		out[i] = plugins.Result{ID: r.ID, Err: errNoJobs("submit", r.Endpoint.URL)}
	}
	return out
}

// Status implements plugins.Submitter: no job of ours is there.
func (b *backend) Status(_ context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	for i, h := range hs {
		out[i] = plugins.Status{Handle: h, State: plugins.Unknown, Err: errNoJobs("status", h.Endpoint)}
	}
	return out
}

// Cancel implements plugins.Submitter.
func (b *backend) Cancel(_ context.Context, hs []plugins.Handle) []error {
	out := make([]error, len(hs))
	for i, h := range hs {
		out[i] = errNoJobs("cancel", h.Endpoint)
	}
	return out
}

// Insecure says why commands to an address are not safe; empty: they are.
func Insecure(network, address string, tls bool) string {
	if tls || network == "unix" || loopback(address) {
		return ""
	}
	return strings.Join([]string{
		"WIKI's checksum is no security: it mixes a CRC of 16 bits with the key,",
		"so that who sees the messages can read and forge them; use TLS (wikis://) or an SSH tunnel",
	}, " ")
}
