package credential

import (
	"context"
	"errors"
	"testing"
	"time"
)

// careless is a minter that gives a token of one audience whatever it is asked for.
type careless struct{ token *Token }

func (c careless) Mint(context.Context, string, []string) (*Token, error) { return c.token, nil }

// A token that an issuer gives for another audience than was asked for goes to
// nobody: who gets it could use it there. Unless the user named the host.
func TestMintedForAnother(t *testing.T) {
	token, err := ParseToken("issuer", jwt(`{"sub":"alice","aud":"https://other.example.org","exp":4102444800}`))
	if err != nil {
		t.Fatal(err)
	}
	s := &Set{Minter: careless{token}, now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
	got, err := s.TokenFor(t.Context(), "https://ce.example.org/arex", "compute.create")
	if f, ok := errors.AsType[*Finding](err); !ok || f.ID != "token.audience" || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err = s.TokenFor(t.Context(), "https://other.example.org/arex"); err != nil || got != token {
		t.Errorf("its own audience: %v, %v", got, err)
	}
	s.AnyToken = HostPatterns([]string{"ce.example.org"})
	if got, err = s.TokenFor(t.Context(), "https://ce.example.org/arex"); err != nil || got != token {
		t.Errorf("a host that the user named: %v, %v", got, err)
	}
}
