package infosys

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestHushed: a secret is gone from an answer however it comes, and nothing else is.
func TestHushed(t *testing.T) {
	t.Parallel()
	const secret = "ababc"
	for text, want := range map[string]string{
		"":                              "",
		"abab":                          "abab",
		"ababc":                         "xxxxx",
		"aababcababcc":                  "axxxxxxxxxxc",
		"abababc":                       "abxxxxx",
		strings.Repeat("ababc-", 20000): strings.Repeat("xxxxx-", 20000),
	} {
		for how, reader := range map[string]func(io.Reader) io.Reader{"bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "with the end": iotest.DataErrReader} {
			got, err := io.ReadAll(&hushed{in: reader(strings.NewReader(text)), secret: []byte(secret)})
			if string(got) != want || err != nil {
				t.Errorf("%s, %.40q: %.40q, %v", how, text, got, err)
			}
		}
	}
	if _, err := io.ReadAll(&hushed{in: iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("abc"))), secret: []byte(secret)}); err == nil {
		t.Error("an error is lost")
	}
}
