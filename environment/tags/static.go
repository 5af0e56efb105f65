package tags

import (
	"fmt"
	"strings"
)

// GLUE1Static writes a site's static LDIF with the tags added to a GlueSubCluster of it, as a file for a BDII's folder
// ldif. Tags that the entry has already, in any spelling, are not doubled; everything else stays as it was.
func GLUE1Static(ldif, subCluster string, list []Tag) (string, error) {
	const name = "GlueHostApplicationSoftwareRunTimeEnvironment"
	var out strings.Builder
	found := false
	for entry := range entries(ldif) {
		plain := strings.ReplaceAll(strings.ReplaceAll(entry, "\r\n", "\n"), "\n ", "") // RFC 2849: folded lines
		have := map[string]bool{}
		mine := false
		for line := range strings.Lines(plain) {
			attribute, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
			value = strings.TrimSpace(value)
			mine = mine || strings.EqualFold(attribute, "dn") && sameDN(value, subCluster)
			if strings.EqualFold(attribute, name) {
				have[strings.ToLower(value)] = true
			}
		}
		out.WriteString(strings.TrimRight(entry, "\r\n") + "\n")
		if mine {
			found = true
			for _, t := range list {
				if t.State != InstalledBroken && !have[strings.ToLower(t.Name)] {
					line(&out, name, t.Name)
				}
			}
		}
		out.WriteString("\n")
	}
	if !found {
		return "", fmt.Errorf("the static LDIF has no entry %s", subCluster)
	}
	return out.String(), nil
}

// entries are the parts between empty lines.
func entries(ldif string) func(func(string) bool) {
	return func(yield func(string) bool) {
		var b strings.Builder
		for line := range strings.Lines(ldif + "\n\n") {
			if strings.TrimRight(line, "\r\n") != "" {
				b.WriteString(line)
				continue
			}
			if b.Len() > 0 && !yield(b.String()) {
				return
			}
			b.Reset()
		}
	}
}

// sameDN compares names without regard to case and to blanks after commas.
func sameDN(a, b string) bool {
	plain := func(s string) string { return strings.ReplaceAll(s, ", ", ",") }
	return strings.EqualFold(plain(a), plain(b))
}
