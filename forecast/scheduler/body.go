package scheduler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"gridbroker/forecast/turns"
	"gridbroker/foreign"
)

// Bodies are bounded thrice: in bytes, in parts, each of which takes many times
// its bytes when it is decoded, and in how many long ones a subject sends at once.
const (
	maxBody   = 64 << 20
	maxParts  = 100_000
	longBody  = 64 << 10 // bytes; what may be longer takes a turn
	longTurns = 2
	longWait  = 30 * time.Second // for a turn; shorter than those who ask wait
)

// bounded reads the body of a request before anything decodes it. It answers
// itself, and returns false, where that is beyond a bound. end is to be called
// when the request is answered, or was not taken.
func bounded(long *turns.Turns, w http.ResponseWriter, r *http.Request, subject string) (end func(), ok bool) {
	end = func() {}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return end, true
	}
	if r.ContentLength < 0 || r.ContentLength > longBody {
		ctx, cancel := context.WithTimeout(r.Context(), longWait)
		defer cancel()
		turn := long.Take(ctx, subject, longTurns)
		if turn == nil {
			turns.Later(w, 5, fmt.Sprintf("%d long requests of yours are on their way or worked on", longTurns))
			return end, false
		}
		end = turn
	}
	conn := http.NewResponseController(w)
	body, err := io.ReadAll(http.MaxBytesReader(w, turns.Arrive(w, r.Body), maxBody))
	_ = conn.SetReadDeadline(time.Now().Add(2 * handleTime))
	_ = conn.SetWriteDeadline(time.Now().Add(2 * handleTime)) // the server's began with the request
	if _, big := errors.AsType[*http.MaxBytesError](err); big || err == nil && !strings.HasSuffix(r.URL.Path, "/slots") && manyParts(foreign.CountValues(body, manyParts)) {
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

// manyParts reports whether a JSON document has more values than one may.
func manyParts(v foreign.Values) bool { return v.Lists+v.Objects+v.Elements+v.Members > maxParts }
