package infosys

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"gridbroker/glue"
)

func TestParseArchery(t *testing.T) {
	for text, want := range map[string]string{
		"u=dns://_archery.se.example.org t=org.nordugrid.archery":                 "registry _archery.se.example.org",
		"u=dns:///ce.example.org t=archery.group s=1":                             "registry ce.example.org",
		"u=se.example.org t=org.nordugrid.archery":                                "registry _archery.se.example.org",
		"u=https://ce.example.org:443/arex/rest/1.0 t=org.nordugrid.arcrest":      "https://ce.example.org:443/arex",
		"u=ldap://ce.example.org:2135/o=glue t=org.nordugrid.ldapglue2 s=1":       "ldap://ce.example.org:2135/o=glue",
		"\"u=ldap://b.example.org:2170/o=grid t=org.nordugrid.bdii\"":             "ldap://b.example.org:2170/o=grid",
		"u=https://ce.example.org/arex t=org.nordugrid.arcrest s=0":               "",
		"u=https://ce.example.org/arex t=org.ogf.glue.emies.activitycreation s=1": "",
		"u=http://ce.example.org/arex t=org.nordugrid.arcrest":                    "",
		"o=group id=se": "",
		"":              "",
		"u=dns:// t=x":  "",
	} {
		rec, ok := parseArchery(text)
		got := ""
		if ok {
			got = rec.target
			if rec.registry {
				got = "registry " + got
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// dnsServer answers TXT questions on loopback.
func dnsServer(t *testing.T, zone map[string][]string) string {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &dns.Server{PacketConn: pc, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		texts, ok := zone[strings.ToLower(strings.TrimSuffix(q.Question[0].Name, "."))]
		if !ok {
			m.Rcode = dns.RcodeNameError
		}
		for _, text := range texts {
			m.Answer = append(m.Answer, &dns.TXT{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Txt: []string{text}})
		}
		_ = w.WriteMsg(m)
	})}
	started := make(chan struct{})
	srv.NotifyStartedFunc = func() { close(started) }
	go func() { _ = srv.ActivateAndServe() }()
	<-started
	t.Cleanup(func() { _ = srv.Shutdown() })
	return pc.LocalAddr().String()
}

// A registry of registries that point at each other, a dead name and a dead
// endpoint: what is alive is found once.
func TestArchery(t *testing.T) {
	zone := map[string][]string{
		"_archery.example.org":    {"u=dns://a.example.org t=org.nordugrid.archery", "u=dns://b.example.org t=archery.group", "u=dns://gone.example.org t=archery.group"},
		"a.example.org":           {"u=test://one t=org.nordugrid.bdii", "u=ldap://one.example.org/o=glue t=org.nordugrid.ldapglue2", "u=dns://_archery.example.org t=org.nordugrid.archery"},
		"b.example.org":           {"u=ldap://two.example.org/o=glue t=org.nordugrid.ldapglue2", "u=ldap://one.example.org/o=glue t=org.nordugrid.ldapglue2", "u=dns://deep0.example.org t=archery.group"},
		"_archery.example.org.cc": nil,
	}
	for i := range 20 {
		zone[fmt.Sprintf("deep%d.example.org", i)] = []string{fmt.Sprintf("u=dns://deep%d.example.org t=archery.group", i+1)}
	}
	o := NewOpener(Env{Resolver: dnsServer(t, zone)})
	var (
		mu    sync.Mutex
		asked []string
	)
	o.Register("ldap", func(u *url.URL) (Source, error) {
		mu.Lock()
		asked = append(asked, u.Host)
		mu.Unlock()
		if u.Host == "two.example.org" {
			return &fake{name: u.String(), err: fmt.Errorf("two is down")}, nil
		}
		return &fake{name: u.String(), rs: one(u.Host)}, nil
	})
	src, err := o.Open("archery:example.org")
	if err != nil {
		t.Fatal(err)
	}
	rs, err := src.Resources(t.Context())
	if len(rs) != 1 || rs[0].ID != "one.example.org" {
		t.Errorf("%v", rs)
	}
	for _, want := range []string{"two is down", "gone.example.org", "nested deeper"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not tell of %q", err, want)
		}
	}
	if slices.Sort(asked); !slices.Equal(asked, []string{"one.example.org", "two.example.org"}) {
		t.Errorf("asked %v", asked)
	}
}

func FuzzArchery(f *testing.F) {
	f.Add("u=dns://a t=archery.group", "u=https://x/rest/1.0 t=org.nordugrid.arcrest s=1")
	f.Fuzz(func(t *testing.T, one, two string) {
		a := &Archery{url: "archery:x", start: "x", now: time.Now,
			lookup: func(context.Context, string) ([]string, error) { return []string{one, two}, nil },
			open:   func(string, *glue.Account) (Source, error) { return &fake{rs: []glue.Resource{{}}}, nil }}
		_, _ = a.Resources(t.Context())
	})
}
