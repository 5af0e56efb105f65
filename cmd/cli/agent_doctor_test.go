package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
)

// Doctor publishes where no schedule is that may be used: one of an agent that runs is what jobs are booked by, and stays. Where the
// flags are such that nobody could be booked nothing is published, either, nor where the scheduler's clock is another one, which is told.
func TestDoctorBesideAnAgent(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		good      int64 // seconds for which there is a schedule
		ttl       string
		off       time.Duration // by how much the scheduler's clock is ahead
		code      int
		told      string
		published bool
	}{
		{90, "2m", 0, 0, "what an agent has published holds for 90s more, and was left as it is", false},
		{0, "2m", 0, 0, "ok    publish to", true},
		{0, "1s", 0, 1, "nothing was published, as not all is well here", false},
		{90, "2m", 10 * time.Minute, 1, "this machine's clock is 10 min behind the server's; set it by NTP", false},
		{0, "2m", -10 * time.Minute, 1, "this machine's clock is 10 min ahead of the server's; set it by NTP", false},
	} {
		published := false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ack := wire.Ack{Schema: wire.AckSchema, Seq: 85, Digest: (&wire.Set{}).Digest(), Good: c.good}
			if r.Method != http.MethodGet {
				published = true
				text, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				d, err := wire.DecodeDelta(text, wire.DefaultLimits())
				if err != nil {
					t.Error(err)
					return
				}
				ack.Seq, ack.Digest = d.Seq, d.Digest
				if d.Site == nil || d.Site.Start != wire.Plain { // this machine begins what it is sent
					t.Errorf("it publishes %+v", d.Site)
				}
			}
			w.Header().Set("Date", time.Now().Add(c.off).UTC().Format(http.TimeFormat))
			json.NewEncoder(w).Encode(ack)
		}))
		code, out, errs := oneShot(t, "agent", "doctor", "--lrms", "local:", "--cluster", "c", "--scheduler", server.URL, "--token-file", token, "--ttl", c.ttl)
		server.Close()
		if code != c.code || !strings.Contains(out, c.told) || published != c.published {
			t.Errorf("%d s are left, --ttl %s, its clock is %v ahead: code %d, published: %v\n%s%s", c.good, c.ttl, c.off, code, published, out, errs)
		}
	}
}
