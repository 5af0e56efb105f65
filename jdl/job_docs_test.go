package jdl

import (
	"os"
	"regexp"
	"testing"
)

// TestEveryAttributeIsDocumented keeps docs/jdl.md complete.
func TestEveryAttributeIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/jdl.md")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for _, w := range regexp.MustCompile(`\w+`).FindAllString(string(page), -1) {
		words[w] = true
	}
	for _, def := range attrTable {
		if def.mode&(inInternal|isRefused) == 0 && !words[def.name] {
			t.Errorf("docs/jdl.md does not mention %s", def.name)
		}
	}
}
