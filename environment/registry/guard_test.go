package registry

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A registry elsewhere leads nobody to plain HTTP, nor to this machine and its links, by whatever name.
func TestGuard(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reached := make(chan string, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			reached <- conn.RemoteAddr().String()
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	g := newGuard("registry.example.org", time.Second)
	g.inner.Proxy = nil
	for address, want := range map[string]string{
		"http://store.example.org/blob":             "only HTTPS",
		"http://127.0.0.1:" + port:                  "only HTTPS",
		"https://127.0.0.1:" + port:                 "not followed",
		"https://localhost:" + port:                 "not followed",
		"https://[::ffff:127.0.0.1]:" + port:        "not followed",
		"https://0.0.0.0:" + port:                   "not followed",
		"https://169.254.169.254/latest/meta-data/": "not followed",
		"https://[fe80::1]:" + port:                 "not followed",
	} {
		resp, err := (&http.Client{Transport: g}).Get(address)
		if err == nil {
			resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	own := newGuard("127.0.0.1", time.Second)
	if conn, err := own.dial(t.Context(), "tcp", listener.Addr().String()); err != nil {
		t.Errorf("a registry of this machine: %v", err)
	} else {
		conn.Close()
		<-reached
	}
	select {
	case who := <-reached:
		t.Errorf("%s got through", who)
	default:
	}
}
