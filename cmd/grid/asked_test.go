package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// Who types -vv is told every request, whatever kind of server it goes to, and no secret; who types it once is not.
func TestEveryRequestIsTold(t *testing.T) {
	t.Parallel()
	bed, bdii := testbed.NeedARC(t), testbed.Env(t, "bdii")
	v := newVictim(t, "X509_CERT_DIR="+bed.CADir, "X509_USER_PROXY="+bed.Proxy("alice"), "SLURM_CONF="+filepath.Join(testbed.Dir(), "slurm", "slurm.conf"))
	if _, err := os.Stat(filepath.Join(testbed.Dir(), "slurm", "slurm.conf")); err != nil {
		t.Skip("no Slurm here: ", err)
	}
	for _, source := range []struct{ url, says string }{
		{bdii["GRID_BDII"], "search " + strings.TrimPrefix(bdii["GRID_BDII"], "ldap://") + " for (objectClass="},
		{bed.REST10[0], "GET " + bed.REST10[0] + "/rest/1.0/"},
		{"slurm:", "at slurm: exec scontrol "},
	} {
		args := []string{"resources", "--no-cache", "--info", source.url}
		if h := v.grid(0, append(args, "-vv")...); h.code != 0 || !strings.Contains(h.errs, source.says) {
			t.Errorf("%s: nothing says %q: %d\n%.3000s", source.url, source.says, h.code, h.errs)
		}
		if h := v.grid(0, append(args, "-v")...); h.code != 0 || strings.Contains(h.errs, source.says) || !strings.Contains(h.errs, "source "+source.url) {
			t.Errorf("%s: it says with -v: %d\n%.3000s", source.url, h.code, h.errs)
		}
	}
}
