package main_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// grid of three queues: one for the VO, one for a role of it, one that denies
// a group of it.
const vomsGrid = `dn: GlueCEUniqueID=open.example.org:8443/cream-pbs-q,Mds-Vo-name=A,o=grid
objectClass: GlueCE
GlueCEName: q
GlueCEStateStatus: Production
GlueCEAccessControlBaseRule: VO:VONAME

dn: GlueCEUniqueID=role.example.org:8443/cream-pbs-q,Mds-Vo-name=A,o=grid
objectClass: GlueCE
GlueCEName: q
GlueCEStateStatus: Production
GlueCEAccessControlBaseRule: VOMS:/VONAME/Role=production

dn: GlueCEUniqueID=deny.example.org:8443/cream-pbs-q,Mds-Vo-name=A,o=grid
objectClass: GlueCE
GlueCEName: q
GlueCEStateStatus: Production
GlueCEAccessControlBaseRule: VO:VONAME
GlueCEAccessControlBaseRule: DENY:/VONAME/students
`

// Who is let in with a real VOMS server's attributes, with a plain proxy, with
// the job's own word on the VO, and with nothing.
func TestMatchWithVOMS(t *testing.T) {
	t.Parallel()
	env := testbed.Env(t, "voms")
	vo := env["GRID_VOMS_VO"]
	dir := t.TempDir()
	u := &user{t, dir, map[string]string{"HOME": dir, "X509_CERT_DIR": env["X509_CERT_DIR"], "X509_VOMS_DIR": env["X509_VOMS_DIR"],
		"X509_VOMSES": env["X509_VOMSES"], "X509_USER_PROXY": filepath.Join(dir, "proxy"),
		"X509_USER_CERT": filepath.Join(env["GRID_VOMS_STATE"], "alice.pem"), "X509_USER_KEY": filepath.Join(env["GRID_VOMS_STATE"], "alice.key")}}
	u.write("grid.ldif", strings.ReplaceAll(vomsGrid, "VONAME", vo))
	u.write("plain.jdl", `Executable = "/bin/true"; WallTime = 60;`)
	u.write("vo.jdl", `Executable = "/bin/true"; WallTime = 60; VirtualOrganisation = "`+vo+`";`)
	u.write("other.jdl", `Executable = "/bin/true"; WallTime = 60; VirtualOrganisation = "biomed";`)
	for _, c := range []struct {
		name, proxy string // "none", "": plain, else what --voms asks for
		job         string
		as          string
		let, warned string // names of the queues, what standard error says
	}{
		{"no credential", "none", "plain.jdl", "nobody known;", "", ""},
		{"no credential, VO in the job", "none", "vo.jdl", "a plain member of " + vo, "deny open", ""},
		{"plain proxy", "", "plain.jdl", "CN=Alice Tester of no VO;", "", ""},
		{"plain proxy, VO in the job", "", "vo.jdl", "a plain member of " + vo, "deny open", ""},
		{"member", vo, "plain.jdl", "the holder of /" + vo, "open", ""}, // a VOMS server adds all groups
		{"role", vo + ":/" + vo + "/Role=production", "plain.jdl", "/Role=production", "open role", ""},
		{"role, VO in the job", vo + ":/" + vo + "/Role=production", "vo.jdl", "/Role=production", "open role", ""},
		{"other VO in the job", vo, "other.jdl", "a plain member of biomed", "", "no attributes of biomed, only /" + vo},
	} {
		t.Run(c.name, func(t *testing.T) {
			u.t = t
			u.env["X509_USER_PROXY"] = filepath.Join(t.TempDir(), "proxy")
			if c.proxy != "none" {
				args := []string{"auth", "proxy"}
				if c.proxy != "" {
					args = append(args, "--voms", c.proxy)
				}
				u.grid(0, args...)
			}
			code := 0
			if c.let == "" {
				code = 3
			}
			out, errs := u.grid(code, "match", "--anywhere", "--explain", "--seed", "1", "--info", "file:grid.ldif", c.job)
			if !strings.Contains(out, "Access is judged as for ") || !strings.Contains(out, c.as) {
				t.Errorf("want %q in\n%s", c.as, out)
			}
			table, rejected, _ := strings.Cut(out, "\nRejected, the nearest first\n")
			for _, host := range []string{"deny", "open", "role"} {
				in := strings.Contains(table, host+".example.org/q")
				if in != strings.Contains(c.let, host) || in == strings.Contains(rejected, host+".example.org/q") {
					t.Errorf("%s: let in %v\n%s", host, in, out)
				}
			}
			if c.warned == "" && errs != "" || !strings.Contains(errs, c.warned) {
				t.Errorf("said %q, want %q", errs, c.warned)
			}
		})
	}
}
