package credential

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// echo answers a request with what it was shown as credential, decoded or not, in
// the given form.
func echo(form string) func(net.Conn) {
	return func(conn net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		shown := strings.TrimPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
		r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization"))
		_, password, _ := r.BasicAuth()
		fmt.Fprintf(conn, form, shown+" is "+password)
	}
}

// A proxy that says its password back, however it does, has none of it printed; nor has
// what was to be a proxy's address.
func TestProxySaysItsPasswordBack(t *testing.T) {
	const written, password, sent = "hunter%402", "hunter@2", "bWU6aHVudGVyQDI="
	for form, target := range map[string]string{
		"HTTP/1.1 407 wrong: %s\r\nContent-Length: 0\r\n\r\n":              "https",
		"HTTP/1.1 407\r\nX: %s\r\n\r\n":                                    "https",
		"%s\r\n\r\n":                                                       "https",
		"HTTP/1.1 403 not for %s\r\nContent-Length: 0\r\n\r\n":             "http",
		"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\nwrong: %s\n": "http",
	} {
		addr := testbed.Listen(t, echo(form))
		t.Setenv("https_proxy", "http://me:"+written+"@"+addr)
		proxy := &url.URL{Scheme: "http", Host: addr, User: url.UserPassword("me", password)}
		client := &http.Client{Transport: ThroughProxy(&http.Transport{Proxy: http.ProxyURL(proxy)})}
		resp, err := client.Get(target + "://ce.example.org/arex")
		said := fmt.Sprint(err)
		if err == nil {
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			said = fmt.Sprint(resp.Status, string(text), err)
			if resp.ContentLength != int64(len(text)) {
				t.Errorf("%d bytes, not %d", len(text), resp.ContentLength)
			}
		}
		for _, secret := range []string{written, password, sent} {
			if strings.Contains(said, secret) {
				t.Errorf("%q: %s", form, said)
			}
		}
		if strings.Contains(form, "wrong: ") && !strings.Contains(said, "(the proxy's password)") {
			t.Errorf("%q: %s", form, said)
		}
	}
	bad := "http://me:hunter 2@[proxy"
	t.Setenv("https_proxy", bad)
	broken := func(*http.Request) (*url.URL, error) {
		return nil, fmt.Errorf("invalid proxy address %q: %w", bad, io.ErrUnexpectedEOF)
	}
	_, err := (&http.Client{Transport: ThroughProxy(&http.Transport{Proxy: broken})}).Get("https://ce.example.org/")
	if err == nil || strings.Contains(err.Error(), "hunter 2") || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
