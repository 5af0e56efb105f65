package cli

import (
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"gridbroker/foreign"
)

// complaints is where a daemon's server says what it has against its clients: what
// comes from outside is written there as everywhere, and so much of it in a minute.
func complaints(d *deps) *log.Logger {
	return log.New(&grumble{out: d.env.Err, now: d.env.Now}, "", 0)
}

// mostComplaints is how many of them are written in a minute.
const mostComplaints = 20

// grumble is a writer of complaints, of which whoever connects can cause as many as he
// likes.
type grumble struct {
	out io.Writer
	now func() time.Time

	mu           sync.Mutex
	since        time.Time
	said, unsaid int
}

// Write implements io.Writer: one complaint a call.
func (g *grumble) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); now.Sub(g.since).Abs() >= time.Minute {
		if g.unsaid > 0 {
			fmt.Fprintf(g.out, "grid: and %d more such complaints\n", g.unsaid)
		}
		g.since, g.said, g.unsaid = now, 0, 0
	}
	if g.said++; g.said > mostComplaints {
		g.unsaid++
		return len(p), nil
	}
	_, err := fmt.Fprintf(g.out, "grid: %s\n", foreign.Message(string(p)))
	return len(p), err
}
