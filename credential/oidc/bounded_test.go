package oidc_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"gridbroker/credential/oidc"
)

// A client without a transport of its own shows an issuer nothing: the default transport would, with no bound of what comes back.
func TestNoIssuerIsAskedByTheDefaultTransport(t *testing.T) {
	var asked atomic.Int32
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"access_token": "a.b.c", "token_type": "Bearer"}`))
	}))
	defer issuer.Close()
	for name, client := range map[string]*http.Client{"no client": nil, "no transport": {}} {
		s := &oidc.Session{Issuer: issuer.URL, TokenURL: issuer.URL, ClientID: "grid", RefreshToken: "secret"}
		_, err := s.Refresh(t.Context(), client, "", nil)
		if n := asked.Swap(0); n != 0 || err == nil || !strings.Contains(err.Error(), "no new token") {
			t.Errorf("%s: asked %d times, %v", name, n, err)
		}
	}
}
