package jdl

import (
	"os"
	"regexp"
	"testing"
)

// TestEveryAttributeIsDocumented keeps docs/jdl.md complete, and docs/languages.md with what only DIRAC has.
func TestEveryAttributeIsDocumented(t *testing.T) {
	words := map[string]bool{}
	for _, name := range []string{"../docs/jdl.md", "../docs/languages.md"} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range regexp.MustCompile(`\w+`).FindAllString(string(page), -1) {
			words[w] = true
		}
	}
	for _, def := range attrTable {
		if def.mode&(inInternal|isRefused) == 0 && !words[def.name] {
			t.Errorf("neither page mentions %s", def.name)
		}
	}
}
