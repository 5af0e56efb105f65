package arcrest

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gridbroker/asked"
	"gridbroker/credential"
	"gridbroker/plugins"
)

// delegation is our credential as the CE keeps it: one for all jobs of a user.
type delegation struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires"`
}

// delegate returns the id of a delegation that lives long enough, from memory,
// from an earlier command, or new; "" when the interface has none for our
// credential (a token with REST 1.0). It is made once however many callers.
func delegate(ctx context.Context, c *client, op string) (string, error) {
	version, err := c.version(ctx, op)
	if err != nil || c.who.x509 == nil && version == "1.0" {
		return "", err
	}
	release, err := c.await(ctx, op)
	if err != nil {
		return "", err
	}
	defer release()
	if fresh(c, c.delegation) {
		return c.delegation.ID, nil
	}
	if kept := recall(c); fresh(c, kept) && stillThere(ctx, c, op, version, kept.ID) {
		c.delegation = kept
		return kept.ID, nil
	}
	if c.who.x509 == nil {
		c.delegation, err = delegateToken(ctx, c, op, version)
	} else {
		c.delegation, err = delegateProxy(ctx, c, op, version, "/delegations?action=new")
	}
	if err == nil {
		keep(ctx, c, c.delegation)
	}
	return c.delegation.ID, err
}

// delegations is the kind of file in which they are kept.
const delegations = "arc-delegations"

// fresh reports whether a delegation has at least half of the life that a new
// one would get. One that has more was made when the clock was ahead, and may not even have begun.
func fresh(c *client, d delegation) bool {
	now, end := c.o.Now(), wanted(c)
	return d.ID != "" && d.Expires.Sub(now) > end.Sub(now)/2 && !d.Expires.After(end.Add(time.Minute))
}

// longestDelegation is for how long a credential is delegated where nobody says
// otherwise: as long as jobs wait and run where nobody renews it.
const longestDelegation = 7 * 24 * time.Hour

func (o *Options) delegationLife() time.Duration {
	if o.DelegationLife != nil {
		return cmp.Or(max(0, o.DelegationLife()), longestDelegation)
	}
	return longestDelegation
}

// wanted is when a new delegation would expire.
func wanted(c *client) time.Time {
	end := c.o.Now().Add(c.o.delegationLife())
	own := end
	if c.who.x509 != nil {
		own = c.who.x509.NotAfter()
	} else if exp := c.who.token.Expiry(); !exp.IsZero() {
		own = exp
	}
	if own.Before(end) {
		return own
	}
	return end
}

// delegateProxy sends a request for a key (action=new or renew), signs what
// comes back and uploads the proxy.
func delegateProxy(ctx context.Context, c *client, op, version, path string) (delegation, error) {
	csr, head, err := c.read(ctx, &call{op: op, method: http.MethodPost, path: "/rest/" + version + path, scope: scopeCreate})
	if err != nil {
		return delegation{}, err
	}
	id := lastSegment(path)
	if loc := head.Get("Location"); loc != "" {
		id = lastSegment(loc)
	}
	if !validID(id) {
		return delegation{}, c.fail(plugins.Unavailable, op, "delegation without an id", errMalformed)
	}
	end := wanted(c)
	chain, err := c.who.x509.SignDelegation(csr, end.Sub(c.o.Now()))
	if _, ours := errors.AsType[*credential.Finding](err); err != nil && !ours { // it is the request that cannot be signed
		return delegation{}, c.fail(plugins.Unavailable, op, "", err)
	}
	if err != nil {
		return delegation{}, c.fail(plugins.Credential, op, "", err)
	}
	ca := &call{op: op, method: http.MethodPut, path: "/rest/" + version + "/delegations/" + id, body: chain,
		scope: scopeCreate, header: map[string]string{"Content-Type": "application/x-pem-file"}}
	if _, _, err := c.read(ctx, ca); err != nil {
		return delegation{}, err
	}
	return delegation{ID: id, Expires: end}, nil
}

// lastSegment is the id at the end of ".../delegations/ID", of A-REX 6's
// malformed ".../delegations?action=new/ID", and of ".../ID?action=renew".
func lastSegment(s string) string {
	s, _, _ = strings.Cut(s, "?action=renew")
	return s[strings.LastIndexByte(s, '/')+1:]
}

// delegateToken hands the token over (1.1 only), as A-REX wants it: bare, in
// a header. It cannot be renewed there; a new token needs a new delegation.
func delegateToken(ctx context.Context, c *client, op, version string) (delegation, error) {
	ca := &call{op: op, method: http.MethodPost, path: "/rest/" + version + "/delegations?action=new&type=jwt",
		scope: scopeCreate, header: map[string]string{"X-Token-Delegation": c.who.token.Raw()}}
	_, head, err := c.read(ctx, ca)
	if err != nil {
		return delegation{}, err
	}
	id := lastSegment(head.Get("Location"))
	if !validID(id) {
		return delegation{}, c.fail(plugins.Unavailable, op, "delegation without an id", errMalformed)
	}
	return delegation{ID: id, Expires: wanted(c)}, nil
}

// maxChain bounds the certificates of a delegation, in bytes.
const maxChain = 1 << 20

// stillThere asks the CE for a delegation: an unknown id would be accepted
// with a job and fail it later. Only whether it answers counts, and that what
// it has is not about to expire.
func stillThere(ctx context.Context, c *client, op, version, id string) bool {
	path := "/rest/" + version + "/delegations/" + url.PathEscape(id) + "?action=get"
	body, _, err := c.read(ctx, &call{op: op, method: http.MethodPost, path: path, scope: scopeCreate, most: maxChain})
	if err != nil {
		return false
	}
	block, _ := pem.Decode(body)
	if c.who.x509 == nil || block == nil {
		return c.who.x509 == nil
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	return err == nil && fresh(c, delegation{ID: id, Expires: cert.NotAfter})
}

// file is where something of this identity at this endpoint is kept.
func file(c *client, kind string) string {
	owner := c.who.key
	if c.who.x509 != nil { // the same for every proxy of a person: they share their delegations
		owner = digest([]byte(c.who.x509.Identity()))
	}
	return filepath.Join(c.o.StateDir, kind, digest([]byte(c.base+" "+owner))+".json")
}

func recall(c *client) (d delegation) {
	if c.o.StateDir == "" {
		return d
	}
	if text, err := os.ReadFile(file(c, delegations)); err == nil {
		if json.Unmarshal(text, &d) != nil || !validID(d.ID) {
			return delegation{}
		}
	}
	return d
}

// keep remembers the delegation. Failing to only costs a new one next time.
func keep(ctx context.Context, c *client, d delegation) {
	if c.o.StateDir == "" {
		return
	}
	if err := replace(file(c, delegations), d); err != nil {
		asked.Tell(ctx, "keep the delegation at %s: %v", c.host, err)
	}
}

// replace puts a small document in the place of the one that is there.
func replace(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, werr := tmp.Write(text)
	if err := errors.Join(werr, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

// Scopes of the WLCG token profile that ARC asks for.
const (
	scopeRead   = "compute.read"
	scopeCreate = "compute.create"
	scopeModify = "compute.modify"
	scopeCancel = "compute.cancel"
)
