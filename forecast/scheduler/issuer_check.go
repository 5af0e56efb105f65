package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// discovery is what an issuer says of itself that matters here: OpenID Connect Discovery
// 1.0, section 3, and RFC 8414, section 2.
type discovery struct {
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Keys          string   `json:"jwks_uri"`
	Responses     []string `json:"response_types_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
}

// CheckIssuer asks an issuer whether it is there, and for the keys that its tokens are
// verified with.
func (d *Door) CheckIssuer(ctx context.Context, name string) error {
	_, err := d.discovered(ctx, name)
	return err
}

// CheckLogin asks the issuer of a login whether people can sign in there by the
// authorization code flow with PKCE.
func (d *Door) CheckLogin(ctx context.Context, l *Login) error {
	doc, err := d.discovered(ctx, l.Issuer)
	switch {
	case err != nil:
		return err
	case doc.Authorization == "":
		return errors.New("its discovery document names no authorization_endpoint: nobody can sign in there with a browser")
	case doc.Token == "":
		return errors.New("its discovery document names no token_endpoint")
	case len(doc.Responses) > 0 && !slices.Contains(doc.Responses, "code"):
		return fmt.Errorf("it gives no authorization codes (response_types_supported is %.200q)", doc.Responses)
	case len(doc.Challenges) > 0 && !slices.Contains(doc.Challenges, "S256"):
		return fmt.Errorf("it does not take PKCE by S256 (code_challenge_methods_supported is %.200q)", doc.Challenges)
	}
	return nil
}

// discovered is what an issuer says of itself, when it gives its keys, too.
func (d *Door) discovered(ctx context.Context, name string) (discovery, error) {
	var doc discovery
	p, _, err := d.provider(ctx, name)
	if err != nil {
		return doc, err
	}
	if err := p.Claims(&doc); err != nil {
		return doc, err
	}
	if doc.Keys == "" {
		return doc, errors.New("its discovery document names no jwks_uri: its tokens cannot be verified")
	}
	return doc, hasKeys(ctx, d.issuerClient(), doc.Keys)
}

// hasKeys asks for an issuer's keys.
func hasKeys(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("its jwks_uri: %w", err)
	}
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("its keys: %w", err)
	}
	defer resp.Body.Close()
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	switch err := json.NewDecoder(io.LimitReader(resp.Body, issuerSays)).Decode(&set); {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("its keys: %s says %.80q", url, resp.Status)
	case err != nil:
		return fmt.Errorf("its keys: what %s says is no set of keys: %w", url, err)
	case len(set.Keys) == 0:
		return fmt.Errorf("its keys: there are none at %s", url)
	}
	return nil
}
