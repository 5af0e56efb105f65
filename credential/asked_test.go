package credential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"gridbroker/asked"
)

// says begins a server that says a text to the first who asks it, whatever he asks, until end.
func says(t *testing.T, text string) (addr string, end func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, text)
	}()
	return l.Addr().String(), func() { l.Close() }
}

// What is told of a request is in no words of the server's, which may say a token back that it was shown.
func TestAskedWithoutTheServersWords(t *testing.T) {
	const token = "eyJhbGciOiJub25lIn0.geheim.x"
	for said, want := range map[string]string{
		"HTTP/1.1 401 " + token + "\r\nContent-Length: 0\r\n\r\n": ": 401 Unauthorized (",
		"HTTP/1.1 999 " + token + "\r\nContent-Length: 0\r\n\r\n": ": 999 (",
		"HTTP/1.1 " + token + "\r\n\r\n":                          ": no answer (",
		token + "\r\n\r\n":                                        ": no answer (",
	} {
		addr, end := says(t, said)
		var told []string
		ctx := asked.Telling(t.Context(), func(what string) { told = append(told, what) })
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/a?key=%s", addr, token), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if resp, err := (&http.Client{Transport: Wary(&http.Transport{})}).Do(req); err == nil {
			resp.Body.Close()
		}
		end()
		if text := strings.Join(told, "\n"); !strings.Contains(text, want) || strings.Contains(text, "geheim") {
			t.Errorf("of %q it tells %q", said, text)
		}
	}
}

// An answer may come to who has given up meanwhile, and the server's words may be in what is wrong with it.
func TestAskedByWhoHasGivenUp(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	var told []string
	req, err := http.NewRequestWithContext(asked.Telling(ctx, func(what string) { told = append(told, what) }), http.MethodGet, "https://ce.example.org/", nil)
	if err != nil {
		t.Fatal(err)
	}
	tell(req, &http.Response{StatusCode: 200}, nil, 0)
	tell(req, nil, errors.New(`malformed HTTP response "Bearer geheim"`), 0)
	if text := strings.Join(told, ", "); text != "GET https://ce.example.org/: 200 OK (0s), GET https://ce.example.org/: no answer: context canceled (0s)" {
		t.Error(text)
	}
}
