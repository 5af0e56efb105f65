package scheduler

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Bodies are bounded thrice: in bytes, in parts, each of which takes many times
// its bytes when it is decoded, and in how many long ones a subject sends at once.
const (
	maxBody   = 64 << 20
	maxParts  = 100_000
	longBody  = 1 << 20 // bytes; what may be longer takes a turn
	longTurns = 2
)

// turns lets each subject send so many long bodies at once; further ones wait.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

type turn struct {
	places chan struct{}
	users  int
}

// take waits for a turn. What it returns ends it; nil where the context has ended before.
func (t *turns) take(ctx context.Context, subject string) (end func()) {
	t.mu.Lock()
	if t.of == nil {
		t.of = map[string]*turn{}
	}
	own := t.of[subject]
	if own == nil {
		own = &turn{places: make(chan struct{}, longTurns)}
		t.of[subject] = own
	}
	own.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.of, subject)
		}
	}
	select {
	case own.places <- struct{}{}:
		return func() { <-own.places; leave() }
	case <-ctx.Done():
		leave()
		return nil
	}
}

// bounded reads the body of a request before anything decodes it. It answers
// itself, and returns false, where that is beyond a bound. end is to be called
// when the request is answered.
func (t *turns) bounded(w http.ResponseWriter, r *http.Request, subject string) (end func(), ok bool) {
	end = func() {}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return end, true
	}
	if r.ContentLength < 0 || r.ContentLength > longBody {
		if end = t.take(r.Context(), subject); end == nil {
			return nil, false // the asker has gone, or has waited for a minute
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, long := errors.AsType[*http.MaxBytesError](err); long || err == nil && !strings.HasSuffix(r.URL.Path, "/slots") && parts(body) > maxParts {
		http.Error(w, "the body has too many bytes or parts", http.StatusRequestEntityTooLarge)
		return end, false
	}
	if err != nil {
		http.Error(w, "the body did not arrive", http.StatusBadRequest)
		return end, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return end, true
}

// parts is at most how many values a JSON document has.
func parts(body []byte) (n int) {
	quoted := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n
}
