package oidc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"gridbroker/credential"
)

// Login is one device flow.
type Login struct {
	HTTP         *http.Client // verifies TLS; has a timeout
	Issuer       string
	ClientID     string   // "": register a client at the issuer (RFC 7591)
	ClientSecret string   // "": a public client
	Scopes       []string // "offline_access" is added, for a refresh token
	Audience     string   // "": the issuer's default
	// Show tells the user where to go. complete may be "".
	Show func(url, userCode, complete string)
}

// provider is what the issuer's discovery document says.
type provider struct {
	endpoint     oauth2.Endpoint
	registration string
}

// discover reads the discovery document and checks that it is the issuer's.
func discover(ctx context.Context, client *http.Client, issuer string) (*provider, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, finding("login.issuer", issuer, "an issuer is an https URL", "", nil)
	}
	p, err := gooidc.NewProvider(gooidc.ClientContext(ctx, client), issuer)
	if err != nil {
		if f := (*credential.Set)(nil).Explain(u.Host, err); f != nil {
			return nil, f
		}
		return nil, finding("login.discovery", issuer, "this is no OpenID Connect issuer that answers",
			"check the URL: "+strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration must exist and name the same issuer", err)
	}
	var more struct {
		Registration string `json:"registration_endpoint"`
	}
	if err := p.Claims(&more); err != nil {
		return nil, finding("login.discovery", issuer, "the discovery document cannot be read", "", err)
	}
	d := &provider{endpoint: p.Endpoint(), registration: more.Registration}
	for _, end := range []string{d.endpoint.TokenURL, d.endpoint.DeviceAuthURL, d.registration} {
		if end != "" && !strings.HasPrefix(end, "https://") {
			return nil, finding("login.discovery", issuer, "the issuer names an endpoint without https: "+end[:min(len(end), maxWords)], "", nil)
		}
	}
	return d, nil
}

// Run does the flow and returns the session to keep and the first token. It
// waits for the user until the issuer's limit or the context ends. Errors are
// a *credential.Finding.
func (l Login) Run(ctx context.Context) (*Session, *credential.Token, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	l.HTTP = bounded(l.HTTP)
	l.HTTP.Transport = within{ctx, l.HTTP.Transport}
	p, err := discover(ctx, l.HTTP, l.Issuer)
	if err != nil {
		return nil, nil, err
	}
	if p.endpoint.DeviceAuthURL == "" {
		return nil, nil, finding("login.no-device-flow", l.Issuer, "the issuer does not offer the device flow", "use oidc-agent, or store a token in $BEARER_TOKEN_FILE", nil)
	}
	if l.ClientID == "" {
		if err := l.register(ctx, p.registration); err != nil {
			return nil, nil, err
		}
	}
	s := &Session{Issuer: l.Issuer, TokenURL: p.endpoint.TokenURL, ClientID: l.ClientID, ClientSecret: l.ClientSecret, Scopes: l.Scopes, Audience: l.Audience}
	cfg := s.config(withOffline(l.Scopes))
	cfg.Endpoint.DeviceAuthURL = p.endpoint.DeviceAuthURL
	ctx = context.WithValue(ctx, oauth2.HTTPClient, l.HTTP)
	params := audienceParams(l.Audience)
	code, err := cfg.DeviceAuth(ctx, params.options()...)
	if err != nil && params.refused(err) {
		params = params.plain()
		code, err = cfg.DeviceAuth(ctx, params.options()...)
	}
	if err != nil {
		return nil, nil, finding("login.refused", l.Issuer, "the issuer does not start a device flow for client "+l.ClientID, "--client-id with a client that may use the device flow", err)
	}
	if err := l.checked(code); err != nil {
		return nil, nil, err
	}
	l.Show(code.VerificationURI, code.UserCode, code.VerificationURIComplete)
	tok, err := cfg.DeviceAccessToken(ctx, code, params.options()...)
	if err != nil {
		return nil, nil, l.explain(ctx, err, code.DeviceCode)
	}
	return s.accept(tok)
}

// checked refuses an answer that would lead the user astray.
func (l Login) checked(code *oauth2.DeviceAuthResponse) error {
	patient(code, time.Now())
	for _, page := range []string{code.VerificationURI, code.VerificationURIComplete} {
		if u, err := url.Parse(page); page != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(page) > maxWords) {
			return finding("login.discovery", l.Issuer, "the page to log in at is no https URL", "", nil)
		}
	}
	if code.VerificationURI == "" || len(code.UserCode) > maxWords || len(code.DeviceCode) > maxSecret {
		return finding("login.discovery", l.Issuer, "the issuer's answer has no page to log in at, or a code without end", "", nil)
	}
	return nil
}

func withOffline(scopes []string) []string {
	if slices.Contains(scopes, "offline_access") {
		return scopes
	}
	return append(slices.Clone(scopes), "offline_access")
}

// explain tells the ways apart in which a device flow ends without a token.
func (l Login) explain(ctx context.Context, err error, deviceCode string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case code(err) == "access_denied":
		return finding("login.denied", l.Issuer, "the login was denied", "", err, deviceCode, l.ClientSecret)
	case code(err) == "expired_token", errors.Is(err, context.DeadlineExceeded):
		return finding("login.timeout", l.Issuer, "nobody entered the code in time", "grid auth login, and enter the code at once", nil)
	}
	return finding("login.failed", l.Issuer, "the issuer gave no token", "", err, deviceCode, l.ClientSecret)
}

// register makes a public client at the issuer, where it lets everybody do so.
func (l *Login) register(ctx context.Context, endpoint string) error {
	need := finding("login.no-client", l.Issuer, "a client id is needed", "register a client at the issuer and pass its --client-id", nil)
	if endpoint == "" {
		need.Why = "the issuer does not let programs register themselves"
		return need
	}
	body, err := json.Marshal(map[string]any{
		"client_name": "grid", "token_endpoint_auth_method": "none", "response_types": []string{}, "redirect_uris": []string{},
		"grant_types": []string{"urn:ietf:params:oauth:grant-type:device_code", "refresh_token"}, "scope": strings.Join(withOffline(l.Scopes), " "),
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.HTTP.Do(req)
	if err != nil {
		need.Why = err.Error()
		return need
	}
	defer resp.Body.Close()
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&client)
	if resp.StatusCode/100 != 2 || err != nil || client.ID == "" || len(client.ID)+len(client.Secret) > maxSecret {
		need.Why = fmt.Sprintf("the issuer refused to register one: %s", resp.Status)
		return need
	}
	l.ClientID, l.ClientSecret = client.ID, client.Secret
	return nil
}
