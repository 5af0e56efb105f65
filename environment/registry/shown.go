package registry

import (
	"net/http"
	"strings"
	"sync"
)

// maxShown is how many secrets are remembered: a login, and the tokens that it was exchanged for.
const maxShown = 100

// shown are the secrets that requests have shown, which whoever answers may say back.
type shown struct {
	mu      sync.Mutex
	secrets []string
}

// note remembers what a request shows.
func (s *shown) note(r *http.Request) {
	_, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	_, password, _ := r.BasicAuth()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range []string{text, password} {
		if secret != "" && len(s.secrets) < maxShown {
			s.secrets = append(s.secrets, secret)
		}
	}
}

// hush takes out of an error what was shown.
func (s *shown) hush(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := err.Error()
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "[our login]")
	}
	return &hushed{err, text}
}

// hushed is an error in other words.
type hushed struct {
	err  error
	text string
}

// Error implements error.
func (h *hushed) Error() string { return h.text }

// Unwrap gives what kind of error it is.
func (h *hushed) Unwrap() error { return h.err }
