package main_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// requests are the lines that -vv prints of them.
var requests = regexp.MustCompile(`(?m)^(GET|POST|PUT|DELETE) https://([a-z0-9.]+)[^ ]*/rest([^ ]*): \d+`)

// The delegations of all live jobs are renewed with four requests a CE,
// however many jobs there are: the versions, whose delegations they are, a key
// from the CE, and the proxy signed for it.
func TestRenewInBulk(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	u := &patient{user: newUser(t, bed)}
	u.proxy(bed, credential.ProxyOptions{Lifetime: 20 * time.Hour})
	job := u.write("job.jdl", `Executable = "/bin/sleep"; Arguments = "300"; JobType = "parametric"; Parameters = 12;`)
	ces := []string{bed.REST10[2], bed.REST11[0]}
	for _, ce := range ces {
		u.grid(0, "submit", "--no-cache", "--info", ce, job)
	}
	defer u.says("clean", "--all", "--force")
	defer u.says("cancel", "--all")
	_, text := u.grid(0, "auth", "renew", "-vv")
	count := map[string]int{}
	for _, m := range requests.FindAllStringSubmatch(text, -1) {
		count[m[2]]++
	}
	if len(count) != len(ces) {
		t.Errorf("asked %v", count)
	}
	for host, n := range count {
		if n != 4 {
			t.Errorf("%d requests to %s, want 4:\n%s", n, host, text)
		}
	}
	if n := strings.Count(text, "action=renew"); n != len(ces) {
		t.Errorf("%d delegations renewed, want %d", n, len(ces))
	}
	if out, _ := u.grid(0, "log", "--all"); strings.Count(out, "delegated credential renewed") != 24 {
		t.Errorf("%d of 24 jobs are told of it", strings.Count(out, "delegated credential renewed"))
	}
}

// A credential that ends before the job's wall time is said at submission and
// at renewal; one that does not is not.
func TestCredentialShorterThanJob(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for wall, warned := range map[string]bool{"5h": true, "30m": false} {
		u := &patient{user: newUser(t, bed)}
		u.proxy(bed, credential.ProxyOptions{Lifetime: 2 * time.Hour})
		job := u.write("job.jdl", `Executable = "/bin/sleep"; Arguments = "300"; WallTime = "`+wall+`"; JobType = "parametric"; Parameters = 2;`)
		_, text := u.grid(0, "submit", "--no-cache", "--info", bed.REST10[2], job)
		_, renewed := u.grid(0, "auth", "renew")
		u.says("cancel", "--all")
		u.says("clean", "--all", "--force")
		for verb, said := range map[string]string{"submit": text, "renew": renewed} {
			if strings.Contains(said, "life.too-short") != warned || warned && !strings.Contains(said, "2 of 2 jobs") {
				t.Errorf("%s of jobs of %s with a proxy of 2 h: %q", verb, wall, said)
			}
			if warned && !strings.Contains(said, "grid auth proxy --valid") {
				t.Errorf("%s does not say what to do: %q", verb, said)
			}
		}
	}
}
