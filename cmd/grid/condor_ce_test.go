package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// From what a BDII says of an HTCondor-CE to the output of a job there, with
// nothing but a token for that CE: its address stands in GLUE 1.3 among the
// capabilities, in GLUE 2.0 among the other information.
func TestBDIINamesHTCondorCE(t *testing.T) {
	t.Parallel()
	env := testbed.Env(t, "condor")
	ce := env["GRID_CONDOR_CE"]
	if ce == "" {
		t.Skip("the testbed has no HTCondor-CE: testdata/testbed/condor/up.sh starts it")
	}
	issuer, err := testbed.OpenIssuer(env["GRID_CONDOR_CE_ISSUER_DIR"], env["GRID_CONDOR_CE_ISSUER"])
	if err != nil {
		t.Fatal(err)
	}
	token, err := issuer.Token("alice", time.Hour, map[string]any{"aud": ce})
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ := strings.Cut(ce, ":")
	for name, text := range map[string]string{
		"glue13": "dn: GlueCEUniqueID=" + ce + "/" + host + "-condor,Mds-Vo-name=TESTBED,Mds-Vo-name=local,o=grid\nobjectClass: GlueCE\n" +
			"GlueCEUniqueID: " + ce + "/" + host + "-condor\nGlueCECapability: HTCondorCEId=" + ce + "/" + host + "-condor\n" +
			"GlueCEStateStatus: Production\nGlueCEAccessControlBaseRule: VO:test\n",
		"glue20": "dn: GLUE2ShareID=" + host + "_test,GLUE2ServiceID=" + host + ",GLUE2GroupID=resource,GLUE2DomainID=TESTBED,o=glue\n" +
			"objectClass: GLUE2ComputingShare\nGLUE2ShareID: " + host + "_test\nGLUE2ComputingShareComputingServiceForeignKey: " + host + "\n" +
			"GLUE2ComputingShareServingState: production\nGLUE2EntityOtherInfo: HTCondorCEId=" + ce + "/" + host + "-condor\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newMachine(t)
			home, err := os.MkdirTemp(env["GRID_CONDOR_JOBS"], "ce") // where the pool's user can read what is sent
			if err == nil {
				err = os.Chmod(home, 0o711)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(home) })
			w.env = append(w.env, "HOME="+home, "PATH="+env["GRID_CONDOR_BIN"]+":"+os.Getenv("PATH"), "CONDOR_CONFIG="+env["GRID_CONDOR_CE_CONFIG"],
				"X509_CERT_DIR="+env["GRID_CONDOR_CE_CERTIFICATES"], "BEARER_TOKEN="+token)
			bdii, job := filepath.Join(w.dir, "bdii.ldif"), filepath.Join(w.dir, "job.jdl")
			testbed.WriteFile(t, bdii, []byte(text), 0o600)
			testbed.WriteFile(t, filepath.Join(w.dir, "in.txt"), []byte("through the CE\n"), 0o600)
			testbed.WriteFile(t, job, []byte(`Executable = "/bin/cat"; Arguments = "in.txt"; InputSandbox = "in.txt"; StdOutput = "out.txt"; OutputSandbox = "out.txt"; VirtualOrganisation = "test";`), 0o600)
			out, said, code := w.try("submit", "--wait", "--no-cache", "--scouts", "0", "--info", "file:"+bdii, job)
			if code != 0 {
				t.Fatalf("exit code %d: %s%s", code, out, said)
			}
			if out, said, code = w.try("output", "--all", "--dir", filepath.Join(w.dir, "back")); code != 0 {
				t.Fatalf("exit code %d: %s%s", code, out, said)
			}
			files, err := filepath.Glob(filepath.Join(w.dir, "back", "*", "out.txt"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%v %v\n%s%s", files, err, out, said)
			}
			if text, err := os.ReadFile(files[0]); err != nil || string(text) != "through the CE\n" {
				t.Errorf("%q %v", text, err)
			}
		})
	}
}
