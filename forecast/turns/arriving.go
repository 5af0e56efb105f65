package turns

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// A body may be on its way for BodyTime, and for a second more for each slowBody bytes of it that have come.
const (
	BodyTime = time.Minute
	slowBody = 4 << 10
)

// Arriving is the body of a request on its way: it fails where it comes more slowly than it may.
type Arriving struct {
	io.ReadCloser
	conn  *http.ResponseController
	begun time.Time
	got   int64

	mu   sync.Mutex // of the deadline
	over bool
}

// Arrive begins to read the body of a request that is answered with w.
func Arrive(w http.ResponseWriter, body io.ReadCloser) *Arriving {
	return &Arriving{ReadCloser: body, conn: http.NewResponseController(w), begun: time.Now()}
}

// Read implements io.Reader.
func (a *Arriving) Read(p []byte) (int, error) {
	if !a.goesOn() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := a.ReadCloser.Read(p)
	a.got += int64(n)
	return n, err
}

// goesOn sets until when the next part is to come.
func (a *Arriving) goesOn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		_ = a.conn.SetReadDeadline(a.begun.Add(BodyTime + time.Duration(a.got/slowBody)*time.Second)) // else it is the server's
	}
	return !a.over
}

// GiveUp ends the reading, whoever waits in it.
func (a *Arriving) GiveUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	_ = a.conn.SetReadDeadline(time.Unix(1, 0))
}

// Later refuses a request of one who has as much under way as may be, and tells in how many seconds to come again
// (429, RFC 6585, section 4; RFC 9110, section 10.2.3).
func Later(w http.ResponseWriter, seconds int, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	http.Error(w, why, http.StatusTooManyRequests)
}
