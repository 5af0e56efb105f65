package turns

import (
	"io"
	"net/http"
	"strconv"
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
}

// Arrive begins to read the body of a request that is answered with w.
func Arrive(w http.ResponseWriter, body io.ReadCloser) *Arriving {
	return &Arriving{body, http.NewResponseController(w), time.Now(), 0}
}

// Read implements io.Reader.
func (a *Arriving) Read(p []byte) (int, error) {
	_ = a.conn.SetReadDeadline(a.begun.Add(BodyTime + time.Duration(a.got/slowBody)*time.Second)) // else it is the server's
	n, err := a.ReadCloser.Read(p)
	a.got += int64(n)
	return n, err
}

// Later refuses a request of one who has as much under way as may be, and tells in how many seconds to come again
// (429, RFC 6585, section 4; RFC 9110, section 10.2.3).
func Later(w http.ResponseWriter, seconds int, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	http.Error(w, why, http.StatusTooManyRequests)
}
