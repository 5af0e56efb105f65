package testbed

import (
	"os"
	"strings"
)

// userNames are the names, and with a final * the prefixes, of what a grid
// user's environment holds and the programs look at.
var userNames = []string{"X509_*", "BEARER_TOKEN*", "OIDC_*", "LCG_GFAL_INFOSYS", "NO_COLOR", "GRID_CONFIG", "GRID_STATE_DIR",
	"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// Independent makes the tests of a process independent of the environment of
// who runs them. It is for TestMain, before anything else.
func Independent() {
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		for _, u := range userNames {
			if prefix, ok := strings.CutSuffix(u, "*"); name == u || ok && strings.HasPrefix(name, prefix) {
				_ = os.Unsetenv(name)
			}
		}
	}
	_ = os.Setenv("LANG", "C.UTF-8")
	_ = os.Unsetenv("LC_ALL")
	_ = os.Setenv("TZ", "UTC")
}
