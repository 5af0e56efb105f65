package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// rogueCE answers as an A-REX does where odd does not answer in its place, and
// a user who trusts its authority has jobs there.
type rogueCE struct {
	*victim
	url string

	mu   sync.Mutex
	odd  func(w http.ResponseWriter, r *http.Request, body string) bool // true: answered
	made int
	seen []string
}

func newRogueCE(t *testing.T) *rogueCE {
	t.Helper()
	ca := testbed.NewCA(t, "Lab CA", time.Now(), nil)
	dir := t.TempDir()
	ca.Install(filepath.Join(dir, "certificates"), credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=Lab CA")
	alice := ca.Issue("Alice", nil)
	testbed.WriteFile(t, filepath.Join(dir, "proxy"), append(testbed.PEM(alice.Cert), testbed.KeyPEM(t, alice.Key)...), 0o600)
	ce := &rogueCE{victim: newVictim(t, "X509_CERT_DIR="+filepath.Join(dir, "certificates"), "X509_USER_PROXY="+filepath.Join(dir, "proxy"))}
	srv := httptest.NewUnstartedServer(ce)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Server(nil)}, ClientAuth: tls.RequestClientCert}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	ce.url = srv.URL + "/arex"
	ce.file("ce.ldif", strings.ReplaceAll(rogueLDIF, "HERE", ce.url))
	ce.file("job.jdl", `Executable = "/bin/true"; StdOutput = "out.txt"; OutputSandbox = {"*"}; RetryCount = 0;`)
	return ce
}

const rogueLDIF = `dn: GLUE2ServiceID=s,GLUE2DomainID=ROGUE,o=glue
objectClass: GLUE2ComputingService
GLUE2ServiceID: s
GLUE2ServiceType: batch
GLUE2ServiceQualityLevel: production

dn: GLUE2EndpointID=e,GLUE2ServiceID=s,GLUE2DomainID=ROGUE,o=glue
objectClass: GLUE2ComputingEndpoint
GLUE2EndpointID: e
GLUE2EndpointURL: HERE
GLUE2EndpointInterfaceName: org.nordugrid.arcrest
GLUE2EndpointHealthState: ok
GLUE2EndpointServingState: production
GLUE2EndpointServiceForeignKey: s

dn: GLUE2ShareID=q,GLUE2ServiceID=s,GLUE2DomainID=ROGUE,o=glue
objectClass: GLUE2ComputingShare
GLUE2ShareID: q
GLUE2ComputingShareMappingQueue: q
GLUE2ComputingShareServingState: production
GLUE2ComputingShareMaxWallTime: 360000
GLUE2ComputingShareFreeSlots: 1000
GLUE2ShareServiceForeignKey: s
`

func (ce *rogueCE) file(name, text string) {
	ce.t.Helper()
	if err := os.WriteFile(filepath.Join(ce.dir, name), []byte(text), 0o600); err != nil {
		ce.t.Fatal(err)
	}
}

func (ce *rogueCE) turns(odd func(w http.ResponseWriter, r *http.Request, body string) bool) {
	ce.mu.Lock()
	defer ce.mu.Unlock()
	ce.odd = odd
}

func (ce *rogueCE) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	body := string(text)
	ce.mu.Lock()
	ce.seen = append(ce.seen, r.Method+" "+r.URL.RequestURI())
	odd := ce.odd
	ce.mu.Unlock()
	if odd == nil || !odd(w, r, body) {
		ce.answer(w, r, body)
	}
}

func (ce *rogueCE) answer(w http.ResponseWriter, r *http.Request, body string) {
	action := r.URL.Query().Get("action")
	switch path := r.URL.Path; {
	case path == "/arex/rest":
		fmt.Fprint(w, "<versions><version>1.0</version></versions>")
	case strings.HasSuffix(path, "/delegations"):
		w.Header().Set("Location", path+"/d1")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(delegationRequest())
	case strings.Contains(path, "/delegations/"):
	case strings.HasSuffix(path, "/jobs") && action == "new":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "<jobs>")
		for range strings.Count(body, "<ActivityDescription ") {
			ce.mu.Lock()
			ce.made++
			fmt.Fprintf(w, "<job><status-code>201</status-code><reason>Created</reason><id>job%d</id></job>", ce.made)
			ce.mu.Unlock()
		}
		fmt.Fprint(w, "</jobs>")
	case strings.HasSuffix(path, "/jobs") && action == "info":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, strings.ReplaceAll(body, "</job>", `<status-code>200</status-code><reason>OK</reason><info_document><ComputingActivity>
			<State>arcrest:FINISHED</State><ExitCode>0</ExitCode><Name>x</Name></ComputingActivity></info_document></job>`))
	case strings.HasSuffix(path, "/jobs") && action != "":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, strings.ReplaceAll(body, "</job>", "<status-code>202</status-code><reason>Accepted</reason></job>"))
	case strings.HasSuffix(path, "/jobs"):
		ce.list(w, "FINISHED")
	default:
		http.NotFound(w, r)
	}
}

// list is the list of all jobs, in one state.
func (ce *rogueCE) list(w io.Writer, state string) {
	ce.mu.Lock()
	defer ce.mu.Unlock()
	fmt.Fprint(w, "<jobs>")
	for i := range ce.made {
		fmt.Fprintf(w, "<job><id>job%d</id><state>%s</state></job>", i+1, state)
	}
	fmt.Fprint(w, "</jobs>")
}

func delegationRequest() []byte {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, _ := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// submitted sends a job there while it behaves.
func (ce *rogueCE) submitted() {
	ce.t.Helper()
	if h := ce.grid(0, "submit", "--info", "file:ce.ldif", "job.jdl"); h.code != 0 {
		ce.t.Fatalf("submit: %d\n%s%s", h.code, h.out, h.errs)
	}
}

// TestRogueCE: whatever a computing element answers about jobs and files costs
// bounded time and memory, and it is named.
func TestRogueCE(t *testing.T) {
	t.Parallel()
	ce := newRogueCE(t)
	ce.submitted()
	name := strings.TrimSuffix(strings.TrimPrefix(ce.url, "https://"), "/arex")
	giant := strings.Repeat("X", 1000<<10)
	ends := func(path string) func(*http.Request) bool {
		return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, path) && r.Method == http.MethodGet }
	}
	for _, c := range []struct {
		about string
		is    func(*http.Request) bool
		head  string
		part  string
		args  []string
	}{
		{"states of a megabyte", ends("/jobs"), "<jobs>", "<job><id>x</id><state>" + giant + "</state></job>", []string{"status", "--all"}},
		{"comments between jobs", ends("/jobs"), "<jobs>", "<!--" + giant + "-->", []string{"status", "--all"}},
		{"a list of files", ends("/session/"), "<list>", "<file size='1'>" + giant + "</file>", []string{"output", "--all"}},
		{"versions", ends("/rest"), "<versions>", "<version>" + giant + "</version>", []string{"submit", "--info", "file:ce.ldif", "job.jdl"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			ce.turns(func(w http.ResponseWriter, r *http.Request, _ string) bool {
				if !c.is(r) && !c.is(&http.Request{Method: r.Method, URL: r.URL.JoinPath("/")}) {
					return false
				}
				_, err := io.WriteString(w, c.head)
				for range 1000 {
					if err == nil {
						_, err = io.WriteString(w, c.part)
					}
				}
				return true
			})
			h := ce.grid(0, c.args...)
			h.errs += h.out // a table of jobs has its remarks in its cells
			ce.bounded(h, name)
		})
	}
}

// TestRogueDelegation: to sign what a computing element wants signed does not
// keep anybody busy for hours, and nothing that is weak is signed.
func TestRogueDelegation(t *testing.T) {
	t.Parallel()
	for bits, want := range map[int]string{1 << 21: "bytes, more than 65536", 1 << 17: "has a key of 131072 bits", 512: "512-bit keys are insecure"} {
		ce := newRogueCE(t) // one that did this once is banned for a while
		request := requestOf(t, bits)
		ce.turns(func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if !strings.HasSuffix(r.URL.Path, "/delegations") {
				return false
			}
			w.Header().Set("Location", r.URL.Path+"/d1")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(request)
			return true
		})
		h := ce.grid(0, "submit", "--info", "file:ce.ldif", "job.jdl")
		ce.bounded(h, want)
		if h.code == 0 || ce.made != 0 {
			t.Errorf("%d bits: exit code %d, %d jobs were made", bits, h.code, ce.made)
		}
	}
}

// TestRogueDescriptions: who adopts jobs reads what a computing element says that it
// was sent, within bounds; jobs whose descriptions are beyond them are adopted without.
func TestRogueDescriptions(t *testing.T) {
	t.Parallel()
	const adl = `<ActivityDescription xmlns="http://www.eu-emi.eu/es/2010/12/adl">`
	for what, text := range map[string]string{
		"arguments": adl + "<Application><Executable><Path>/bin/true</Path>" + strings.Repeat("<Argument>x</Argument>", 700_000),
		"short":     adl + "<Application><Executable><Path>/bin/true</Path>" + strings.Repeat("<Argument/>", 90_000) + "</Executable></Application></ActivityDescription>",
		"nested":    adl + strings.Repeat("<a>", 1_600_000),
	} {
		t.Run(what, func(t *testing.T) {
			ce := newRogueCE(t)
			ce.made = 40
			ce.turns(func(w http.ResponseWriter, r *http.Request, _ string) bool {
				if !strings.HasSuffix(r.URL.Path, "/diagnose/description") {
					return false
				}
				_, _ = io.WriteString(w, text)
				return true
			})
			h := ce.grid(0, "adopt", "--all", ce.url)
			ce.bounded(h, "40 jobs adopted")
		})
	}
}

// requestOf asks for a certificate of an RSA key of so many bits, with a
// signature that nobody has checked.
func requestOf(t *testing.T, bits int) []byte {
	t.Helper()
	modulus := new(big.Int).Lsh(big.NewInt(1), uint(bits)-1)
	key, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: modulus.Add(modulus, big.NewInt(1)), E: 65537})
	if err != nil {
		t.Fatal(err)
	}
	algorithm := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, Parameters: asn1.NullRawValue}
	info, err := asn1.Marshal(struct {
		Version    int
		Subject    asn1.RawValue
		Key        asn1.RawValue
		Attributes asn1.RawValue
	}{0, asn1.RawValue{FullBytes: []byte{0x30, 0}}, asn1.RawValue{FullBytes: key}, asn1.RawValue{FullBytes: []byte{0xa0, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, bits/8)
	signature[len(signature)-1] = 3
	der, err := asn1.Marshal(struct {
		Info      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{asn1.RawValue{FullBytes: info}, algorithm, asn1.BitString{Bytes: signature, BitLength: bits}})
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
