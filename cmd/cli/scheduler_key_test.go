package cli_test

import (
	"errors"
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

// The key is made where the configuration that is there wants it, and nowhere else.
func TestKeyIsMadeWhereItIsWanted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, key := filepath.Join(dir, "scheduler.toml"), filepath.Join(dir, "secrets", "own.key")
	if err := errors.Join(os.Mkdir(filepath.Dir(key), 0o700), os.WriteFile(file, []byte("database = \"sqlite:s.db\"\nkey_file = \"secrets/own.key\"\nlisten = \"127.0.0.1:0\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if code, out, errs := oneShotWith(t, dir, all.Backends(), "scheduler", "init", "--file", file); code != 0 {
			t.Fatalf("code %d\n%s%s", code, out, errs)
		}
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "scheduler.key")); err == nil {
		t.Error("a key that nobody asked for was made")
	}
}
