package main_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"gridbroker/testdata/testbed"
)

// rogueDNS answers questions for TXT records on loopback, by UDP and TCP; a
// name without an answer is passed over in silence where slow says so.
func rogueDNS(t testing.TB, answer func(name string) (texts []string, slow bool)) string {
	t.Helper()
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		texts, slow := answer(strings.ToLower(strings.TrimSuffix(q.Question[0].Name, ".")))
		if slow {
			return
		}
		for _, text := range texts {
			m.Answer = append(m.Answer, &dns.TXT{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Txt: []string{text}})
		}
		if _, udp := w.LocalAddr().(*net.UDPAddr); udp && m.Len() > 512 {
			m.Answer, m.Truncated = nil, true
		}
		_ = w.WriteMsg(m)
	})
	addr := testbed.FreeAddress(t)
	for _, network := range []string{"udp", "tcp"} {
		srv, started := &dns.Server{Addr: addr, Net: network, Handler: handler}, make(chan struct{})
		srv.NotifyStartedFunc = func() { close(started) }
		go func() { _ = srv.ListenAndServe() }()
		<-started
		t.Cleanup(func() { _ = srv.Shutdown() })
	}
	return addr
}

// resolves has the victim ask a name server.
func (v *victim) resolves(addr string) {
	v.t.Helper()
	testbed.WriteFile(v.t, filepath.Join(v.dir, ".config/grid/grid.toml"), fmt.Appendf(nil, "resolver = %q\n", addr), 0o600)
}

// goodDirectory is a directory of one share.
func goodDirectory(t testing.TB) string {
	return rogueLDAP(t, func(s search) {
		s.say(ldapMessage(s.id, ldapEntry("GLUE2ShareID=good,o=glue", ldapAttr("objectClass", "GLUE2ComputingShare"), ldapAttr("GLUE2ShareID", "good.example.org:q"))),
			ldapMessage(s.id, ldapDone(0, "")))
	})
}

// TestRogueRegistry: whatever is in a registry, it costs no more than was said,
// is named, and keeps back neither another branch of it nor another source.
func TestRogueRegistry(t *testing.T) {
	testbed.Measures(t)
	for name, c := range map[string]struct {
		branch   func(name, directory string) ([]string, bool)
		endpoint func(search)
	}{
		"registries without end": {branch: func(name, _ string) (out []string, _ bool) {
			for i := range 400 {
				out = append(out, fmt.Sprintf("u=dns://r%d-%d.example.org t=archery.group", len(name), i))
			}
			return out, false
		}},
		"names without an answer": {branch: func(name, _ string) (out []string, _ bool) {
			for i := range 900 {
				out = append(out, fmt.Sprintf("u=dns://s%d.example.org t=archery.group", i))
			}
			return out, strings.HasPrefix(name, "s")
		}},
		"endpoints without an answer": {branch: func(_, dir string) ([]string, bool) { return endpointsAt(dir), false }, endpoint: func(search) { time.Sleep(time.Minute) }},
		"endpoints of 60 MB": {branch: func(_, dir string) ([]string, bool) { return endpointsAt(dir), false },
			endpoint: rogueDirectories["shares without names"]},
		"endpoints of giant words":   {branch: func(_, dir string) ([]string, bool) { return endpointsAt(dir), false }, endpoint: rogueDirectories["giant words"]},
		"endpoints of giant entries": {branch: func(_, dir string) ([]string, bool) { return endpointsAt(dir), false }, endpoint: rogueDirectories["empty values"]},
		"endpoints of much":          {branch: func(_, dir string) ([]string, bool) { return endpointsAt(dir), false }, endpoint: rogueDirectories["much, then cut"]},
	} {
		t.Run(name, func(t *testing.T) {
			directory, good := rogueLDAP(t, c.endpoint), goodDirectory(t)
			v := newVictim(t)
			v.resolves(rogueDNS(t, func(name string) ([]string, bool) {
				switch name {
				case "_archery.example.org":
					return []string{"u=dns://rogue.example.org t=archery.group", "u=dns://well.example.org t=archery.group"}, false
				case "well.example.org":
					return []string{"u=ldap://" + good + "/o=glue t=org.nordugrid.ldapglue2"}, false
				}
				return c.branch(name, directory)
			}))
			deadline := "60s" // so long that it is not what bounds the cost
			if strings.Contains(name, "without an answer") {
				deadline = "6s"
			}
			args := []string{"resources", "--no-cache", "--deadline", deadline, "--info", "archery:example.org", "--info", v.well(), "--info", "ldap://" + good}
			h := v.grid(0, args...)
			v.bounded(h, "archery:example.org")
			for _, want := range []string{"well.example.org", "good.example.org"} {
				if !strings.Contains(h.out, want) {
					t.Errorf("%s is not there:\n%.2000s", want, h.out)
				}
			}
			if h.took > 50*time.Second {
				t.Errorf("it took %v", h.took)
			}
			if strings.Contains(name, "without an answer") {
				v.interrupted(args...)
			}
		})
	}
}

func endpointsAt(directory string) (out []string) {
	for i := range 300 {
		out = append(out, fmt.Sprintf("u=ldap://%s/o=glue%%2Cou=%d t=org.nordugrid.ldapglue2", directory, i))
	}
	return out
}

// TestRegistriesNameNoPrivateHosts: what a registry names on this machine or
// beside it is not asked, whatever its name resolves to, and gets no
// credential; but a host that the user named is.
func TestRegistriesNameNoPrivateHosts(t *testing.T) {
	testbed.Measures(t)
	came := make(chan string, 100)
	trap := testbed.Listen(t, func(conn net.Conn) { came <- "a connection" })
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		came <- r.URL.Path + string(text)
	}))
	t.Cleanup(web.Close)
	_, port, _ := net.SplitHostPort(trap)
	v := newVictim(t, "BEARER_TOKEN=secret-of-alice", "https_proxy="+web.URL)
	v.resolves(rogueDNS(t, func(string) ([]string, bool) {
		return []string{"u=ldap://" + trap + "/o=glue t=org.nordugrid.ldapglue2", "u=ldap://localhost:" + port + " t=org.nordugrid.ldapng", "u=ldaps://[::1]:" + port + " t=org.nordugrid.ldapng",
			"u=ldap://[::ffff:127.0.0.1]:" + port + "/o=grid t=bdii_site", "u=ldap://0.0.0.0:" + port + " t=bdii_site", "u=https://" + trap + "/arex t=org.nordugrid.arcrest",
			"u=https://0x7f000001:" + port + "/arex t=org.nordugrid.arcrest", "u=ldap://169.254.169.254/o=grid t=bdii_site", "u=file:///etc/passwd t=org.nordugrid.arcrest",
			"u=local: t=org.nordugrid.arcrest", "u=slurm+ssh://" + trap + " t=bdii_top"}, false
	}))
	h := v.grid(0, "resources", "--no-cache", "--deadline", "30s", "--info", "archery:example.org", "--info", v.well())
	v.bounded(h, "archery:example.org")
	select {
	case what := <-came:
		t.Errorf("somebody came: %s\n%s", what, h.errs)
	default:
	}
	if !strings.Contains(h.errs, "is no public address") {
		t.Errorf("nothing says why: %s", h.errs)
	}
	v.grid(0, "resources", "--no-cache", "--deadline", "30s", "--info", "archery:example.org", "--info", "ldap://"+trap)
	if len(came) < 2 {
		t.Errorf("a host that the user named is not asked")
	}
}
