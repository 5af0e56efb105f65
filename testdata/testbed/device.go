package testbed

import (
	"cmp"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// DeviceIssuer is an OpenID Connect issuer on loopback with the device flow
// (RFC 8628), refresh tokens that change at each use, and registration of
// clients (RFC 7591). It grants what is asked for.
type DeviceIssuer struct {
	URL    string
	CACert string // file with the certificate to trust
	Client *http.Client

	Polls     int    // times it answers "authorization_pending" first
	Deny      string // error it answers in the end: "access_denied", "expired_token"
	DenyStart string // error it answers when the flow is to begin
	NoDevice  bool   // offers no device flow
	NoReg     bool   // lets nobody register
	Target    string // error it answers where a resource is asked for (RFC 8707); "": it passes over that
	Resources bool   // gives tokens for the resource that is asked for, and passes over "audience"
	Always    string // audience of every token, whatever is asked for; "": as asked
	Life      time.Duration
	Before    func(*http.Request) // is told of each request before it is answered; nil: nobody is

	mu      sync.Mutex
	signer  *Issuer
	polls   int
	flows   int
	refresh string
	Scopes  string // granted at the device flow
	Asked   []string
}

// StartDeviceIssuer starts one; signer nil: with a key of its own.
func StartDeviceIssuer(t testing.TB, signer *Issuer) *DeviceIssuer {
	t.Helper()
	d := &DeviceIssuer{Life: time.Hour}
	srv := httptest.NewTLSServer(d)
	t.Cleanup(srv.Close)
	d.URL, d.Client = srv.URL, srv.Client()
	d.CACert = filepath.Join(t.TempDir(), "issuer.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(d.CACert, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if d.signer = signer; signer == nil {
		var err error
		if d.signer, err = OpenIssuer(t.TempDir(), d.URL); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// Requests are those at the token endpoint: grant type, audience, scopes.
func (d *DeviceIssuer) Requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.Asked)
}

// Flows is how many device flows were begun.
func (d *DeviceIssuer) Flows() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flows
}

// RefreshToken is the one that is good at present.
func (d *DeviceIssuer) RefreshToken() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refresh
}

// SetLife changes how long new tokens live.
func (d *DeviceIssuer) SetLife(life time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Life = life
}

// ServeHTTP implements http.Handler.
func (d *DeviceIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.Before != nil {
		d.Before(r)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		d.discovery(w)
	case "/register":
		reply(w, http.StatusCreated, map[string]any{"client_id": "registered-client"})
	case "/device":
		if d.DenyStart != "" {
			refuse(w, d.DenyStart, "")
			return
		}
		if d.Target != "" && r.FormValue("resource") != "" {
			refuse(w, d.Target, "")
			return
		}
		d.flows++
		d.polls, d.Scopes = 0, r.FormValue("scope")
		reply(w, http.StatusOK, map[string]any{"device_code": "dc", "user_code": "ABCD-EFGH", "verification_uri": d.URL + "/go",
			"expires_in": 300, "interval": 1})
	case "/token":
		d.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (d *DeviceIssuer) discovery(w http.ResponseWriter) {
	doc := map[string]any{"issuer": d.URL, "token_endpoint": d.URL + "/token", "authorization_endpoint": d.URL + "/authorize",
		"jwks_uri": d.URL + "/jwks", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "scopes_supported": []string{"openid", "offline_access", "compute.read", "compute.create", "compute.modify", "compute.cancel"},
		"grant_types_supported": []string{"urn:ietf:params:oauth:grant-type:device_code", "refresh_token"}}
	if !d.NoDevice {
		doc["device_authorization_endpoint"] = d.URL + "/device"
	}
	if !d.NoReg {
		doc["registration_endpoint"] = d.URL + "/register"
	}
	reply(w, http.StatusOK, doc)
}

func (d *DeviceIssuer) token(w http.ResponseWriter, r *http.Request) {
	scope, aud := r.FormValue("scope"), r.FormValue("audience")
	if d.Resources {
		aud = r.FormValue("resource")
	}
	d.Asked = append(d.Asked, r.FormValue("grant_type")+" "+aud+" "+scope)
	if r.FormValue("grant_type") == "refresh_token" {
		if d.Target != "" && r.FormValue("resource") != "" {
			refuse(w, d.Target, "")
			return
		}
		if d.refresh == "" || r.FormValue("refresh_token") != d.refresh {
			refuse(w, "invalid_grant", "the refresh token was used before")
			return
		}
		for s := range strings.FieldsSeq(scope) {
			if !strings.Contains(" "+d.Scopes+" ", " "+s+" ") {
				refuse(w, "invalid_scope", s+" was not granted")
				return
			}
		}
	} else if d.polls++; d.polls <= d.Polls {
		refuse(w, "authorization_pending", "")
		return
	} else if d.Deny != "" {
		refuse(w, d.Deny, "")
		return
	}
	if scope == "" {
		scope = d.Scopes
	}
	extra := map[string]any{"scope": scope}
	if aud = cmp.Or(d.Always, aud); aud != "" {
		extra["aud"] = aud
	}
	text, err := d.signer.Token("alice", d.Life, extra)
	if err != nil {
		refuse(w, "server_error", err.Error())
		return
	}
	d.refresh = fmt.Sprintf("refresh-%d", time.Now().UnixNano())
	reply(w, http.StatusOK, map[string]any{"access_token": text, "token_type": "Bearer", "refresh_token": d.refresh, "expires_in": int(d.Life.Seconds())})
}

func refuse(w http.ResponseWriter, code, said string) {
	reply(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": said})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
