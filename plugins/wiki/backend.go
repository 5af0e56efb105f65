package wiki

import (
	"context"
	"fmt"
	"strings"

	"gridbroker/plugins"
)

// Schemes are those of the URLs of WIKI resource managers.
var Schemes = []string{"wiki", "wikis", "wiki+unix"}

// backend reads resource managers; the protocol takes no jobs.
type backend struct{ key Key }

// Open opens the back-end. The key lies in the file that the table [wiki] of
// the configuration names: key_file.
func Open(c plugins.Config) (plugins.Submitter, error) {
	var settings struct {
		KeyFile string `toml:"key_file"`
	}
	if err := c.Settings("wiki", &settings); err != nil || settings.KeyFile == "" {
		return &backend{}, err
	}
	key, err := ReadKey(settings.KeyFile)
	return &backend{key}, err
}

// QueueReader implements plugins.QueueOpener.
func (b *backend) QueueReader(rawURL string) (plugins.QueueReader, error) {
	c, err := ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	c.Key = b.key
	return c, nil
}

// errNoJobs is why nothing is submitted.
func errNoJobs(op, endpoint string) error {
	return &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: endpoint, Err: fmt.Errorf("jobs are submitted to the cluster itself, WIKI only starts them")}
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
		out[i] = plugins.Status{Handle: h, State: plugins.Unknown}
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
