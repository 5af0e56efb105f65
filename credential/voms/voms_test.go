package voms

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sample is an extension written by voms-proxy-fake of Debian.
func sample(t testing.TB) []byte {
	t.Helper()
	der, err := os.ReadFile("testdata/acseq.der")
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestParse(t *testing.T) {
	acs, err := parseSequence(sample(t))
	if err != nil || len(acs) != 1 {
		t.Fatalf("%d, %v", len(acs), err)
	}
	ac := acs[0]
	if ac.VO != "edu.example.org" || ac.Server != "voms.example.org:15000" || ac.Issuer != "/DC=org/DC=example/CN=voms.example.org" ||
		ac.HolderIssuer != "/DC=org/DC=example/CN=Example Grid CA" || len(ac.Certs) != 1 || ac.NotAfter.Sub(ac.NotBefore) != 24*time.Hour {
		t.Errorf("%+v", ac)
	}
	if want := []string{"/edu.example.org", "/edu.example.org/students"}; !slices.Equal(ac.FQANs, want) {
		t.Errorf("FQANs %v", ac.FQANs)
	}
	lsc, err := parseLSC("x", strings.NewReader("/CN=other\n/CN=CA\n----- NEXT CHAIN -----\n/DC=org/DC=example/CN=voms.example.org\n/DC=org/DC=example/CN=Example Grid CA\n"))
	if err != nil || !lsc.Match(ac.Certs) {
		t.Errorf("the LSC file does not match: %v", err)
	}
	for n := range len(ac.Raw) { // every cut is an error, not a panic
		if _, err := Parse(ac.Raw[:n]); err == nil {
			t.Fatalf("cut to %d bytes it parses", n)
		}
	}
}

func TestFilesWithErrors(t *testing.T) {
	for text, want := range map[string]string{
		`"vo" "h" "0" "/CN=h" "vo"`: "f:1: port",
		"\n\"vo\" \"h\"":            "f:2: 2 fields",
		"# only a comment\n\"a b":   "f:2: quote",
	} {
		if _, err := parseVomses("f", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := parseLSC("f", strings.NewReader("/CN=a\nCN=b\n")); err == nil || !strings.Contains(err.Error(), "f:2:") {
		t.Errorf("LSC: %v", err)
	}
}

// restServer speaks the HTTP of VOMS 2.
func restServer(t *testing.T, h http.HandlerFunc) (Server, *Client) {
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	host, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	n, _ := strconv.Atoi(port)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return Server{Host: host, Port: n, VO: "edu.example.org"}, &Client{Dial: func(ctx context.Context, network, addr string) (Conn, error) {
		c, err := (&tls.Dialer{Config: &tls.Config{RootCAs: pool}}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return c.(*tls.Conn), nil
	}}
}

func TestREST(t *testing.T) {
	acs, _ := parseSequence(sample(t))
	var asked string
	s, c := restServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RequestURI()
		fmt.Fprintf(w, "<voms><ac>%s</ac><warning><code>WARN_SHORT</code><message>shorter</message></warning></voms>", base64.StdEncoding.EncodeToString(acs[0].Raw))
	})
	a, err := c.Fetch(t.Context(), []Server{s}, Request{FQANs: []string{"/edu.example.org/a", "/edu.example.org/Role=b"}, Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if want := "/generate-ac?lifetime=3600&fqans=/edu.example.org/a,/edu.example.org/Role=b"; asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
	if a.AC.VO != "edu.example.org" || !slices.Equal(a.Warnings, []string{"shorter"}) {
		t.Errorf("%s %q", a.AC.VO, a.Warnings)
	}
}

func TestRESTRefusal(t *testing.T) {
	s, c := restServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<voms><error><code>NoSuchUser</code><message>User unknown to this VO.</message></error></voms>")
	})
	_, err := c.Fetch(t.Context(), []Server{s}, Request{})
	if e, ok := errors.AsType[*ServerError](err); !ok || e.Code != "NoSuchUser" || e.Said != "User unknown to this VO." {
		t.Errorf("got %v", err)
	}
}

// An IAM's refusal of strangers is no XML.
func TestRESTStranger(t *testing.T) {
	s, c := restServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"error":"access_denied"}`)
	})
	_, err := c.Fetch(t.Context(), []Server{s}, Request{})
	if e, ok := errors.AsType[*ServerError](err); !ok || e.Code != "403" || !strings.Contains(e.Said, "403 Forbidden: your certificate is not registered") {
		t.Errorf("got %v", err)
	}
}

// A server that says nothing does not hold up the next.
func TestSilentServer(t *testing.T) {
	acs, _ := parseSequence(sample(t))
	good, c := restServer(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "<voms><ac>%s</ac></voms>", base64.StdEncoding.EncodeToString(acs[0].Raw))
	})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	bad := Server{Host: "127.0.0.1", Port: silent.Addr().(*net.TCPAddr).Port, VO: "edu.example.org"}
	c.Stagger = 50 * time.Millisecond
	a, err := c.Fetch(t.Context(), []Server{bad, good}, Request{})
	if err != nil || a.Server.Port != good.Port {
		t.Fatalf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Fetch(ctx, []Server{bad}, Request{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
