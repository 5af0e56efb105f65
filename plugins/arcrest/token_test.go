package arcrest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// mint gives out tokens of an issuer and remembers what for.
type mint struct {
	issuer  *testbed.Issuer
	subject string
	refuse  string // a scope that is not granted

	mu    sync.Mutex
	asked []string // "audience scope"
}

func (m *mint) Mint(_ context.Context, audience string, scopes []string) (*credential.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, audience+" "+strings.Join(scopes, " "))
	if m.refuse != "" && slices.Contains(scopes, m.refuse) {
		return nil, fmt.Errorf("the issuer does not grant %s", m.refuse)
	}
	text, err := m.issuer.Token(m.subject, time.Hour, map[string]any{"aud": audience, "scope": strings.Join(scopes, " ")})
	if err != nil {
		return nil, err
	}
	return credential.ParseToken("minted", text)
}

// claims of the token that a request came with.
func claims(t *testing.T, head http.Header) (aud, scope string) {
	t.Helper()
	parts := strings.Split(strings.TrimPrefix(head.Get("Authorization"), "Bearer "), ".")
	if len(parts) != 3 {
		t.Fatalf("no token in %q", head.Get("Authorization"))
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	check(t, err)
	var c struct{ Aud, Scope string }
	check(t, json.Unmarshal(text, &c))
	return c.Aud, c.Scope
}

// trust is that of a user of the fake.
func (p *pki) trust(t *testing.T) *credential.Trust {
	t.Helper()
	set, err := credential.Discover(credential.Env{UID: os.Getuid()}, p.user)
	check(t, err)
	return set.Trust
}

func withSet(t *testing.T, trust *credential.Trust, token *credential.Token, m credential.Minter) *Backend {
	set := func() (*credential.Set, error) {
		return &credential.Set{Trust: trust, Token: token, Minter: m}, nil
	}
	b := New(Options{Credentials: set, StateDir: t.TempDir(), Timeout: 5 * time.Second})
	t.Cleanup(func() { b.Close() })
	return b
}

// Each request carries a token for this endpoint with the scope it needs.
func TestTokenForEachOperation(t *testing.T) {
	f := newFake(t, nil)
	issuer, err := testbed.OpenIssuer(t.TempDir(), "https://issuer.example.org/")
	check(t, err)
	m := &mint{issuer: issuer, subject: "alice"}
	b := withSet(t, f.pki.trust(t), nil, m)
	r := b.Submit(t.Context(), at(f.url(), shell("1", "exit 0"), shell("2", "exit 0")), nil)
	check(t, r[0].Err)
	if want := "alice of https://issuer.example.org/"; r[0].Handle.Owner != want {
		t.Errorf("owner %q", r[0].Handle.Owner)
	}
	check(t, b.Cancel(t.Context(), []plugins.Handle{r[0].Handle})[0])
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, request := range f.seen {
		want := scopeRead
		switch {
		case strings.Contains(request, "action=new"):
			want = scopeCreate
		case strings.Contains(request, "action=kill"):
			want = scopeCancel
		}
		if aud, scope := claims(t, f.heads[i]); aud != f.URL || scope != want {
			t.Errorf("%s: audience %s, scope %s", request, aud, scope)
		}
		if handed := f.heads[i].Get("X-Token-Delegation"); strings.Contains(request, "type=jwt") && strings.Count(handed, ".") != 2 {
			t.Errorf("delegated %q", handed)
		}
	}
	slices.Sort(m.asked)
	if n := len(m.asked); n != len(slices.Compact(m.asked)) {
		t.Errorf("tokens were asked for again: %q", m.asked)
	}
}

// The token at hand is used where it fits, and where no better one is given.
func TestTokenAtHand(t *testing.T) {
	issuer, err := testbed.OpenIssuer(t.TempDir(), "https://issuer.example.org/")
	check(t, err)
	for name, c := range map[string]struct {
		claims map[string]any
		mint   *mint
		asked  int // how many tokens for it
	}{
		"fits":                      {nil, &mint{issuer: issuer, subject: "alice"}, 0},
		"of another audience":       {map[string]any{"aud": "https://other.example.org"}, &mint{issuer: issuer, subject: "alice"}, 2},
		"minted for somebody else":  {map[string]any{"scope": "compute.read"}, &mint{issuer: issuer, subject: "bob"}, 1},
		"the issuer does not grant": {map[string]any{"scope": "compute.read"}, &mint{issuer: issuer, refuse: scopeCreate}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, nil)
			text, err := issuer.Token("alice", time.Hour, c.claims)
			check(t, err)
			token, err := credential.ParseToken("at hand", text)
			check(t, err)
			b := withSet(t, f.pki.trust(t), token, c.mint)
			r := b.Submit(t.Context(), at(f.url(), shell("1", "exit 0")), nil)
			check(t, r[0].Err)
			if r[0].Handle.Owner != "alice of "+issuer.URL {
				t.Errorf("owner %q", r[0].Handle.Owner)
			}
			if len(c.mint.asked) != c.asked {
				t.Errorf("asked for %q", c.mint.asked)
			}
		})
	}
}

// A user who has logged in at an issuer and has neither proxy nor token file:
// also the CE that asks for scopes takes tokens of exactly one.
func TestRealTokenForEachEndpoint(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	if len(bed.REST11) < 2 {
		t.Skip("there is no ARC 7 in the testbed")
	}
	set, err := as(t, bed, "alice").o.Credentials()
	check(t, err)
	m := &mint{issuer: bed.Issuer, subject: "alice"}
	b := withSet(t, set.Trust, nil, m)
	for _, url := range append(bed.REST11[:2:2], bed.REST10[len(bed.REST10)-1]) {
		hs := submit(t, b, at(url, shell(fmt.Sprintf("tok%d", time.Now().UnixNano()), "echo by token")))
		if st := await(t, b, hs)[0]; st.State != plugins.Done {
			t.Errorf("%s: %+v", url, st)
		}
		dir := t.TempDir()
		check(t, b.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)[0].Err)
		same(t, filepath.Join(dir, "out.txt"), []byte("by token\n"))
		if want := credential.AudienceOf(url) + " " + scopeCreate; !slices.Contains(m.asked, want) {
			t.Errorf("no token %q among %q", want, m.asked)
		}
	}
}

// What the CE keeps for a job submitted by token is that token.
func TestRealDelegatedToken(t *testing.T) {
	bed := testbed.NeedARC(t)
	if len(bed.REST11) == 0 {
		t.Skip("there is no ARC 7 in the testbed")
	}
	b := withToken(t, bed, nil)
	set, err := b.o.Credentials()
	check(t, err)
	c, err := b.client(t.Context(), "delegate", bed.REST11[0], "")
	check(t, err)
	id, err := delegate(t.Context(), c, "delegate")
	check(t, err)
	kept, _, err := c.read(t.Context(), &call{op: "read it back", method: http.MethodPost, path: "/rest/1.1/delegations/" + id + "?action=get", scope: scopeRead})
	check(t, err)
	if strings.TrimSpace(string(kept)) != set.Token.Raw() {
		t.Errorf("it keeps %d bytes, the token has %d", len(kept), len(set.Token.Raw()))
	}
}
