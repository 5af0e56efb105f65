package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"gridbroker/credential"
)

// Session is what a login leaves behind to get more tokens with. It is stored
// with mode 0600 and never printed.
type Session struct {
	Issuer       string   `json:"issuer"`
	TokenURL     string   `json:"token_url"`
	ClientID     string   `json:"client_id"`
	ClientSecret string   `json:"client_secret,omitempty"`
	RefreshToken string   `json:"refresh_token"`
	Scopes       []string `json:"scopes"`
	Audience     string   `json:"audience,omitempty"`
}

// String hides the secrets.
func (s *Session) String() string { return "login at " + s.Issuer }

// GoString hides the secrets.
func (s *Session) GoString() string { return s.String() }

func (s *Session) config(scopes []string) *oauth2.Config {
	style := oauth2.AuthStyleInParams
	if s.ClientSecret != "" {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{ClientID: s.ClientID, ClientSecret: s.ClientSecret, Scopes: scopes,
		Endpoint: oauth2.Endpoint{TokenURL: s.TokenURL, AuthStyle: style}}
}

// accept takes an answer of the token endpoint in.
func (s *Session) accept(tok *oauth2.Token) (*Session, *credential.Token, error) {
	if len(tok.AccessToken) > maxSecret || len(tok.RefreshToken) > maxSecret {
		return nil, nil, finding("login.failed", s.Issuer, "the issuer gave a token without end", "", nil)
	}
	t, err := credential.ParseToken(s.Issuer, tok.AccessToken)
	if err != nil {
		return nil, nil, err
	}
	if tok.RefreshToken != "" {
		s.RefreshToken = tok.RefreshToken
	}
	return s, t, nil
}

// Refresh gets a token for an audience ("": as at login) with scopes (none: as
// at login). The issuer may give a new refresh token: save the session after.
func (s *Session) Refresh(ctx context.Context, client *http.Client, audience string, scopes []string) (*credential.Token, error) {
	if s.RefreshToken == "" {
		return nil, finding("login.no-refresh", s.Issuer, "the issuer gave no refresh token", "grid auth login --issuer "+s.Issuer, nil)
	}
	if audience == "" {
		audience = s.Audience
	}
	params := audienceParams(audience)
	tok, err := s.post(ctx, bounded(client), s.refreshing(params, scopes))
	if err != nil && params.refused(err) {
		tok, err = s.post(ctx, bounded(client), s.refreshing(params.plain(), scopes))
	}
	if err != nil {
		mend := "grid auth login --issuer " + s.Issuer
		if code(err) == "invalid_scope" {
			mend += " --scope " + strings.Join(scopes, " --scope ")
		}
		return nil, finding("login.refresh", s.Issuer, "the issuer gave no new token", mend, err, s.RefreshToken, s.ClientSecret)
	}
	_, t, err := s.accept(tok)
	return t, err
}

// refreshing is the form of a request for a token (RFC 6749 section 6).
func (s *Session) refreshing(params target, scopes []string) url.Values {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.RefreshToken}}
	maps.Copy(form, params)
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	return form
}

// post asks the token endpoint (RFC 6749 section 6). oauth2's own refreshing
// cannot pass an audience or narrower scopes.
func (s *Session) post(ctx context.Context, client *http.Client, form url.Values) (*oauth2.Token, error) {
	if s.ClientSecret == "" {
		form.Set("client_id", s.ClientID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if s.ClientSecret != "" {
		req.SetBasicAuth(url.QueryEscape(s.ClientID), url.QueryEscape(s.ClientSecret))
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		AccessToken  string `json:"access_token"`
		RefreshToken string `json:"refresh_token"`
		Error        string `json:"error"`
		Description  string `json:"error_description"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer)
	if resp.StatusCode/100 != 2 || answer.Error != "" {
		return nil, &oauth2.RetrieveError{Response: resp, ErrorCode: answer.Error, ErrorDescription: answer.Description}
	}
	if err != nil {
		return nil, errors.New("the answer of the token endpoint is not the JSON expected")
	}
	return &oauth2.Token{AccessToken: answer.AccessToken, RefreshToken: answer.RefreshToken}, nil
}

// Store keeps sessions in a directory, one file per issuer.
type Store struct{ Dir string }

func (st Store) path(issuer string) string {
	sum := sha256.Sum256([]byte(strings.TrimSuffix(issuer, "/")))
	return filepath.Join(st.Dir, hex.EncodeToString(sum[:12])+".json")
}

// Save writes a session.
func (st Store) Save(s *Session) error {
	if err := os.MkdirAll(st.Dir, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	defer clear(text)
	return credential.WriteSecret(st.path(s.Issuer), text)
}

// Delete forgets the login at an issuer; none is no error.
func (st Store) Delete(issuer string) error {
	err := os.Remove(st.path(issuer))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List reads all sessions, by issuer. Files others may read are refused.
func (st Store) List(env credential.Env) ([]*Session, error) {
	entries, err := os.ReadDir(st.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*Session
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		text, err := credential.ReadSecret(env, filepath.Join(st.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		s := &Session{}
		err = json.Unmarshal(text, s)
		clear(text)
		if err != nil {
			return nil, finding("login.malformed", filepath.Join(st.Dir, e.Name()), "this stored login cannot be read", "remove the file and log in again", nil)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Session) int { return strings.Compare(a.Issuer, b.Issuer) })
	return all, nil
}
