package ask

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"gridbroker/credential"
)

// Services that others name are not asked at this machine's own ports, neither
// by address nor by name; those that the user names are; no redirect is followed.
func TestBound(t *testing.T) {
	var visits atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/there", http.StatusFound)
		}
		if r.URL.Path == "/head" {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(named []string, target string) error {
		c := &Client{HTTP: Bound(credential.Wary(http.DefaultTransport.(*http.Transport).Clone()), named, nil)}
		_, err := c.Get(t.Context(), target, "*/*")
		return err
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[64:ff9b::7f00:1]"} {
		err := ask([]string{"ldap://bdii.example.org:2170/o=glue"}, "http://"+host+":"+u.Port()+"/x")
		if e, ok := errors.AsType[*credential.NotPublicError](err); !ok {
			t.Errorf("%s: %v, %v", host, err, e)
		}
	}
	if _, err := (&Client{}).Get(t.Context(), srv.URL+"/x", "*/*"); !errors.Is(err, errNoClient) {
		t.Errorf("nobody has said what bounds it: %v", err)
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d visits", n)
	}
	if err := ask([]string{srv.URL}, srv.URL+"/x"); err != nil || visits.Load() != 1 {
		t.Errorf("%v, %d visits", err, visits.Load())
	}
	if err := ask([]string{srv.URL}, srv.URL+"/away"); err == nil || !strings.Contains(err.Error(), "302") || visits.Load() != 2 {
		t.Errorf("%v, %d visits", err, visits.Load())
	}
	if err := ask([]string{srv.URL}, srv.URL+"/head"); err == nil || !strings.Contains(err.Error(), "exceeded 65536 bytes") {
		t.Errorf("headers without end: %v", err)
	}
	for address, ok := range map[string]bool{"192.0.2.1:80": true, "10.0.0.1:80": false, "192.168.1.1:80": false, "172.16.0.1:80": false, "169.254.169.254:80": false,
		"100.64.0.1:80": false, "[fe80::1]:80": false, "[fd00::1]:80": false, "[2001:db8::1]:80": true, "224.0.0.1:80": false, "[::]:80": false,
		"0.1.2.3:80": false, "192.0.0.8:80": false, "198.18.0.1:80": false, "240.0.0.1:80": false, "255.255.255.255:80": false, "[::127.0.0.1]:80": false,
		"[::1%lo]:80": false, "[fe80::1%1]:80": false, "[fec0::1]:80": false, "[100::1]:80": false, "[64:ff9b:1::c000:201]:80": false,
		"[64:ff9b::a00:1]:80": false, "[64:ff9b::a9fe:a9fe]:80": false, "[64:ff9b::c000:201]:80": true,
		"[::ffff:0:192.168.1.1]:80": false, "[2002:7f00:1::1]:80": false, "[2002:c000:201::1]:80": true} {
		if err := credential.PublicAddress(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
