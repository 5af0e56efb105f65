package daemon

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"gridbroker/forecast/turns"
)

// askers bounds what each of those who ask a manager has under way there, by certificate: their requests, among them the links
// that have not greeted yet, the links that have, and what is long or is answered at length.
type askers struct{ requests, links, long turns.Turns }

// So much may one certificate have at once: a host may have many brokers and managers. A long request waits for its turn.
const (
	requestsAtOnce = 256
	linksAtOnce    = 256
	longAtOnce     = 2
	longWait       = 30 * time.Second
)

// askerOf is whose certificate a request shows: the key; the address where there is none.
func askerOf(r *http.Request) string {
	if key := keyOf(r.TLS); key != "" {
		return key
	}
	return turns.Address(r.RemoteAddr)
}

// guard refuses what is more than an asker may have under way.
func (a *askers) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end := a.requests.Try(askerOf(r), requestsAtOnce)
		if end == nil {
			full(w)
			return
		}
		defer end()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), greetedKey{}, end)))
	})
}

func full(w http.ResponseWriter) {
	turns.Later(w, 1, "you have as many requests or links here as may be")
}

// longTurn waits for a turn; nil, and it was told, where none comes.
func (a *askers) longTurn(w http.ResponseWriter, r *http.Request) (end func()) {
	ctx, cancel := context.WithTimeout(r.Context(), longWait)
	defer cancel()
	if end = a.long.Take(ctx, askerOf(r), longAtOnce); end == nil {
		full(w)
	}
	return end
}

// greetedKey is for what ends a request's being counted among those under way.
type greetedKey struct{}

// greeting is what comes over a link until its first line has come.
type greeting struct {
	io.Reader
	left int // bytes that the line may still have; below 0: it has come
	conn *http.ResponseController
}

// A greeting is a short line, and is said at once.
const (
	maxGreeting  = 16 << 10
	greetingTime = 10 * time.Second
)

// greet begins to read a link.
func greet(r *http.Request, control *http.ResponseController) *greeting {
	_ = control.SetReadDeadline(time.Now().Add(greetingTime)) // of a stream of HTTP/2 it can be set
	return &greeting{r.Body, maxGreeting, control}
}

// greeted makes a link of what was a request: it lasts, and is counted among those of its certificate.
func (g *greeting) greeted(a *askers, r *http.Request) (end func(), err error) {
	end = a.links.Try(askerOf(r), linksAtOnce)
	if end == nil {
		return nil, errors.New("there are as many links of your certificate as may be")
	}
	if request, ok := r.Context().Value(greetedKey{}).(func()); ok {
		request()
	}
	g.left = -1
	_ = g.conn.SetReadDeadline(time.Time{})
	return end, nil
}

// Read implements io.Reader.
func (g *greeting) Read(p []byte) (int, error) {
	if g.left == 0 {
		return 0, errors.New("no greeting")
	}
	if g.left > 0 && len(p) > g.left {
		p = p[:g.left]
	}
	n, err := g.Reader.Read(p)
	if g.left > 0 {
		g.left -= n
	}
	return n, err
}
