package main_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// withToken has the user of a computing element show a token there instead of a proxy, of which the last part is returned, too.
func (ce *rogueCE) withToken() (token, signature string) {
	ce.t.Helper()
	issuer, err := testbed.OpenIssuer(ce.t.TempDir(), "https://issuer.example.org/")
	if err != nil {
		ce.t.Fatal(err)
	}
	token, err = issuer.Token("alice", time.Hour, map[string]any{"aud": strings.TrimSuffix(ce.url, "/arex"), "scope": "compute.read compute.create compute.modify compute.cancel"})
	if err != nil {
		ce.t.Fatal(err)
	}
	for i, e := range ce.env {
		if strings.HasPrefix(e, "X509_USER_PROXY=") {
			ce.env[i] = "BEARER_TOKEN=" + token
		}
	}
	return token, token[strings.LastIndex(token, ".")+1:]
}

// echoes has the computing element say a text wherever it can say one, of a job in some state.
func (ce *rogueCE) echoes(text, state string) {
	escaped := strings.ReplaceAll(text, "e", "&#101;")
	details := `<status-code>200</status-code><reason>` + escaped + `</reason><delegation_id>` + escaped + `</delegation_id><info_document><ComputingActivity><State>arcrest:` + state + `</State>`
	for _, f := range []string{"State", "Name", "Owner", "ExitCode", "Error", "ExecutionNode", "UsedTotalWallTime", "UsedMainMemory", "SubmissionTime", "OtherInfo", "Queue"} {
		details += "<" + f + ">" + escaped + "</" + f + ">"
	}
	details += `</ComputingActivity></info_document></job>`
	ce.turns(func(w http.ResponseWriter, r *http.Request, body string) bool {
		path, action := r.URL.Path, r.URL.Query().Get("action")
		switch {
		case strings.HasSuffix(path, "/info") && state == "FINISHED":
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprintf(w, echoedInfo, ce.url, text, text)
		case strings.HasSuffix(path, "/info"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "not with ", text)
		case strings.HasSuffix(path, "/jobs") && action == "info":
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, strings.ReplaceAll(body, "</job>", details))
		case strings.HasSuffix(path, "/jobs") && action == "":
			fmt.Fprint(w, "<jobs><job><id>job1</id><state>"+state+"</state></job></jobs>")
		case strings.Contains(path, "/diagnose/"):
			fmt.Fprintf(w, "nodename=%s\nexitcode=1\n%s", text, text)
		case strings.Contains(path, "/session/"):
			fmt.Fprintf(w, "<list><file size='1'>%s</file><dir>%s</dir></list>", escaped, escaped)
		default:
			return false
		}
		return true
	})
}

const echoedInfo = `<?xml version="1.0"?>
<InfoRoot><Domains><AdminDomain><Services><ComputingService>
<ComputingEndpoint><ID>e</ID><URL>%s</URL><InterfaceName>org.nordugrid.arcrest</InterfaceName><HealthState>ok</HealthState><ServingState>production</ServingState></ComputingEndpoint>
<ComputingShare><ID>q</ID><Name>%s</Name><MappingQueue>%s</MappingQueue><ServingState>production</ServingState></ComputingShare>
</ComputingService></Services></AdminDomain></Domains></InfoRoot>`

// TestOwnTokenSaidBack: a computing element that says back the token that it was shown, in whatever it tells of jobs, their
// files and itself, has it on no screen, in no document and in no file.
func TestOwnTokenSaidBack(t *testing.T) {
	t.Parallel()
	ce := newRogueCE(t)
	token, signature := ce.withToken()
	ce.submitted()
	ce.echoes("", "RUNNING")
	if h := ce.grid(0, "resources", "--no-cache", "--info", ce.url); !strings.Contains(h.errs, "not with") {
		t.Errorf("not asked with a token: %s%s", h.out, h.errs)
	}
	for _, state := range []string{"FINISHED", "RUNNING", "FAILED", "HELD", strings.ReplaceAll(token, "e", "&#101;")} {
		ce.echoes(token, state)
		for _, args := range [][]string{
			{"status", "--all"}, {"status", "--all", "--json"}, {"show", "--all"}, {"why", "--all"}, {"log", "--all"}, {"log", "--all", "--json"}, {"list", "--all", "-o", "wide"},
			{"ping", ce.url}, {"resources", "--info", ce.url}, {"resources", "--json", "--info", ce.url}, {"output", "--all"}, {"adopt", "--all", ce.url}, {"cancel", "--all"}, {"clean", "--all"},
		} {
			h := ce.grid(0, args...)
			if text := h.out + h.errs; strings.Contains(text, signature) {
				t.Errorf("%.20s: grid %s shows it", state, strings.Join(args, " "))
			}
		}
	}
	err := filepath.WalkDir(ce.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if text, err := os.ReadFile(path); err != nil || bytes.Contains(text, []byte(signature)) {
			t.Errorf("it is in %s (%v)", path, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAnswersOfNobody: what a server says behind its answer, as if it were one more, is neither taken for an answer nor shown:
// Go's own client would print it as it is, with the token that it was asked with.
func TestAnswersOfNobody(t *testing.T) {
	t.Parallel()
	v, addr := newPlain(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		text := `{"jobs":[{"key":"` + keyOf(r) + `","id":"1"}]}`
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		time.Sleep(50 * time.Millisecond)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nX: %s\r\nContent-Length: 0\r\n\r\n", r.Header.Get("Authorization"))
		_, _ = io.Copy(io.Discard, c)
	}))
	v.env = append(v.env, "BEARER_TOKEN=geheim")
	v.write("job.jdl", `Executable = "/bin/true";`)
	for range 2 {
		h := v.grid(0, "submit", "--via", "grid+http://"+addr, "--wait", "--timeout", "1s", "job.jdl")
		if text := h.out + h.errs; strings.Contains(text, "geheim") || strings.Contains(text, "Unsolicited") {
			t.Errorf("%s", text)
		}
	}
}
