package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/forecast/scheduler"
	"gridbroker/plugins/all"
)

// A replica whose key is not that of the others would read nothing of what users gave them: neither init nor
// serve take it, and doctor tells. Where the key is lost a new one is taken in so many words.
func TestReplicaWithAnotherKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "scheduler.toml")
	run := func(verb ...string) (int, string) {
		code, out, errs := oneShotWith(t, dir, all.Backends(), append(append([]string{"scheduler"}, verb...), "--file", file)...)
		return code, out + errs
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	well := func() {
		t.Helper()
		for _, verb := range []string{"init", "doctor"} {
			if code, said := run(verb); code != 0 {
				t.Errorf("%s: code %d\n%s", verb, code, said)
			}
		}
	}
	write("scheduler.toml", "database = \"sqlite:s.db\"\nkey_file = \"scheduler.key\"\nlisten = \"127.0.0.1:0\"\n")
	write("scheduler.key", scheduler.NewKey())
	well()
	write("scheduler.key", scheduler.NewKey()) // as one does who sets up a second replica
	for _, verb := range []string{"init", "serve", "doctor"} {
		if code, said := run(verb); code == 0 || !strings.Contains(said, file+":2:1: key_file "+filepath.Join(dir, "scheduler.key")) || !strings.Contains(said, "another key") {
			t.Fatalf("%s: code %d\n%s", verb, code, said)
		}
	}
	if code, said := run("init", "--new-key"); code != 0 {
		t.Errorf("init --new-key: code %d\n%s", code, said)
	}
	well()
}
