package cli

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// A configuration is read, or refused with its file's name, and what is read keeps to the rules.
func FuzzConfig(f *testing.F) {
	f.Add("sources = [\"local:\"]\npolicy = \"hybrid\"\ndeadline = \"8s\"\n[auth]\nany_token = [\"*.example.org\"]\n[[local]]\nname = \"a\"\nslots = 4\n")
	f.Add("deadline = 9e300\nscouts = -0x1\n\"a\".b.'c' = {d = [1, {e = 2}]}\n")
	f.Add("[a]\n[a.b]\n[[a.b]]\nx = 2026-01-01T00:00:00Z\ny = \"\"\"\nz\"\"\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if tooMany("grid.toml", []byte(text), mostOfUser) != nil {
			return
		}
		c := defaultConfig()
		err := known{reflect.TypeOf(c), func(string) bool { return false }, c}.read("grid.toml", []byte(text), &c)
		if err == nil {
			if c.check() == nil && (c.Scouts < 0 || c.Deadline.Duration == 0) {
				t.Errorf("%+v", c)
			}
			_ = readPlaces([]byte(text))
		} else if !strings.HasPrefix(err.Error(), "grid.toml") || utf8.ValidString(text) && !utf8.ValidString(err.Error()) {
			t.Errorf("%q", err)
		}
	})
}
