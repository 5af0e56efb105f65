package arcrest

import (
	"context"
	"errors"
	"strings"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// Ping implements plugins.Pinger: it asks for the versions, which everybody is
// told, and for the list of jobs, which needs authorisation (the information
// document does not, in ARC 7). A-REX does not say whom it takes us for; the
// identity is the one we show it.
func (b *Backend) Ping(ctx context.Context, endpoint string) (plugins.Pong, error) {
	pong := plugins.Pong{Interface: glue.InterfaceARCREST}
	c, err := b.client(ctx, "ping", endpoint, "")
	stranger, ok := errors.AsType[*plugins.Error](err)
	if ok && stranger.Kind == plugins.Credential {
		c, err = b.anonymous(endpoint)
	}
	if err != nil {
		return pong, err
	}
	start := time.Now()
	_, err = c.version(ctx, "ping")
	pong.Latency = time.Since(start)
	if stranger == nil && (c.who.x509 != nil || c.who.token.Subject() != "") { // of an opaque token nothing is known here
		pong.Identity = c.who.name()
	}
	if f, is := errors.AsType[*credential.Finding](err); is && strings.HasPrefix(f.ID, "server.") { // the host is not the one it should be: it was told nothing, and has said nothing
		return pong, err
	}
	if e := turnedAway(err); e != nil { // ARC 6 tells strangers nothing, unless its information is public
		pong.Said = e.Said
		return pong, nil
	}
	if err != nil {
		return pong, err
	}
	pong.Versions = *c.versions.Load()
	if stranger != nil {
		pong.Said = stranger.Err.Error()
		return pong, nil
	}
	_, err = c.list(ctx)
	if e := turnedAway(err); e != nil {
		pong.Said = e.Said
		return pong, nil
	}
	pong.LetIn = err == nil
	return pong, err
}

// turnedAway returns the error when it is the service's "no": it is up then.
func turnedAway(err error) *plugins.Error {
	e, ok := errors.AsType[*plugins.Error](err)
	if ok && e.Said != "" && (e.Kind == plugins.Credential || e.Kind == plugins.Refused) {
		return e
	}
	return nil
}

// anonymous is a client for what everybody may ask.
func (b *Backend) anonymous(endpoint string) (*client, error) {
	set, err := b.o.Credentials()
	base, berr := baseOf(endpoint)
	if err = errors.Join(err, berr); err != nil {
		return nil, &plugins.Error{Kind: plugins.Unavailable, Op: "ping", Endpoint: endpoint, Err: err}
	}
	if set == nil || set.Trust == nil {
		return nil, &plugins.Error{Kind: plugins.Credential, Op: "ping", Endpoint: endpoint, Err: errNoTrust}
	}
	return newClient(b.o, base, &identity{trust: set.Trust}), nil
}

// Renew implements plugins.Renewer: the delegations of the jobs are renewed,
// each once. A token handed over cannot be renewed there.
func (b *Backend) Renew(ctx context.Context, hs []plugins.Handle) []error {
	return b.each(ctx, "renew", hs, (*client).renew)
}

func (c *client) renew(ctx context.Context, ids []string) []error {
	if c.who.x509 == nil {
		err := c.fail(plugins.Refused, "renew", "ARC cannot renew a token it was given with a job", nil)
		err.Hint = "submit with a proxy to be able to"
		return repeat(err, len(ids))
	}
	items, err := c.bulk(ctx, "renew", "delegations", scopeRead, ids)
	if err != nil {
		return repeat(err, len(ids))
	}
	errs := perJob(c, "renew", ids, items, nil)
	done := map[string]error{}
	for i, id := range ids {
		if errs[i] != nil {
			continue
		}
		for _, d := range items[id].Delegations {
			if _, ok := done[d]; !ok {
				done[d] = renewOne(ctx, c, d)
			}
			errs[i] = errors.Join(errs[i], done[d])
		}
	}
	return errs
}

func renewOne(ctx context.Context, c *client, id string) error {
	version, err := c.version(ctx, "renew")
	if err != nil || !validID(id) {
		return err
	}
	d, err := delegateProxy(ctx, c, "renew", version, "/delegations/"+id+"?action=renew")
	if err != nil {
		return err
	}
	release, err := c.await(ctx, "renew")
	if err != nil {
		return err
	}
	defer release()
	if kept := recall(c); kept.ID == d.ID || c.delegation.ID == d.ID {
		c.delegation = d
		keep(ctx, c, d)
	}
	return nil
}

func repeat(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}
