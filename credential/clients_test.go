package credential_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gridbroker/credential"
)

// Clients look what there is twice a minute at most, keep a set that holds the same, make a client anew where what it shows
// has changed, and drop the one before it and none else.
func TestClientsChangeWithWhatTheyShow(t *testing.T) {
	now, looked, lack := time.Unix(1_800_000_000, 0), 0, error(nil)
	var dropped []string
	raw := "one"
	c := credential.Clients[string]{Now: func() time.Time { return now }, Drop: func(s string) { dropped = append(dropped, s) },
		Find: func() (*credential.Set, error) {
			looked++
			token, err := credential.ParseToken("test", raw)
			return &credential.Set{Token: token}, errors.Join(err, lack)
		}}
	use := func(name, want string) *credential.Set {
		t.Helper()
		set, err := c.Set()
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.For(name, set.Token.Raw(), func(had *string) (string, error) { return name + " " + set.Token.Raw(), nil })
		if err != nil || got != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
		return set
	}
	first := use("a", "a one")
	use("b", "b one")
	if _, ok := c.Recent("a"); !ok || looked != 1 {
		t.Errorf("a was not looked at just now, %d looks", looked)
	}
	now = now.Add(time.Minute)
	if _, ok := c.Recent("a"); ok {
		t.Error("a was looked at just now")
	}
	if again := use("a", "a one"); again != first || looked != 2 || dropped != nil {
		t.Errorf("the set is another, or not looked for: %d looks, dropped %q", looked, dropped)
	}
	raw, now = "two", now.Add(time.Minute)
	use("a", "a two")
	if !slices.Equal(dropped, []string{"a one"}) {
		t.Errorf("dropped %q", dropped)
	}
	no := errors.New("no")
	if _, err := c.For("a", "three", func(had *string) (string, error) { return "", no }); !errors.Is(err, no) {
		t.Error(err)
	}
	use("a", "a two") // one that could not be made has not taken its place
	lack, now = no, now.Add(-time.Hour)
	if _, err := c.Set(); !errors.Is(err, no) {
		t.Errorf("by a clock that was set back: %v", err)
	}
	if c.Close(); !slices.Equal(slices.Sorted(slices.Values(dropped)), []string{"a one", "a two", "b one"}) {
		t.Errorf("dropped %q", dropped)
	}
}
