package oidc

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"gridbroker/credential"
)

// Minter gets tokens from the places the user has set up: an oidc-agent
// account first, then that of the stored logins which gives a token for the
// audience.
type Minter struct {
	Env   credential.Env
	Store Store
	HTTP  *http.Client
	Agent Agent // Socket "": none
	// Used hears whence a token for an audience ("": as at login) comes; nil: nobody wants to know.
	Used func(from, audience string)
}

// Mint implements credential.Minter.
func (m *Minter) Mint(ctx context.Context, audience string, scopes []string) (*credential.Token, error) {
	if m.Agent.Socket != "" && (m.Agent.Account != "" || m.Agent.Issuer != "") {
		t, err := m.Agent.Mint(ctx, audience, scopes)
		if err == nil {
			m.say("oidc-agent", audience)
		}
		return t, err
	}
	if sessions, err := m.Store.List(m.Env); err != nil || len(sessions) == 0 {
		return nil, cmp.Or(err, error(finding("login.absent", audience, "there is no login to get tokens from", "grid auth login --issuer URL", nil)))
	}
	unlock, err := m.Store.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	sessions, err := m.Store.List(m.Env) // as the last who had the lock left them
	if err != nil {
		return nil, err
	}
	return m.fitting(ctx, sessions, audience, scopes)
}

// fitting is the token of the first login that gives one for the audience: those made for it are asked first. Where all
// that is given is for others it is the first of that, and the error the first there was.
func (m *Minter) fitting(ctx context.Context, sessions []*Session, audience string, scopes []string) (other *credential.Token, err error) {
	slices.SortStableFunc(sessions, func(a, b *Session) int { return cmp.Compare(b.meant(audience), a.meant(audience)) })
	from := ""
	for _, s := range sessions {
		t, no := s.Refresh(ctx, m.HTTP, audience, scopes)
		if no == nil {
			no = m.Store.Save(s) // it may have another refresh token now
		}
		switch {
		case no != nil:
			err = cmp.Or(err, no)
			continue
		case audience == "" || t.For(audience):
			m.say("the login at "+s.Issuer, audience)
			return t, nil
		case other == nil:
			other, from = t, "the login at "+s.Issuer
		}
	}
	if other == nil {
		return nil, err
	}
	m.say(from, audience)
	return other, nil
}

func (m *Minter) say(from, audience string) {
	if m.Used != nil {
		m.Used(from, audience)
	}
}

// meant is 1 for a login that was made for an audience, 0 for others.
func (s *Session) meant(audience string) int {
	if audience != "" && s.Audience != "" && credential.AudienceOf(s.Audience) == credential.AudienceOf(audience) {
		return 1
	}
	return 0
}
