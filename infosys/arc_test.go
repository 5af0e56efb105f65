package infosys

import (
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/glue"
	"gridbroker/testdata/testbed"
)

// arcServer serves handler over TLS; the opener trusts it.
func arcServer(t *testing.T, handler http.HandlerFunc) (base string, o *Opener) {
	t.Helper()
	srv := httptest.NewTLSServer(handler)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), ca, 0o644); err != nil {
		t.Fatal(err)
	}
	trust, err := credential.LoadTrust(credential.Env{}, credential.Options{CertDir: dir, CAs: credential.GridCA})
	if err != nil {
		t.Fatal(err)
	}
	return srv.URL + "/arex", NewOpener(Env{
		Dialer: func(bool) (*credential.Dialer, error) { return &credential.Dialer{Trust: trust, Guarded: true}, nil },
		Token:  func(context.Context, string) (string, error) { return "secret", nil },
	})
}

func TestARCSource(t *testing.T) {
	for file, kind := range map[string]string{"ce2.info.xml": "application/xml", "ce2.info.json": "application/json; charset=utf-8"} {
		base, o := arcServer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/arex/rest/1.0/info" || r.Header.Get("Accept") != "application/xml" || r.Header.Get("Authorization") != "Bearer secret" {
				http.Error(w, "what?", http.StatusBadRequest)
				return
			}
			text, err := os.ReadFile("../testdata/arc/" + file)
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(text)
		})
		src, err := o.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		rs, err := src.Resources(t.Context())
		if err != nil || len(rs) != 4 {
			t.Errorf("%s: %d resources, %v", file, len(rs), err)
		}
	}
}

func TestARCSourceFaults(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Operation is not allowed", http.StatusForbidden)
		}, "HTTP 403 Forbidden: Operation is not allowed"},
		"html":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html><body>Hi</body></html>") }, "content type text/html"},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) { xmlAnswer(w, "<InfoRoot><Domains>") }, "information document: XML syntax error"},
		"empty":     {func(w http.ResponseWriter, _ *http.Request) { xmlAnswer(w, "") }, "no AdminDomain"},
		"other":     {func(w http.ResponseWriter, _ *http.Request) { xmlAnswer(w, "<a/>") }, "no AdminDomain"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.invalid/", http.StatusFound)
		}, "HTTP 302 Found"},
	} {
		base, o := arcServer(t, c.handler)
		src, err := o.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		_, err = src.Resources(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), base) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q and the URL", name, err, c.want)
		}
	}
}

func xmlAnswer(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, text)
}

// The certificate of the server is verified.
func TestARCSourceUntrusted(t *testing.T) {
	base, _ := arcServer(t, func(http.ResponseWriter, *http.Request) {})
	src, err := NewOpener(Env{}).Open(base)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := src.Resources(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
}

// Real A-REX, every rendering: REST, GLUE 2.0 and ARC's schema by LDAP.
func TestARCTestbed(t *testing.T) {
	tb := testbed.NeedARC(t)
	env := credential.Env{Getenv: func(string) string { return "" }}
	opts := credential.Options{CertDir: tb.CADir, Proxy: tb.Proxy("alice")}
	trust, err := credential.LoadTrust(env, opts)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := credential.FindX509(env, opts)
	if err != nil {
		t.Fatal(err)
	}
	o := NewOpener(Env{Dialer: func(bool) (*credential.Dialer, error) {
		return &credential.Dialer{Trust: trust, Cert: proxy, Guarded: true}, nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i, base := range tb.All() {
		queues := map[string]string{}
		for _, raw := range []string{base, tb.LDAP[i] + "/o=glue", tb.LDAP[i] + "/Mds-Vo-name=local,o=grid", tb.LDAP[i]} {
			src, err := o.Open(raw)
			if err != nil {
				t.Fatal(err)
			}
			rs, err := src.Resources(ctx)
			if err != nil || len(rs) == 0 {
				t.Errorf("%s: %d resources, %v", raw, len(rs), err)
				continue
			}
			var names []string
			for _, r := range rs {
				if r.LRMS != "fork" || !r.TotalSlots.OK || !r.MaxWallTime.OK || r.Site == "" {
					t.Errorf("%s: %s: LRMS %q, slots %v, wall %v, site %q", raw, r.ID, r.LRMS, r.TotalSlots, r.MaxWallTime, r.Site)
				}
				if r.ViewOf == "" {
					names = append(names, r.Queue)
				}
				if strings.HasPrefix(raw, "https:") && (len(r.Endpoints) == 0 || r.Endpoints[0].Interface != glue.InterfaceARCREST) {
					t.Errorf("%s: %s: endpoints %v", raw, r.ID, r.Endpoints)
				}
			}
			slices.Sort(names)
			queues[strings.Join(names, " ")] = raw
		}
		if len(queues) != 1 {
			t.Errorf("%s: the renderings have different queues: %v", base, queues)
		}
	}
}
