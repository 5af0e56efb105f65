package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestMillionsOfJobs: a list of more jobs than may wait is refused before it is in memory.
func TestMillionsOfJobs(t *testing.T) {
	testbed.Computes(t)
	d := lonely(t)
	for _, job := range []string{"{}", "null", `{"id":"j","need":{"cpus":1}}`} {
		body := "[" + strings.Repeat(job+",", (15<<20)/(len(job)+1)) + job + "]"
		testbed.Within(t, 2*time.Second, 150<<20, func() {
			w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/jobs", strings.NewReader(body))
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: []string{"ui.example"}}}}
			if d.Handler().ServeHTTP(w, r); w.Code != 400 || !strings.Contains(w.Body.String(), "more than 200000 jobs") {
				t.Errorf("%s: %d %s", job, w.Code, w.Body)
			}
		})
	}
}
