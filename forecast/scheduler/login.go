package scheduler

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"gridbroker/foreign"
)

// Login is where people who look at the page sign in with a browser: the authorization
// code flow of OpenID Connect Core 1.0, section 3.1, with PKCE (RFC 7636).
type Login struct {
	Issuer     string `toml:"issuer"`
	Client     string `toml:"client"`      // as which the scheduler is registered there
	SecretFile string `toml:"secret_file"` // of a confidential client
	URL        string `toml:"url"`         // of this page, as browsers see it
	Secret     string `toml:"-"`           // what is in SecretFile
}

// Callback is where the issuer sends browsers back to; it is registered there.
func (l *Login) Callback() string { return l.URL + backPath }

// Paths of signing in and out, and for how long a browser is known, or on its way.
const (
	inPath   = "/login"
	backPath = "/login/back"
	outPath  = "/logout"

	sessionLife = 8 * time.Hour
	visitLife   = 10 * time.Minute
)

// Names of the cookies, and of what is sealed in them.
const (
	sessionCookie = "grid_session"
	visitCookie   = "grid_login"
)

// session is somebody who has signed in: what he may see is looked up at every request.
type session struct {
	Subject string
	Until   int64 // Unix time
}

// visit is somebody who was sent to the issuer.
type visit struct {
	State, Nonce, Verifier string
	Until                  int64
}

// porch is where people sign in and out. Cookies hold all that is known of them, sealed with
// the key that replicas share.
type porch struct {
	*API
	strangers *template.Template
}

func newPorch(a *API, strangers *template.Template) porch {
	return porch{a, strangers}
}

// serve adds the ways in and out, where the operator has set up a login.
func (p porch) serve(mux *http.ServeMux) {
	if p.Login == nil {
		return
	}
	mux.HandleFunc("GET "+inPath, p.in)
	mux.HandleFunc("GET "+backPath, p.back)
	mux.HandleFunc("GET "+outPath, func(w http.ResponseWriter, r *http.Request) {
		p.cookie(w, sessionCookie, nil, 0)
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
}

// signedIn is who has signed in with this browser. That counts for looking at the page alone:
// what changes anything wants a credential that no other site can have a browser send.
func (a *API) signedIn(r *http.Request) (Person, bool) {
	var s session
	if a.Login == nil || r.Method != http.MethodGet || r.URL.Path != "/" && r.URL.Path != "/v1/events" || !a.opened(r, sessionCookie, &s) || a.S.now().Unix() >= s.Until {
		return Person{}, false
	}
	return a.Door.rights(Person{Subject: s.Subject, Expires: time.Unix(s.Until, 0), Browser: true}), true
}

// opened reads a sealed cookie.
func (a *API) opened(r *http.Request, name string, into any) bool {
	c, err := r.Cookie(name)
	if err != nil {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return false
	}
	text, err := a.S.store.seal.Open(name, sealed)
	return err == nil && json.Unmarshal(text, into) == nil
}

// cookie gives a browser something to keep; without a life it forgets it.
func (p porch) cookie(w http.ResponseWriter, name string, value any, life time.Duration) {
	c := &http.Cookie{Name: name, Path: "/", HttpOnly: true, Secure: strings.HasPrefix(p.Login.URL, "https:"), SameSite: http.SameSiteLaxMode, MaxAge: int(life / time.Second)}
	if life == 0 {
		c.MaxAge = -1
	} else {
		text, _ := json.Marshal(value) // of strings and a number
		c.Value = base64.RawURLEncoding.EncodeToString(p.S.store.seal.Close(name, text))
	}
	http.SetCookie(w, c)
}

// provider is the issuer, and what a code is exchanged with.
func (p porch) provider(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	at, _, err := p.Door.provider(ctx, p.Login.Issuer)
	if err != nil {
		return nil, nil, err
	}
	return at, &oauth2.Config{ClientID: p.Login.Client, ClientSecret: p.Login.Secret, Endpoint: at.Endpoint(), RedirectURL: p.Login.Callback(), Scopes: []string{oidc.ScopeOpenID}}, nil
}

// in sends a browser to the issuer.
func (p porch) in(w http.ResponseWriter, r *http.Request) {
	_, conf, err := p.provider(r.Context())
	if err != nil {
		p.away(w, err)
		return
	}
	v := visit{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Until: p.S.now().Add(visitLife).Unix()}
	p.cookie(w, visitCookie, v, visitLife)
	http.Redirect(w, r, conf.AuthCodeURL(v.State, oidc.Nonce(v.Nonce), oauth2.S256ChallengeOption(v.Verifier)), http.StatusSeeOther)
}

// away tells that the issuer cannot be asked.
func (p porch) away(w http.ResponseWriter, err error) {
	p.Log.Warn("nobody can sign in to the page: its issuer cannot be asked (grid scheduler doctor asks it, too)", "issuer", p.Login.Issuer, "error", err)
	p.stranger(w, http.StatusBadGateway, "The issuer "+p.Login.Issuer+" does not answer. Try again later.")
}

// back takes a browser that the issuer sent back.
func (p porch) back(w http.ResponseWriter, r *http.Request) {
	var v visit
	known := p.opened(r, visitCookie, &v) && p.S.now().Unix() < v.Until
	p.cookie(w, visitCookie, nil, 0)
	q := r.URL.Query()
	switch {
	case !known || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(v.State)) != 1:
		p.stranger(w, http.StatusBadRequest, "This browser was not on its way to sign in, or took too long. Begin anew.")
		return
	case q.Get("error") != "":
		p.stranger(w, http.StatusForbidden, "The issuer has not let you in: "+strings.TrimSpace(q.Get("error")+" "+q.Get("error_description")))
		return
	}
	subject, err := p.exchange(r.Context(), q.Get("code"), v)
	if errors.Is(err, errIssuerAway) {
		p.away(w, err)
		return
	}
	if err != nil {
		p.Log.Warn("somebody could not sign in to the page: what its issuer answered is not good (grid scheduler doctor asks it, too)", "issuer", p.Login.Issuer, "from", r.RemoteAddr, "error", err)
		p.stranger(w, http.StatusForbidden, "The issuer's answer is not good: signing in has failed. The scheduler's log tells why.")
		return
	}
	p.cookie(w, sessionCookie, session{subject, p.S.now().Add(sessionLife).Unix()}, sessionLife)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// exchange gets an ID token for a code, and tells of whom it is: as tokens of the same issuer do.
func (p porch) exchange(ctx context.Context, code string, v visit) (subject string, err error) {
	at, conf, err := p.provider(ctx)
	if err != nil {
		return "", errors.Join(errIssuerAway, err)
	}
	client := &http.Client{Timeout: issuerTime, Transport: p.Door.issuerTransport(), CheckRedirect: toNobody}
	defer client.CloseIdleConnections()
	token, err := conf.Exchange(oidc.ClientContext(ctx, client), code, oauth2.VerifierOption(v.Verifier))
	if err != nil {
		return "", unanswered(err, complaint(err, p.Login.Secret))
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return "", errors.New("there is no ID token in the answer")
	}
	id, err := verified(ctx, at, &oidc.Config{ClientID: p.Login.Client, Now: p.S.now}, raw)
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(v.Nonce)) != 1 {
		return "", fmt.Errorf("the ID token of %s is of another visit", id.Subject)
	}
	return subjectOf(id)
}

// stranger tells somebody with a browser how to get in.
func (p porch) stranger(w http.ResponseWriter, code int, why string) {
	var out bytes.Buffer
	if err := p.strangers.Execute(&out, struct {
		Why   string
		Login *Login
	}{why, p.Login}); err != nil {
		p.Log.Error("page", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	w.Write(foreign.Page(out.Bytes()))
}
