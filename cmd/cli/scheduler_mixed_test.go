package cli_test

import (
	"context"
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

// A user with a proxy hands jobs to two replicas over TLS, which book them at three
// Slurms, 22.05 here, another 22.05 that local users keep busy and 24.11, both over SSH,
// an HTCondor pool and, with what the user delegates, an A-REX in front of the first
// Slurm. The leader is killed while they are under way. Every job runs once, where it
// wants to.
func TestSchedulerOverThreeKindsOfSites(t *testing.T) {
	t.Parallel()
	arc, condor, busy, newer := testbed.NeedARC(t), testbed.Env(t, "condor"), testbed.Env(t, "slurm2"), testbed.Env(t, "slurm24")
	ce := testbed.Env(t, "slurmce")["GRID_ARC_SLURM"]
	s := newScene(t, condor["GRID_CONDOR_JOBS"]) // the pool's tools see this directory alone
	s.secure(arc)
	s.pool(condor)
	s.login(newer["GRID_SLURM24_SSH_CONFIG"], busy["GRID_SLURM2_SSH_CONFIG"])
	over := "slurm+ssh://slurm24/home/condorjob/" + filepath.Base(s.dir)
	beside := "slurm+ssh://slurm2" + s.dir + "/slurm2"
	sites := map[string]string{"slurm1": "slurm:", "slurm2": beside, "slurm24": over, "pool": "condor:", "arex": ce}
	var clusters []string
	for name, endpoint := range sites {
		clusters = append(clusters, name+" "+endpoint)
	}
	s.configure("cert = \"host.pem\"\nkey = \"host.key\"\n", clusters...)
	for i := range s.replicas {
		s.serve(i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	locals := s.on(busy["GRID_SLURM2_CONF"]).localUsers(ctx, "0.5")
	for name, lrms := range map[string][]string{"slurm1": {"slurm:"}, "slurm2": {beside, "--start", "partition", "--partition", "guest", "--ttl", "30s"}, "slurm24": {over}, "pool": {"condor:"}, "arex": {"slurm:"}} {
		s.start("agent of "+name, append([]string{"agent", "run", "--cluster", name, "--scheduler", s.url(1), "--start", "plain", "--token-file", "agent.token", "--lrms"}, lrms...)...)
	}
	if said, err := s.command("ping", s.url(0)).Output(); !strings.Contains(string(said), "let in as /DC=test/DC=grid/CN=Alice") { // agents may be on their way
		t.Errorf("%s, %v", said, err)
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
		if said := s.must("log", id); strings.Count(said, "Z sent ") != 1 || !strings.Contains(said, " ended "+site+" done") {
			t.Errorf("a job that wants %s:\n%s", site, said)
		}
	}
	for round := range 2 {
		for _, site := range []string{"slurm1", "slurm2", "slurm24", "arex"} {
			s.ranOnce(fmt.Sprintf("%s-%d", site, round))
		}
	}
	s.balanced()
	cancel()
	if n := <-locals; n == 0 {
		t.Error("no local user handed in a job")
	}
}

// login gives all the SSH configurations of a user.
func (s *scene) login(configs ...string) {
	var all []byte
	for _, name := range configs {
		text, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(append(all, text...), '\n')
	}
	if err := os.Mkdir(filepath.Join(s.dir, ".ssh"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.write(".ssh/config", string(all))
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
