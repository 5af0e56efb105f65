package scheduler

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gridbroker/testdata/testbed"
)

// Tokens with made-up keys, and such with a known key's name and a made-up
// signature, have the issuer asked a bounded number of times, also where many
// come at once; who has a good token is let in meanwhile.
func TestMadeUpKeys(t *testing.T) {
	var iss *testbed.Issuer
	var asked atomic.Int32
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/jwks.json" {
			json.NewEncoder(w).Encode(iss.Keys())
		} else {
			json.NewEncoder(w).Encode(iss.Discovery())
		}
	}))
	t.Cleanup(issuer.Close)
	var err error
	if iss, err = testbed.OpenIssuer(t.TempDir(), issuer.URL+"/"); err != nil {
		t.Fatal(err)
	}
	f := newFront(t, func(_ *Config, a *API) { a.Door.Issuers, a.Door.Audience = []string{iss.URL}, "grid" })
	good, err := iss.Token("carol", time.Hour, map[string]any{"aud": "grid"})
	if err != nil {
		t.Fatal(err)
	}
	part := strings.Split(good, ".")
	began := time.Now()
	var strangers sync.WaitGroup
	for who := range 4 {
		strangers.Go(func() {
			c := f.client(nil)
			for i := range 50 {
				head := fmt.Sprintf(`{"typ":"JWT","alg":"RS256","kid":"%d-%d"}`, who, i)
				if i%2 == 0 {
					head = `{"typ":"JWT","alg":"RS256","kid":"testbed"}`
				}
				token := base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + part[1] + "." + part[2]
				if i%2 == 0 {
					token = strings.Join([]string{part[0], part[1], "AAAA" + part[2][4:]}, ".")
				}
				if got := f.ping(c, token); got.LetIn {
					t.Errorf("let in with %s", head)
				}
			}
		})
	}
	if got := f.ping(f.client(nil), good); got.Subject != iss.URL+"#carol" {
		t.Errorf("carol is %q", got.Subject)
	}
	strangers.Wait()
	took := time.Since(began)
	if n := asked.Load(); n > 6+2*int32(took/issuerPause) {
		t.Errorf("the issuer was asked %d times for 200 made-up tokens in %v", n, took)
	}
}

// tripper answers requests from within a test.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Keys that are new are had after a pause, and an issuer that was down is asked
// again then; what one says is cut, and within the pause it is the same for all.
func TestIssuersAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := "old"
		i := &issuerAnswers{RoundTripper: tripper(func(*http.Request) (*http.Response, error) {
			if said == "" {
				return nil, errors.New("down")
			}
			return &http.Response{StatusCode: 200, Header: http.Header{"A": {"b"}}, Body: io.NopCloser(strings.NewReader(said))}, nil
		})}
		get := func() string {
			resp, err := i.RoundTrip(httptest.NewRequest("GET", "https://issuer.example.org/keys", nil))
			if err != nil {
				return "error"
			}
			body, _ := io.ReadAll(resp.Body)
			return string(body)
		}
		for _, step := range []struct {
			said, want string
			after      time.Duration
		}{
			{"old", "old", 0}, {"new", "old", 9 * time.Second}, {"new", "new", time.Second}, {"", "new", time.Second},
			{"", "error", issuerPause}, {"back", "error", time.Second}, {"back", "back", issuerPause},
			{strings.Repeat("a", 2*issuerSays), strings.Repeat("a", issuerSays), issuerPause},
		} {
			time.Sleep(step.after)
			said = step.said
			if got := get(); got != step.want {
				t.Errorf("after %v: %.20q, want %.20q", step.after, got, step.want)
			}
		}
	})
}

// from is a client at another of this machine's addresses.
func (f *front) from(addr string) *http.Client {
	c := f.client(nil)
	c.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}).DialContext
	return c
}

// A flood of strangers from one address keeps out neither known users, at the
// same address or another, nor strangers from elsewhere; the same holds for streams.
func TestFloodOfStrangers(t *testing.T) {
	f := newFront(t, func(_ *Config, a *API) { a.Rate, a.Public = 2, true })
	f.api.limit.rate = 0.001 // however slow the machine is
	codes := map[int]int{}
	for range 20 {
		codes[f.ask(f.from("127.0.0.2"), "", "GET", "/v1/ping", nil, nil)]++
	}
	if codes[429] < 5 {
		t.Errorf("strangers of one address are not held to a rate: %v", codes)
	}
	if code := f.ask(f.from("127.0.0.2"), "alice", "GET", "/v1/ping", nil, nil); code != 200 {
		t.Errorf("a known user at that address: %d", code)
	}
	if code := f.ask(f.from("127.0.0.3"), "", "GET", "/v1/ping", nil, nil); code != 200 {
		t.Errorf("a stranger from elsewhere: %d", code)
	}
	f.api.limit.rate, f.api.limit.burst = 1e6, 1e6
	stream := func(addr string) int {
		resp, err := f.from(addr).Get(f.server.URL + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp.StatusCode
	}
	for range ownStreams + 1 {
		codes[stream("127.0.0.2")]++
	}
	if code := stream("127.0.0.2"); code != 429 {
		t.Errorf("one address has streams without end: %d", code)
	}
	if code := stream("127.0.0.3"); code != 200 {
		t.Errorf("a stream of a stranger from elsewhere: %d", code)
	}
}

// What an issuer has taken back is believed for an hour longer and not for good; while it does not answer, what it said
// counts for a day, and who comes meanwhile waits for nobody.
func TestKeysThatAreTakenBack(t *testing.T) {
	i := newRogueIssuer(t)
	var told strings.Builder
	d := &Door{Issuers: []string{i.URL}, Audience: "grid", Log: slog.New(slog.NewTextHandler(&told, nil))}
	token, err := i.Token("carol", time.Hour, map[string]any{"aud": "grid"})
	if err != nil {
		t.Fatal(err)
	}
	show := func() error {
		r := httptest.NewRequest("GET", "/v1/ping", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		_, err := d.Who(r)
		return err
	}
	later := func(by time.Duration) {
		at := d.issuers[i.URL]
		at.had, at.asked = at.had.Add(-by), at.asked.Add(-by)
	}
	if err := show(); err != nil {
		t.Fatal(err)
	}
	mute, asked, said := make(chan struct{}), make(chan bool, 1), i.keys
	i.keys = func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		<-mute
		http.Error(w, "not now", http.StatusServiceUnavailable)
	}
	later(keysTime)
	first := make(chan error, 1)
	go func() { first <- show() }()
	select {
	case <-asked:
	case err := <-first:
		t.Fatalf("after an hour it is not asked: %v", err)
	}
	if err := show(); err != nil { // while another asks
		t.Errorf("while the issuer is asked anew: %v", err)
	}
	close(mute)
	i.keys = func(w http.ResponseWriter, r *http.Request) { http.Error(w, "not now", http.StatusServiceUnavailable) }
	if err := <-first; err != nil {
		t.Errorf("an issuer that does not answer an hour later: %v", err)
	}
	if text := told.String(); strings.Count(text, "believed for the time being") != 1 || !strings.Contains(text, i.URL) || !strings.Contains(text, "503") {
		t.Errorf("the log says: %q", text)
	}
	later(keysLast)
	if err := show(); err == nil {
		t.Error("an issuer whose keys were not to be had for a day is believed")
	}
	i.keys = said
	delete(d.issuers, i.URL) // and that it did not answer just now
	if err := show(); err != nil {
		t.Errorf("it answers again: %v", err)
	}
	i.keys = func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"keys":[{"kty":"RSA","kid":"next","n":"` + strings.Repeat("A", 341) + `Q","e":"AQAB"}]}`))
	}
	if err := show(); err != nil {
		t.Errorf("within the hour: %v", err)
	}
	later(keysTime)
	if err := show(); err == nil {
		t.Error("a key that was taken back an hour ago is believed")
	}
}

// A token that names nobody, or somebody by what is no name, lets nobody in.
func TestTokensOfNobody(t *testing.T) {
	i := newRogueIssuer(t)
	d := &Door{Issuers: []string{i.URL}, Audience: "grid"}
	for _, sub := range []any{"", " ", nil, "a\x00b", "a\nb", strings.Repeat("x", maxSubject+1)} {
		token, err := i.Token("", time.Hour, map[string]any{"aud": "grid", "sub": sub})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "/v1/ping", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		if p, err := d.Who(r); err == nil {
			t.Errorf("%.20q is let in as %.100q", sub, p.Subject)
		}
	}
}
