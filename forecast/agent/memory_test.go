package agent

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A memory that is damaged, cut, another cluster's or no file is named and set aside, whole: the next one is written in its place.
// One of an older version, which has no checksum, is used.
func TestMemoryThatIsDamaged(t *testing.T) {
	b := newBench(t)
	a := b.agent()
	if err := a.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.save(true); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(b.file)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := bytes.Cut(whole, []byte("\n"))
	for name, c := range map[string]struct {
		text []byte
		used bool
	}{
		"whole": {whole, true}, "without a checksum": {text, true}, "a digit": {bytes.Replace(whole, []byte(`"seq":1`), []byte(`"seq":7`), 1), false},
		"cut": {whole[:len(whole)/2], false}, "without an end": {whole[:len(whole)-4], false}, "empty": {nil, false},
		"another's": {bytes.Replace(text, []byte(`"cluster":"c"`), []byte(`"cluster":"d"`), 1), false}, "a pipe": {nil, false},
	} {
		os.Remove(b.file)
		os.Remove(b.file + ".unread")
		err := os.WriteFile(b.file, c.text, 0o600)
		if name == "a pipe" {
			os.Remove(b.file)
			err = syscall.Mkfifo(b.file, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		again := b.agent()
		again.Log = slog.New(slog.NewTextHandler(&said, nil))
		again.prepare()
		if used := again.recalled != nil && again.seq == 1; used != c.used || c.used == strings.Contains(said.String(), b.file+".unread") {
			t.Errorf("%s: used: %v, number %d: %s", name, used, again.seq, &said)
		}
		if err := again.Step(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "a pipe" {
			continue
		}
		kept, err := os.ReadFile(b.file + ".unread")
		if c.used != os.IsNotExist(err) || !c.used && !bytes.Equal(kept, c.text) {
			t.Errorf("%s: %v, %d bytes were set aside of %d", name, err, len(kept), len(c.text))
		}
	}
}
