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
// its bytes when it is decoded, and in how many long ones a subject sends at once. Of all
// subjects together those have a room in memory that are short, those that are long, and agents' news.
const (
	maxBody   = 64 << 20
	maxParts  = 100_000
	longBody  = 64 << 10 // bytes; what may be longer takes a turn
	longTurns = 2
	longWait  = 30 * time.Second // for a turn; shorter than those who ask wait
	roomSize  = 2 * maxBody      // of each of the rooms
)

// bodies is what bounds them.
type bodies struct {
	turns              turns.Turns // of long ones
	short, large, news turns.Room
}

// room is where the body of a request has to find its place.
func (b *bodies) room(r *http.Request) *turns.Room {
	switch {
	case isNews(r):
		return &b.news
	case isLong(r):
		return &b.large
	}
	return &b.short
}

// isNews tells of a cluster's slots, from its agent.
func isNews(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/slots") }

func isLong(r *http.Request) bool { return r.ContentLength < 0 || r.ContentLength > longBody }

// bounded reads the body of a request before anything decodes it. It answers
// itself, and returns false, where that is beyond a bound. end is to be called
// when the request is answered, or was not taken.
func bounded(b *bodies, w http.ResponseWriter, r *http.Request, subject string) (end func(), ok bool) {
	end = func() {}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return end, true
	}
	if isLong(r) {
		ctx, cancel := context.WithTimeout(r.Context(), longWait)
		defer cancel()
		turn := b.turns.Take(ctx, subject, longTurns)
		if turn == nil {
			turns.Later(w, 5, fmt.Sprintf("%d long requests of yours are on their way or worked on", longTurns))
			return end, false
		}
		end = turn
	}
	conn := http.NewResponseController(w)
	held := b.room(r).Hold(r.Context(), turns.Arrive(w, r.Body), roomSize)
	turn := end
	end = func() { held.End(); turn() }
	body, err := io.ReadAll(http.MaxBytesReader(w, held, maxBody))
	held.Whole()
	_ = conn.SetReadDeadline(time.Now().Add(2 * handleTime))
	_ = conn.SetWriteDeadline(time.Now().Add(2 * handleTime)) // the server's began with the request
	if _, big := errors.AsType[*http.MaxBytesError](err); big || err == nil && !isNews(r) && manyParts(foreign.CountValues(body, manyParts)) {
		http.Error(w, "the body has too many bytes or parts", http.StatusRequestEntityTooLarge)
		return end, false
	}
	if errors.Is(err, turns.ErrNoRoom) {
		turns.Later(w, 5, "there are as many bytes of requests under way as may be, and this one's came slowly")
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
