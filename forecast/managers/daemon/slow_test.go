package daemon

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestChildThatDoesNotRead: a child that sends signs of life and reads nothing of
// what it is told is cut off, and what it held is free for others.
func TestChildThatDoesNotRead(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t)
	cfg, err := tlsConfig(ca.cert.Raw, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const beat = 50 * time.Millisecond
	d, err := New(t.Context(), Config{Name: "https://" + l.Addr().String(), Dir: t.TempDir(), Client: http.DefaultClient, Beat: beat})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.keep.close() })
	s := Server(cfg, d.Handler())
	go s.ServeTLS(l, "", "")
	t.Cleanup(func() { s.Close() })

	// The window of its stream is full after some twenty signs of life.
	mine, err := cfg.GetConfigForClient(nil)
	if err != nil {
		t.Fatal(err)
	}
	mine.NextProtos = []string{"h2"}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: mine, ForceAttemptHTTP2: true, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64}}}
	t.Cleanup(client.CloseIdleConnections)
	in, out := io.Pipe()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		enc := json.NewEncoder(out)
		for f := (frame{Hello: "https://127.0.0.1:1"}); enc.Encode(f) == nil; f = (frame{}) {
			time.Sleep(beat)
		}
	}()
	resp, err := client.Post("https://"+l.Addr().String()+"/v1/link", "application/json", in)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	began := time.Now()
	select {
	case <-gone:
	case <-time.After(2 * time.Minute):
		in.Close()
		t.Fatal("it is not cut off")
	}
	t.Logf("cut off after %v", time.Since(began).Round(time.Millisecond))
	for end := time.Now().Add(time.Minute); slices.ContainsFunc(d.State().Rows, func(r Row) bool { return r.Up }); time.Sleep(beat) {
		if time.Now().After(end) {
			t.Fatalf("%+v", d.State())
		}
	}
}
