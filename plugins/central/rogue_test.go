package central_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
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
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/central"
)

// as is the back-end of somebody with credentials, and the URL of a scheduler that
// answers like this.
func as(t *testing.T, set func(url string) *credential.Set, answer http.HandlerFunc) (*central.Backend, string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	back, err := central.Open(plugins.Config{Now: time.Now, Credentials: func() (*credential.Set, error) { return set(server.URL), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { back.(*central.Backend).Close() })
	return back.(*central.Backend), strings.Replace(server.URL, "http", "grid+http", 1)
}

func tokenOf(t *testing.T, subject, audience string) *credential.Token {
	t.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	raw := part(map[string]string{"alg": "ES256"}) + "." + part(map[string]any{"sub": subject, "iss": "https://idp.example.org", "aud": audience, "exp": time.Now().Add(time.Hour).Unix()}) + ".c2lnbmF0dXJl"
	token, err := credential.ParseToken("test", raw)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A token that a scheduler says back, as it is or in the other ways that JSON has,
// is neither shown nor kept.
func TestTokenIsNotSaidBack(t *testing.T) {
	written := map[string]func(string) string{
		"plain":   func(raw string) string { return raw },
		"escaped": func(raw string) string { return strings.ReplaceAll(raw, "e", `\u0065`) },
	}
	for name, write := range written {
		var raw string
		b, url := as(t, func(url string) *credential.Set {
			token := tokenOf(t, "alice", url)
			raw = token.Raw()
			return &credential.Set{Token: token}
		}, func(w http.ResponseWriter, r *http.Request) {
			said := write(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			if said == "" {
				t.Error("no token was shown")
			}
			if r.URL.Path == "/v1/jobs" {
				w.WriteHeader(http.StatusConflict)
				fmt.Fprintf(w, `{"detail":"not with %s"}`, said)
				return
			}
			fmt.Fprintf(w, `{"jobs":[{"id":"1","plugins":"held","reason":"%s","node":"%s","native":"%s"}]}`, said, said, said)
		})
		st := b.Status(t.Context(), []plugins.Handle{{Interface: central.Interface, Endpoint: url, ID: "1"}})[0]
		err := b.Submit(t.Context(), requests(url, "a"), nil)[0].Err
		if said := fmt.Sprintf("%+v %v", st, err); strings.Contains(said, raw) || !strings.Contains(said, "[our token]") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// Who has another credential than his job was submitted with is told so: the
// scheduler shows him no such job, but it is neither lost nor cancelled nor cleaned.
func TestJobsOfOurOtherCredential(t *testing.T) {
	subject := "alice"
	answer := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/jobs":
			io.WriteString(w, `{"jobs":[{"key":"a","id":"1"}]}`)
		case "/v1/jobs/status":
			io.WriteString(w, `{"jobs":[]}`)
		case "/v1/jobs/cancel":
			io.WriteString(w, `{}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}
	who := func(url string) *credential.Set { return &credential.Set{Token: tokenOf(t, subject, url)} }
	b, url := as(t, who, answer)
	r := b.Submit(t.Context(), requests(url, "a"), nil)[0]
	if r.Err != nil || r.Handle.Owner != "alice of https://idp.example.org" {
		t.Fatalf("%+v", r)
	}
	hs := []plugins.Handle{r.Handle}
	if st := b.Status(t.Context(), hs)[0]; st.State != plugins.Lost {
		t.Errorf("of the same user: %+v", st)
	}
	b.Close()
	subject = "somebody else"
	if st := b.Status(t.Context(), hs)[0]; st.State != plugins.Unknown || kindOf(st.Err) != plugins.Credential {
		t.Errorf("%+v", st)
	}
	for what, err := range map[string]error{"cancelled": b.Cancel(t.Context(), hs)[0], "cleaned": b.Clean(t.Context(), hs)[0]} {
		if kindOf(err) != plugins.Credential {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Who listens at a port of this machine gets no delegation: nobody has shown that
// he is the scheduler.
func TestNoDelegationInTheOpen(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "alice"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	x, err := credential.NewX509([]*x509.Certificate{cert}, key, "test")
	if err != nil {
		t.Fatal(err)
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	b, url := as(t, func(string) *credential.Set { return &credential.Set{X509: x} }, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		json.NewEncoder(w).Encode(map[string]any{"id": "1", "csr": "-----BEGIN CERTIFICATE REQUEST-----\n" + base64.StdEncoding.EncodeToString(csr) + "\n-----END CERTIFICATE REQUEST-----\n"})
	})
	b.Submit(t.Context(), requests(url, "a"), nil)
	if !slices.Equal(asked, []string{"/v1/jobs"}) {
		t.Errorf("asked %v", asked)
	}
}

// One odd file of a job keeps none of the others back, and there are not more than
// can be meant.
func TestOddFilesAmongOthers(t *testing.T) {
	b, url := keeping(t, "one", "../out", "one/x", "d/two", "d", "link/x", "three")
	dir := t.TempDir()
	r := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: plugins.Handle{Endpoint: url, ID: "x"}, Dir: dir}}, nil)[0]
	if r.Err == nil || !slices.Equal(r.Files, []string{"one", "d/two", "link/x", "three"}) {
		t.Errorf("%+v", r)
	}
	if parts, _ := filepath.Glob(dir + "/*part*"); len(parts) > 0 {
		t.Errorf("left %q", parts)
	}
	many := make([]string, 100_001)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	b, url = keeping(t, many...)
	if r := b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: plugins.Handle{Endpoint: url, ID: "x"}, Dir: dir}}, nil)[0]; r.Err == nil || len(r.Files) > 0 {
		t.Errorf("%d files, %v", len(r.Files), r.Err)
	}
}

// An input file that has no end, as one that somebody writes to, is an error.
func TestInputWithoutEnd(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Fatal(err)
	}
	b, url := against(t, func(w http.ResponseWriter, r *http.Request) { t.Error("it was sent") })
	q := requests(url, "a")
	q[0].Endpoint = glue.Endpoint{URL: url, Interface: central.Interface}
	q[0].Job.InputSandbox = []jdl.InputFile{{Source: "/dev/zero", Name: "zero"}}
	if err := b.Submit(t.Context(), q, nil)[0].Err; kindOf(err) != plugins.Refused {
		t.Error(err)
	}
}

// Headers without end are not read to theirs.
func TestHeadersWithoutEnd(t *testing.T) {
	b, url := against(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) })
	if err := b.Call(t.Context(), url, "ask", http.MethodGet, "/v1/budget", nil, nil); err == nil || !strings.Contains(err.Error(), "exceeded 65536 bytes") {
		t.Error(err)
	}
}
