package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/plugins/all"
)

func loadText(t *testing.T, text string) (config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "grid.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	a := &deps{env: Env{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }, Backends: all.Backends(), UID: os.Getuid()}, config: path}
	c, err := loadConfig(a)
	if err != nil {
		return c, err
	}
	b, err := openBackends(a, c)
	if err == nil {
		err = b.Close()
	}
	return c, err
}

func TestConfig(t *testing.T) {
	c, err := loadText(t, "sources = ['local:']\ndeadline = '3s'\n[[local]]\nname = 'a'\nspeed = 2.0\nmax_wall = '1h'\n")
	if err != nil {
		t.Fatal(err)
	}
	var sites []struct {
		Name    string   `toml:"name"`
		Speed   float64  `toml:"speed"`
		MaxWall duration `toml:"max_wall"`
	}
	if err := c.settings("local", &sites); err != nil {
		t.Fatal(err)
	}
	if c.Deadline != (duration{3 * time.Second}) || sites[0].MaxWall != (duration{time.Hour}) || sites[0].Name != "a" || c.Policy != "hybrid" {
		t.Errorf("%+v %+v", c, sites)
	}
}

func TestConfigErrorsHavePositions(t *testing.T) {
	for text, want := range map[string]string{
		"sources = ['local:']\nsorces = []\n": "grid.toml:2:1: no such setting: sorces; did you mean sources?",
		"[[local]]\nname = 'a'\nslot = 3\n":   "grid.toml:3:1: no such setting: local.slot; did you mean slots?",
		"[[local]]\nname = 'a'\nscouts = 3\n": "grid.toml:3:1: no such setting: local.scouts; scouts is one of the whole file: write it above the first [table]",
		"deadline = 'soon'\n":                 "grid.toml:1:",
		"deadline = 8\n":                      "grid.toml:1:1: \"8\" is no length of time",
		"sources = [\n":                       "grid.toml:1:",
		"unknown = 'maybe'\n":                 "say keep or reject",
		"scouts = -3\n":                       "scouts = -3: say a number of jobs",
		"deadline = '0s'\n":                   "deadline = 0",
		"[auth]\npublic_cas = ['a', '[']\n":   `auth.public_cas: "[" is no pattern of hosts`,
		"[auth]\nany_token = ['*.[a']\n":      `auth.any_token: "*.[a" is no pattern of hosts`,
		"[auth]\nissuer = 'x'\n":              `auth.issuer = "x": say an https:// URL`,
		"[auth]\nissuer = 'http://i.org'\n":   "say an https:// URL",
		"deadline = '-1s'\n":                  "negative",
	} {
		_, err := loadText(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	a := &deps{env: Env{Getenv: func(string) string { return "" }}, config: "/nonexistent/grid.toml"}
	if _, err := loadConfig(a); err == nil {
		t.Error("a named file that is missing was accepted")
	}
}

// Jobs are begun for a day after their owner's last token, and are at their sites for an hour after they were brought, unless the
// configuration says otherwise.
func TestTokenGraceByDefault(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]time.Duration{"": {24 * time.Hour, time.Hour}, "token_grace = \"0s\"\nkeep_at_sites = \"0s\"\n": {}, "token_grace = \"2h\"\nkeep_at_sites = \"30h\"\n": {2 * time.Hour, 30 * time.Hour}} {
		file := filepath.Join(t.TempDir(), "scheduler.toml")
		if err := os.WriteFile(file, []byte("database = \"sqlite:s.db\"\nkey_file = \"scheduler.key\"\n"+line), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := loadSchedulerConfig(&deps{env: OSEnv()}, file)
		if err != nil {
			t.Fatal(err)
		}
		if conf, err := c.settings(nil); err != nil || conf.TokenGrace != want[0] || conf.KeepAtSites != want[1] {
			t.Errorf("%q: %v, %v, %v", line, conf.TokenGrace, conf.KeepAtSites, err)
		}
	}
}
