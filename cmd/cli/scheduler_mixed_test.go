package cli_test

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A user with a proxy hands jobs to two replicas over TLS, which book them at two
// Slurms, 22.05 here and 24.11 over SSH, an HTCondor pool and, with what the user
// delegates, an A-REX in front of the first Slurm. The leader
// is killed while they are under way. Every job runs once, where it wants to.
func TestSchedulerOverThreeKindsOfSites(t *testing.T) {
	t.Parallel()
	arc, condor, newer := testbed.NeedARC(t), testbed.Env(t, "condor"), testbed.Env(t, "slurm24")
	ce := testbed.Env(t, "slurmce")["GRID_ARC_SLURM"]
	s := newScene(t, condor["GRID_CONDOR_JOBS"]) // the pool's tools see this directory alone
	s.secure(arc)
	for _, name := range []string{"GRID_CONDOR_BIN", "GRID_CONDOR_JOBS"} {
		s.env = append(s.env, name+"="+condor[name])
	}
	s.env = append(s.env, "PATH="+condor["GRID_CONDOR_BIN"]+":"+os.Getenv("PATH"))
	s.login(newer["GRID_SLURM24_SSH_CONFIG"])
	over := "slurm+ssh://slurm24/home/condorjob/" + filepath.Base(s.dir)
	sites := map[string]string{"slurm1": "slurm:", "slurm24": over, "pool": "condor:", "arex": ce}
	var clusters []string
	for name, endpoint := range sites {
		clusters = append(clusters, name+" "+endpoint)
	}
	s.configure("cert = \"host.pem\"\nkey = \"host.key\"\n", clusters...)
	for i := range s.replicas {
		s.serve(i)
	}
	for name, lrms := range map[string]string{"slurm1": "slurm:", "slurm24": over, "pool": "condor:", "arex": "slurm:"} {
		s.start("agent of "+name, "agent", "run", "--lrms", lrms, "--cluster", name, "--scheduler", s.url(1), "--start", "plain", "--token-file", "agent.token")
	}
	if said := s.must("ping", s.url(0)); !strings.Contains(said, "let in as /DC=test/DC=grid/CN=Alice") {
		t.Error(said)
	}
	wants := map[string]string{} // by job: the site
	var ids []string
	for round := range 2 {
		for site := range sites {
			name := fmt.Sprintf("%s-%d", site, round)
			id := s.submit(name, fmt.Sprintf("Requirements = other.GlueCEUniqueID == %q;", site))
			wants[id], ids = site, append(ids, id)
		}
		if round == 0 {
			s.killLeader()
		}
	}
	s.wait(ids)
	for id, site := range wants {
		s.must("output", id)
		// A job in the pool has a /tmp of its own: what it did shows in the log alone.
		if said := s.must("log", id); strings.Count(said, " sent ") != 1 || !strings.Contains(said, " ended "+site+" done") {
			t.Errorf("a job that wants %s:\n%s", site, said)
		}
	}
	for round := range 2 {
		s.ranOnce(fmt.Sprintf("slurm1-%d", round))
		s.ranOnce(fmt.Sprintf("slurm24-%d", round))
		s.ranOnce(fmt.Sprintf("arex-%d", round))
	}
	s.balanced()
}

// login gives all the SSH configuration of a user.
func (s *scene) login(config string) {
	text, err := os.ReadFile(config)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.dir, ".ssh"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.write(".ssh/config", string(text))
}

// secure gives the replicas a certificate and the user alice's proxy.
func (s *scene) secure(arc *testbed.ARC) {
	ca := testbed.OpenCA(s.t, arc.CACert, arc.CAKey, time.Now())
	names := slices.Clone(ca.Cert.Subject.Names) // the authority may sign names like its own
	names[len(names)-1].Value = "localhost"
	host := ca.Server(func(c *x509.Certificate) { c.Subject = pkix.Name{ExtraNames: names} })
	s.write("host.pem", string(testbed.PEM(host.Leaf, ca.Cert)))
	s.write("host.key", string(testbed.KeyPEM(s.t, host.PrivateKey.(crypto.Signer))))
	roots := x509.NewCertPool()
	roots.AddCert(ca.Cert)
	s.scheme = "https"
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	s.env = append(s.env, "BEARER_TOKEN_FILE=", "X509_CERT_DIR="+arc.CADir, "X509_USER_PROXY="+arc.Proxy("alice"))
}
