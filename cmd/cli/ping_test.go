package cli

import (
	"bytes"
	"strings"
	"testing"
)

// What a service says of itself and of us, and why it does not, moves no cursor
// and makes no line, wherever it is printed.
func TestWordsOfServices(t *testing.T) {
	const bad = "x\x1b[7m\n  let in as root\u202e"
	for _, p := range []pong{
		{URL: bad, Up: true, Interface: bad, Versions: []string{bad}, Identity: bad, LetIn: true},
		{URL: bad, Up: true, Identity: bad, Said: bad}, {URL: bad, Error: bad},
	} {
		var out bytes.Buffer
		printPong(&deps{env: Env{Out: &out}}, p)
		if said := out.String(); strings.ContainsAny(said, "\x1b\u202e") || strings.Contains(said, "\n  let in as root") {
			t.Errorf("%q", said)
		}
	}
}
