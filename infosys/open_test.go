package infosys

import (
	"strings"
	"testing"
)

// TestSourcesThatAreHosts: who names a host, or plain HTTP, is told how sources are named.
func TestSourcesThatAreHosts(t *testing.T) {
	for source, want := range map[string]string{
		"ce.example.org":             `did you mean "https://ce.example.org/arex", a CE, or "ldap://ce.example.org", a BDII?`,
		"ce.example.org:443":         `"https://ce.example.org:443/arex"`,
		"/data/bdii.ldif":            `did you mean "file:/data/bdii.ldif"?`,
		"bdii.ldif":                  `did you mean "file:bdii.ldif"?`,
		"http://ce.example.org/arex": `did you mean "https://ce.example.org/arex"?`,
		"nope:x":                     "no such kind",
		"dump.d/glue.ldif":           `did you mean "file:dump.d/glue.ldif"?`,
	} {
		_, err := NewOpener(Env{}).Open(source)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "did you mean") != (want != "no such kind") {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}
