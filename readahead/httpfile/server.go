package httpfile

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"gridbroker/readahead"
)

// Server serves files of given origins through a cache: GET and HEAD, with
// ranges, of /file?url=URL; figures at /stats.
type Server struct {
	Cache   *readahead.Cache
	Client  *http.Client
	Origins []string      // what URLs must begin with, each with a path that ends in /
	Token   string        // readers must show it as a bearer token; "": none
	Wait    time.Duration // of a request to an origin
	Recheck time.Duration // a file's size and version are asked for so often

	mu    sync.Mutex
	files map[string]*opened
}

type opened struct {
	file *File
	at   time.Time
}

// What a reader may ask for: maxOpened bounds how many files' sizes are
// remembered, maxName an address in bytes, maxRanges the ranges of one request.
const (
	maxOpened = 4096
	maxName   = 8192
	maxRanges = 1024
)

// ServeHTTP answers a reader.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.Token)) != 1 {
		http.Error(w, "no or wrong token", http.StatusUnauthorized)
		return
	}
	if s.Token == "" && !here(r.Host) {
		http.Error(w, "without a token this cache is asked by its address", http.StatusMisdirectedRequest)
		return
	}
	w = patient{w, http.NewResponseController(w), 2*s.Wait + time.Minute}
	if r.ContentLength != 0 { // nobody reads it, and it is not waited for
		http.NewResponseController(w).SetReadDeadline(time.Now())
		http.Error(w, "no body is wanted", http.StatusBadRequest)
		return
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "read only", http.StatusMethodNotAllowed)
	case r.URL.Path == "/stats":
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(s.Cache.Stats())
	case r.URL.Path == "/file":
		s.serveFile(w, r, r.URL.Query().Get("url"))
	default:
		http.NotFound(w, r)
	}
}

// here tells whether a request names who it goes to by an address or as this machine. Any
// other name may be one that a page in a user's browser has let point here.
func here(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return name == "localhost" || net.ParseIP(name) != nil
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	if strings.Count(r.Header.Get("Range"), ",") >= maxRanges {
		http.Error(w, fmt.Sprintf("more than %d ranges at once", maxRanges), http.StatusRequestedRangeNotSatisfiable)
		return
	}
	if !s.allowed(name) {
		http.Error(w, "this cache does not serve that address", http.StatusForbidden)
		return
	}
	f, reader, err := s.begin(r, name)
	if _, changed := errors.AsType[*ChangedError](err); changed { // since its version was last asked for
		s.forget(name)
		f, reader, err = s.begin(r, name)
	}
	if err != nil {
		answer(w, err)
		return
	}
	section := io.NewSectionReader(bound{reader, r.Context(), func() { s.forget(name) }}, 0, f.Size())
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("ETag", `"`+url.QueryEscape(f.Version())+`"`)
	http.ServeContent(w, r, "", time.Time{}, section)
}

// begin opens a file and reads where the answer begins: what the origin refuses is
// told by a status, which cannot be taken back later.
func (s *Server) begin(r *http.Request, name string) (*File, *readahead.Reader, error) {
	f, err := s.open(r.Context(), name)
	if err != nil {
		return nil, nil, err
	}
	reader := s.Cache.Reader(readahead.File{Name: name, Version: f.Version(), Size: f.Size(), From: f})
	if from, asked := asks(r); asked && from < f.Size() {
		_, err = reader.ReadAtContext(r.Context(), make([]byte, 1), from)
	}
	return f, reader, err
}

// asks is the first byte that a request is sure to be answered with.
func asks(r *http.Request) (from int64, asked bool) {
	if r.Method != http.MethodGet || r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Match") != "" || r.Header.Get("If-Range") != "" {
		return 0, false
	}
	text := r.Header.Get("Range")
	if text == "" {
		return 0, true
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(text, "bytes="), "-")
	from, err := strconv.ParseInt(first, 10, 64)
	return from, err == nil && from >= 0
}

// forget makes a file's size and version be asked for again.
func (s *Server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, name)
}

// patient gives a reader so long for each piece of an answer: who takes none
// does not hold his connection for ever.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	wait    time.Duration
}

// Write sends a piece.
func (p patient) Write(b []byte) (int, error) {
	p.control.SetWriteDeadline(time.Now().Add(p.wait))
	return p.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (p patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// bound reads until a context ends; a file that has changed is opened anew for the next reader.
type bound struct {
	reader  *readahead.Reader
	ctx     context.Context
	changed func()
}

// ReadAt reads through the cache.
func (b bound) ReadAt(p []byte, off int64) (int, error) {
	n, err := b.reader.ReadAtContext(b.ctx, p, off)
	if _, changed := errors.AsType[*ChangedError](err); changed {
		b.changed()
	}
	return n, err
}

// allowed says whether an address lies under an origin.
func (s *Server) allowed(name string) bool {
	u, err := url.Parse(name)
	if err != nil || len(name) > maxName || u.User != nil || u.Fragment != "" || u.Path != path.Clean(u.Path) {
		return false
	}
	for _, o := range s.Origins {
		if strings.HasPrefix(u.String(), o) {
			return true
		}
	}
	return false
}

// maxRedirects bounds how often an origin may send a request on.
const maxRedirects = 5

// Redirect lets an origin send requests on to what lies under the origins, as storage with
// doors and pools does, and nowhere else; it is for [http.Client].
func (s *Server) Redirect(next *http.Request, done []*http.Request) error {
	if len(done) > maxRedirects || !s.allowed(next.URL.String()) {
		return http.ErrUseLastResponse
	}
	return nil
}

// open returns what is known of a file, asked for again after a while.
func (s *Server) open(ctx context.Context, name string) (*File, error) {
	s.mu.Lock()
	o := s.files[name]
	s.mu.Unlock()
	if o != nil && time.Since(o.at) < s.Recheck {
		return o.file, nil
	}
	f, err := Open(ctx, s.Client, name, s.Wait)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil || len(s.files) >= maxOpened {
		s.files = map[string]*opened{}
	}
	s.files[name] = &opened{file: f, at: time.Now()}
	return f, nil
}

func answer(w http.ResponseWriter, err error) {
	var status *StatusError
	if errors.As(err, &status) {
		code := http.StatusBadGateway
		if status.Code == http.StatusNotFound || status.Code == http.StatusGone {
			code = status.Code // which programs take for a file that is not there
		}
		http.Error(w, "the origin answered: "+status.Status, code)
		return
	}
	if _, changed := errors.AsType[*ChangedError](err); changed {
		http.Error(w, "the file changes while it is read", http.StatusBadGateway)
		return
	}
	http.Error(w, "the origin cannot be reached", http.StatusBadGateway)
}
