package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/forecast/scheduler"
	"gridbroker/plugins/all"
)

// TestSchedulerSettingsThatCannotBe: a setting of the central scheduler that cannot be
// meant is named, with its file and, where it is written wrongly, line and column, before
// the database is opened: a budget that is no number would be in the ledger for good, and a
// token that two people have would make one of them the other.
func TestSchedulerSettingsThatCannotBe(t *testing.T) {
	t.Parallel()
	const (
		base    = "database = \"sqlite:s.db\"\nkey_file = \"scheduler.key\"\n"
		cluster = "[[cluster]]\nname = \"a\"\nendpoint = \"slurm:\"\n"
	)
	hash, other := scheduler.HashToken("one"), scheduler.HashToken("two")
	token := func(hash, subject string) string {
		return "[[token]]\nsha256 = \"" + hash + "\"\nsubject = \"" + subject + "\"\n"
	}
	for text, want := range map[string]string{
		base + "cycle = \"-1m\"\n":                                      ":3:9: -1m is negative",
		base + "cycle = \"soon\"\n":                                     ":3:9: \"soon\" is no length of time",
		base + "cycle = \"1ns\"\n":                                      ":3:1: cycle = \"1ns\": say 10ms or more",
		base + "status_every = \"1us\"\n":                               ":3:1: status_every = \"1µs\": say 10ms or more",
		base + "horizon = \"-2h\"\n":                                    ":3:11: -2h is negative",
		base + "[[token]]\npublic = true\n":                             ":4:1: no such setting: token.public; public is one of the whole file: write it above the first [table]",
		base + "colour = 1\n":                                           ":3:1: no such setting: colour",
		base + "planner = \"best\"\n":                                   ":3:1: planner = \"best\": say lookahead or pairwise",
		base + "max_bypass = -5\n":                                      ":3:1: max_bypass = -5: say 0 or more",
		base + "max_bypass = 1.5\n":                                     ":3:14: ",
		base + "sure = 90.0\n":                                          ":3:1: sure = 90: say a number from 0 to 1",
		base + "budget = nan\n":                                         ":3:1: budget = NaN: say a number",
		base + "budget = -1.0\n":                                        ":3:1: budget = -1: say a number",
		base + "budget = inf\n":                                         ":3:1: budget = +Inf: say a number",
		base + "budget = \"much\"\n":                                    ":3:10: ",
		base + "requests_per_second = nan\n":                            ":3:1: requests_per_second = NaN: say a number",
		base + "connections_of_address = -1\n":                          ":3:1: connections_of_address = -1: say a number",
		base + "requests_at_once = -1\n":                                ":3:1: requests_at_once = -1: say a number",
		base + "requests_per_second = -0.5\n":                           ":3:1: requests_per_second = -0.5: say a number",
		base + "admins = \"me\"\n":                                      ":3:10: ",
		base + token("abc", "ann"):                                      ":4:1: token 1 of \"ann\": sha256 = \"abc\": say the 64 digits",
		base + token("", "ann"):                                         ":4:1: token 1 of \"ann\": sha256 = \"\": say the 64 digits",
		base + token(hash+"0", "ann"):                                   ":4:1: token 1 of \"ann\": sha256 = ",
		base + token(hash, ""):                                          ":5:1: token 1: say whose it is with subject",
		base + token(hash, "ann") + token(hash, "bob"):                  ":6:3: token 2 of \"bob\" is that of \"ann\" as well",
		base + token(strings.ToUpper(hash), "ann") + token(hash, "bob"): ":6:3: token 2 of \"bob\" is that of \"ann\" as well",
		base + cluster + cluster:                                        ":7:1: cluster \"a\" is there twice",
		base + "[[cluster]]\nendpoint = \"slurm:\"\n":                   ":3:3: cluster 1, endpoint \"slurm:\": say its name",
		base + "[[cluster]]\nname = \"a\"\n":                            ":3:3: cluster \"a\": say its endpoint",
		base + "[[cluster]]\nname = \"a\"\nendpoint = \"vms://x\"\n":    ":5:1: cluster \"a\": endpoint = \"vms://x\": it is of no known kind",
		base + "[[cluster]]\nname = \"a\"\nendpoint = \"wiki://x\"\n":   ":5:1: cluster \"a\": endpoint = \"wiki://x\": no jobs can be sent there",
		base + "cycle = 5\n":                                            ":3:1: \"5\" is no length of time",
		base + "horizon = 3600\n":                                       ":3:1: \"3600\" is no length of time",
		base + "listen = \"127.0.0.1\"\n":                               ":3:1: listen = \"127.0.0.1\": say ADDRESS:PORT",
		base + "listen = \"127.0.0.1:99999\"\n":                         ":3:1: listen = \"127.0.0.1:99999\": say ADDRESS:PORT",
		base + "listen = \"0.0.0.0:6120\"\n":                            ":3:1: listen = \"0.0.0.0:6120\": without cert and key only a loopback address",
		base + "cert = \"c.pem\"\n":                                     ":3:1: cert: say its key, too",
		base + "key = \"k.pem\"\n":                                      ":3:1: key: say the certificate, too",
		base + "issuers = [\"iam.example.org\"]\n":                      ":3:1: issuers: \"iam.example.org\": say a URL",
		base + "issuers = [\"https://i\"]\n":                            ":3:1: issuers: say the audience",
		"key_file = \"scheduler.key\"\n":                                ": database = \"\": say sqlite:FILE",
		"database = \"sqlite:\"\nkey_file = \"scheduler.key\"\n":        ":1:1: database = \"sqlite:\": say sqlite:FILE",
		"database = \"mysql:x\"\nkey_file = \"scheduler.key\"\n":        ":1:1: database mysql:x: want",
		"database = \"sqlite:s.db\"\n":                                  ": key_file: say the file with the key",
		base + cluster + "agents = [\"\"]\n":                            ":6:1: cluster \"a\": agents: ",
		base + "[[cluster]]\nname = 5\n":                                ":4:8: ",
		base + cluster + "[cluster]\n":                                  ":6:",
		base + "[login]\nissuer = \"https://i\"\nurl = \"https://s\"\n": ":3:2: login: say the client",
		base + "issuers = [\"https://i/\"]\naudience = \"x\"\n[issuer_vos]\n\"https://j/\" = [\"a\"]\n": ":5:2: issuer_vos: \"https://j/\" is none of issuers",
		base + "issuers = [\"https://i/\"]\naudience = \"x\"\n[issuer_vos]\n\"https://i/\" = []\n":      ":5:2: issuer_vos: \"https://i/\": say the names of VOs",
		base + "[login]\nclient = \"c\"\nissuer = \"http://i\"\nurl = \"https://s\"\n":                  ":5:1: login: issuer = \"http://i\": say a URL that begins with https://",
		base + "[login]\nclient = \"c\"\nissuer = \"https://i\"\n":                                      ":3:2: login: url = \"\": say a URL that begins with https://",
		base + "[login]\nclient = \"c\"\nissuer = \"https://i\"\nurl = \"https://s/page\"\n":            ":6:1: login: url = \"https://s/page\": say scheme, host and port",
		"database = \"\n": ":1:",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "scheduler.toml")
		for name, text := range map[string]string{file: text, filepath.Join(dir, "scheduler.key"): scheduler.NewKey()} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, verb := range []string{"serve", "doctor", "export", "init"} {
			code, out, errs := oneShotWith(t, dir, all.Backends(), "scheduler", verb, "--file", file)
			if code != 2 || out != "" || !strings.HasPrefix(errs, "grid: "+file+want) {
				t.Errorf("grid scheduler %s of\n%scode %d, want 2 and %s\n%s%s", verb, text, code, want, out, errs)
			}
			if _, err := os.Stat(filepath.Join(dir, "s.db")); err == nil {
				t.Errorf("grid scheduler %s made a database", verb)
			}
		}
	}
	// What can be meant goes on to the database.
	for _, text := range []string{base, base + cluster + token(hash, "ann") + token(other, "ann"), base + token(strings.ToUpper(hash), "ann"),
		base + "cycle = \"10ms\"\nbudget = 0.0\nmax_bypass = 0\nrequests_per_second = 0.5\nrequests_at_once = 7\nconnections_of_address = 9\nsure = 0.9\npatience = \"1h\"\nplanner = \"pairwise\"\n"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "scheduler.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := oneShotWith(t, dir, all.Backends(), "scheduler", "init", "--file", file); code != 0 {
			t.Errorf("%s: code %d\n%s", text, code, errs)
		}
	}
}
