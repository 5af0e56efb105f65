package credential

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"
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

// hourly is a minter whose tokens live for an hour from when they are made, and which
// counts them.
type hourly struct {
	begin time.Time
	made  int
}

func (h *hourly) Mint(context.Context, string, []string) (*Token, error) {
	h.made++
	return ParseToken("issuer", jwt(fmt.Sprintf(`{"sub":"alice","aud":"https://ce.example.org","exp":%d}`, h.begin.Add(time.Hour).Unix())))
}

// setClock is a reading of the system's clock as if it had been set by so much: what time
// it is changes, what has passed does not. The seconds are bits 30 to 62 of its first word.
func setClock(t time.Time, by time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(int64(by/time.Second)) << 30
	return t
}

// A token that is kept is given up at its end, whatever the clock was set to meanwhile.
func TestMintedWhenTheClockIsSet(t *testing.T) {
	begin := time.Now()
	for _, c := range []struct {
		passed, set time.Duration
		made        int
	}{
		{0, 0, 1}, {58 * time.Minute, 0, 1}, {59*time.Minute + time.Second, 0, 2},
		{90 * time.Minute, -time.Hour, 2}, // it is half past, they say, and the token has an hour from zero
		{30 * time.Minute, -time.Hour, 1},
		{time.Minute, time.Hour, 2},
	} {
		h, now := &hourly{begin: begin}, begin
		s := &Set{Minter: h, now: func() time.Time { return now }}
		if _, err := s.TokenFor(t.Context(), "https://ce.example.org/arex"); err != nil {
			t.Fatal(err)
		}
		now = setClock(begin.Add(c.passed), c.set)
		if d := now.Sub(begin); d != c.passed {
			t.Fatalf("%v have passed, not %v: the layout of times is another", d, c.passed)
		}
		if _, err := s.TokenFor(t.Context(), "https://ce.example.org/arex"); err != nil {
			t.Fatal(err)
		}
		if h.made != c.made {
			t.Errorf("after %v, the clock set by %v: %d tokens were made, not %d", c.passed, c.set, h.made, c.made)
		}
	}
}

// So is one that was found: while there is a way to another one, none is shown after its end.
func TestFoundWhenTheClockIsSet(t *testing.T) {
	begin := time.Now()
	mine, err := (&hourly{begin: begin}).Mint(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Now: func() time.Time { return begin }, Getenv: func(name string) string {
		if name == "BEARER_TOKEN" {
			return mine.Raw()
		}
		return ""
	}}
	for _, c := range []struct {
		passed, set time.Duration
		made        int
	}{
		{0, 0, 0}, {59 * time.Minute, 0, 0}, {61 * time.Minute, 0, 1}, {90 * time.Minute, -time.Hour, 1}, {30 * time.Minute, -time.Hour, 0}, {time.Minute, time.Hour, 1},
	} {
		s, err := Discover(env, Options{NoX509: true})
		if err != nil || s.Token == nil {
			t.Fatal(s, err)
		}
		h := &hourly{begin: begin.Add(time.Hour)}
		s.Minter, s.now = h, func() time.Time { return setClock(begin.Add(c.passed), c.set) }
		if _, err := s.TokenFor(t.Context(), "https://ce.example.org/arex"); err != nil {
			t.Fatal(err)
		}
		if h.made != c.made {
			t.Errorf("after %v, the clock set by %v: %d tokens were made, not %d", c.passed, c.set, h.made, c.made)
		}
	}
}
