package asked

import (
	"net/url"
	"testing"
)

// Who listens is told; nobody else has to pay for words.
func TestTold(t *testing.T) {
	var heard []string
	ctx := Telling(t.Context(), func(what string) { heard = append(heard, what) })
	Tell(ctx, "%s of %s", "this", "that")
	Tell(t.Context(), "%s", loud{t})
	if !Wanted(ctx) || Wanted(t.Context()) {
		t.Error("it is not known who listens")
	}
	if len(heard) != 1 || heard[0] != "this of that" {
		t.Errorf("heard %q", heard)
	}
}

type loud struct{ t *testing.T }

func (l loud) String() string { l.t.Error("words were made up for nobody"); return "" }

// What is shown of a URL tells no secret.
func TestURLWithoutSecrets(t *testing.T) {
	for raw, want := range map[string]string{
		"https://ce.example.org/arex/rest/1.0/jobs?action=new":           "https://ce.example.org/arex/rest/1.0/jobs?action=new",
		"https://u:geheim@s3.example.org/b/o?X-Amz-Signature=geheim&x=1": "https://s3.example.org/b/o?X-Amz-Signature=...&x=...",
		"https://h.example.org/a?geheim":                                 "https://h.example.org/a?...",
		"https://h.example.org/a#geheim":                                 "https://h.example.org/a",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := URL(u); got != want {
			t.Errorf("%s is shown as %s", raw, got)
		}
	}
}
