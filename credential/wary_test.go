package credential

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A server that begins another protocol, and then says nothing, keeps nobody waiting: no deadline would end the reading.
func TestAnotherProtocol(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n")
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: Wary(&http.Transport{})}
	resp, err := client.Do(r)
	if err == nil {
		resp.Body.Close()
		t.Fatalf("%s was taken for an answer", resp.Status)
	}
	if !strings.Contains(err.Error(), "begins another protocol") || ctx.Err() != nil {
		t.Error(err)
	}
}
