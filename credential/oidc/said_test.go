package oidc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"gridbroker/credential/oidc"
)

// An issuer that says back what it was shown, as some do that do not take a refresh token, is told of without it: as it is, as forms
// have it, and where the words are cut in its middle.
func TestIssuerSaysSecretsBack(t *testing.T) {
	const clientSecret = "hush+hush/hush"
	for name, before := range map[string]int{"at once": 0, "where words are cut": 985} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var srv *httptest.Server
			srv = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch r.URL.Path {
				case "/.well-known/openid-configuration":
					json.NewEncoder(w).Encode(map[string]any{"issuer": srv.URL, "token_endpoint": srv.URL + "/token", "device_authorization_endpoint": srv.URL + "/device"})
				case "/device":
					fmt.Fprintf(w, `{"device_code":"secret-device/code","user_code":"A","verification_uri":%q,"interval":1}`, srv.URL)
				default:
					shown := r.FormValue("refresh_token") + r.FormValue("device_code")
					_, password, _ := r.BasicAuth()
					secret, _ := url.QueryUnescape(password)
					w.WriteHeader(http.StatusBadRequest)
					json.NewEncoder(w).Encode(map[string]any{"error": "invalid_grant", "error_description": fmt.Sprint(strings.Repeat(".", before), "Invalid: ", shown, " ", url.QueryEscape(shown), " ", secret, " ", password)})
				}
			}))
			t.Cleanup(srv.Close)
			s := &oidc.Session{Issuer: srv.URL, TokenURL: srv.URL + "/token", ClientID: "grid", ClientSecret: clientSecret, RefreshToken: "secret-refresh/token+"}
			l := oidc.Login{HTTP: srv.Client(), Issuer: srv.URL, ClientID: "grid", ClientSecret: clientSecret, Show: func(_, _, _ string) {}}
			_, renewed := s.Refresh(t.Context(), srv.Client(), "", nil)
			_, _, begun := l.Run(t.Context())
			for what, err := range map[string]error{"login.refresh": renewed, "login.failed": begun} {
				if !hasID(err, what) {
					t.Errorf("%s: %v", what, err)
					continue
				}
				text := err.Error()
				if strings.Contains(text, "secret-") || strings.Contains(text, "hush") || !strings.Contains(text, "Invalid: [our secret]") {
					t.Errorf("%s: %s", what, text[max(0, len(text)-200):])
				}
			}
		})
	}
}
