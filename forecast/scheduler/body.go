package scheduler

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"gridbroker/forecast/turns"
)

// Bodies are bounded thrice: in bytes, in parts, each of which takes many times
// its bytes when it is decoded, and in how many long ones a subject sends at once.
const (
	maxBody   = 64 << 20
	maxParts  = 100_000
	longBody  = 1 << 20 // bytes; what may be longer takes a turn
	longTurns = 2
)

// A body may be on its way for bodyTime, and for a second more for each slowBody of it that
// has come.
const (
	bodyTime = time.Minute
	slowBody = 4 << 10
)

// bounded reads the body of a request before anything decodes it. It answers
// itself, and returns false, where that is beyond a bound. end is to be called
// when the request is answered.
func bounded(long *turns.Turns, w http.ResponseWriter, r *http.Request, subject string) (end func(), ok bool) {
	end = func() {}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return end, true
	}
	if r.ContentLength < 0 || r.ContentLength > longBody {
		ctx, cancel := context.WithTimeout(r.Context(), bodyTime)
		defer cancel()
		if end = long.Take(ctx, subject, longTurns); end == nil {
			return nil, false // the asker has gone, or has waited for a minute
		}
	}
	conn := http.NewResponseController(w)
	body, err := io.ReadAll(http.MaxBytesReader(w, &arriving{r.Body, conn, time.Now(), 0}, maxBody))
	_ = conn.SetReadDeadline(time.Now().Add(2 * handleTime))
	_ = conn.SetWriteDeadline(time.Now().Add(2 * handleTime)) // the server's began with the request
	if _, big := errors.AsType[*http.MaxBytesError](err); big || err == nil && !strings.HasSuffix(r.URL.Path, "/slots") && parts(body) > maxParts {
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

// arriving is a body on its way.
type arriving struct {
	io.ReadCloser
	conn  *http.ResponseController
	begun time.Time
	got   int64
}

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	_ = a.conn.SetReadDeadline(a.begun.Add(bodyTime + time.Duration(a.got/slowBody)*time.Second)) // else it is the server's
	n, err := a.ReadCloser.Read(p)
	a.got += int64(n)
	return n, err
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
