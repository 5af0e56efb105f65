// Package origin serves tests of read-ahead a file and a cache in front of it.
package origin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gridbroker/readahead"
	"gridbroker/readahead/httpfile"
)

// Portion is the bytes that the cache fetches at once.
const Portion = 1000

// A Server is a file of 10,000 bytes, "0123456789" over and over, and a cache
// that reads it for others in portions. Both end with the test.
type Server struct {
	File  string // the file's address at the origin, with an & in it
	Cache string // the cache's base URL
	Gets  atomic.Int64
}

// Serve starts both.
func Serve(t testing.TB) *Server {
	t.Helper()
	s := &Server{}
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			s.Gets.Add(1)
		}
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.Repeat("0123456789", 1000)))
	}))
	t.Cleanup(from.Close)
	cache, err := readahead.Open(t.TempDir(), readahead.Options{Portion: Portion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	served := httptest.NewServer(&httpfile.Server{
		Cache: cache, Client: from.Client(), Origins: []string{from.URL + "/data/"}, Wait: 10 * time.Second,
	})
	t.Cleanup(served.Close)
	s.File, s.Cache = from.URL+"/data/a&b.bin", served.URL
	return s
}

// Script reads bytes 995 to 1004, which lie in two portions, of the file that
// $GRID_STREAM_EVENTS names, and tells what that variable and $OTHER hold.
const Script = `curl -s -r 995-1004 "$GRID_STREAM_EVENTS"; echo; echo "$GRID_STREAM_EVENTS $OTHER"`

// CheckRead looks at what Script printed in a job whose $OTHER is other:
// the right bytes, and whether it read through the cache.
func (s *Server) CheckRead(t testing.TB, out, other string, cached bool) {
	t.Helper()
	address := s.File
	if cached {
		address = s.Cache + "/file?url="
	}
	if !strings.HasPrefix(out, "5678901234\n"+address) || !strings.HasSuffix(out, " "+other+"\n") {
		t.Errorf("out = %q, want it read from %s", out, address)
	}
}

// CheckShared looks at how often the origin was asked by all who read the two
// portions of Script: for each once, and for one that may be fetched ahead.
func (s *Server) CheckShared(t testing.TB) {
	t.Helper()
	if n := s.Gets.Load(); n < 2 || n > 3 {
		t.Errorf("the origin was asked %d times for two portions that all jobs read", n)
	}
}
