package queuelen

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server serves the lengths of one LRMS: GET gives the JSON document, POST of
// a SOAP echo request the published service's answer. Many askers cost the
// LRMS one question per MaxAge.
type Server struct {
	Read   func(ctx context.Context) (Answer, error)
	MaxAge time.Duration // of an answer that is served again; 0: 5 s
	Now    func() time.Time

	mu   sync.Mutex
	last Answer
	err  error
	at   time.Time
}

// maxQuestion bounds a request's body, in bytes; maxRead the time of one
// question to the LRMS.
const (
	maxQuestion = 64 << 10
	maxRead     = 30 * time.Second
)

// answer returns the last answer while it is fresh, else a new one. Askers
// that come meanwhile wait for it.
func (s *Server) answer(ctx context.Context) (Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := s.MaxAge
	if age == 0 {
		age = 5 * time.Second
	}
	if !s.at.IsZero() && s.Now().Sub(s.at) < age {
		return s.last, s.err
	}
	// One asker's departure must not spoil the answer for the others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxRead)
	defer cancel()
	s.last, s.err = s.Read(ctx)
	s.last.Schema, s.at = Schema, s.Now() // a failure counts as long as an answer: those who waited do not each ask again
	return s.last, s.err
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		text, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxQuestion))
		if err != nil || !strings.Contains(string(text), echoNS) {
			http.Error(w, "want a SOAP echo request in namespace "+echoNS, http.StatusBadRequest)
			return
		}
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "GET the JSON document, or POST a SOAP echo request", http.StatusMethodNotAllowed)
		return
	}
	a, err := s.answer(req.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if req.Method == http.MethodPost {
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		w.Write(echoAnswer(a))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(a)
}
