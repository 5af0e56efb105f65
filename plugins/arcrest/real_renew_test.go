package arcrest

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"testing"
	"time"

	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// What the CE keeps for a job lives longer after Renew: read back from it.
func TestRealRenew(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, url := range bed.Versions() {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			short, long := as(t, bed, "alice"), as(t, bed, "alice")
			short.o.DelegationLife = func() time.Duration { return time.Hour }
			long.o.DelegationLife = func() time.Duration { return 10 * time.Hour }
			hs := submit(t, short, at(url, shell(fmt.Sprintf("ren%d", time.Now().UnixNano()), "sleep 600")))
			near(t, "before", delegatedUntil(t, short, hs[0]), time.Hour)
			check(t, long.Renew(t.Context(), hs)[0])
			near(t, "after", delegatedUntil(t, long, hs[0]), 10*time.Hour)
			check(t, short.Renew(t.Context(), hs)[0]) // an earlier end is an end too
			near(t, "in the end", delegatedUntil(t, long, hs[0]), time.Hour)
		})
	}
}

func near(t *testing.T, when string, end time.Time, want time.Duration) {
	t.Helper()
	if life := time.Until(end); life > want+time.Minute || life < want-5*time.Minute {
		t.Errorf("%s: it ends in %v, want %v", when, life, want)
	}
}

// delegatedUntil asks the CE for the job's delegation and returns its end.
func delegatedUntil(t *testing.T, b *Backend, h plugins.Handle) time.Time {
	t.Helper()
	c, err := b.client(t.Context(), "read back", h.Endpoint, h.Owner)
	check(t, err)
	items, err := c.bulk(t.Context(), "read back", "delegations", scopeRead, []string{h.ID})
	check(t, err)
	if len(items[h.ID].Delegations) != 1 {
		t.Fatalf("delegations of the job: %+v", items)
	}
	path, err := rest(t.Context(), c, "read back", "/delegations/"+items[h.ID].Delegations[0]+"?action=get")
	check(t, err)
	text, _, err := c.read(t.Context(), &call{op: "read back", method: http.MethodPost, path: path, scope: scopeRead})
	check(t, err)
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no certificate in %q", text)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	check(t, err)
	return cert.NotAfter
}
