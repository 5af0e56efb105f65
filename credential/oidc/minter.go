package oidc

import (
	"cmp"
	"context"
	"net/http"

	"gridbroker/credential"
)

// Minter gets tokens from the places the user has set up: an oidc-agent
// account first, then the stored logins, in turn.
type Minter struct {
	Env   credential.Env
	Store Store
	HTTP  *http.Client
	Agent Agent // Socket "": none
}

// Mint implements credential.Minter.
func (m *Minter) Mint(ctx context.Context, audience string, scopes []string) (*credential.Token, error) {
	if m.Agent.Socket != "" && (m.Agent.Account != "" || m.Agent.Issuer != "") {
		return m.Agent.Mint(ctx, audience, scopes)
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
	var first error
	for _, s := range sessions {
		t, err := s.Refresh(ctx, m.HTTP, audience, scopes)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		return t, m.Store.Save(s)
	}
	if first != nil {
		return nil, first
	}
	return nil, finding("login.absent", audience, "there is no login to get tokens from", "grid auth login --issuer URL", nil)
}
