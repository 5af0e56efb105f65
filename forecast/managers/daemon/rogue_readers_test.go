package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/managers"
)

// refusing is a neighbour to whom nothing can be written.
type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, errors.New("gone") }

// TestManyLinksThatDoNotRead: over all links of one certificate no more waits to be written than may, others are told all the
// same, and what a link held is free when it is gone.
func TestManyLinksThatDoNotRead(t *testing.T) {
	large := frame{Message: &managers.Message{Rooms: managers.Set{{Tags: strings.Repeat("x", 2<<20)}}}} // counts twice
	var all incoming
	link := func(who string) *conn {
		c := newConn(t.Context(), who)
		c.all = &all
		return c
	}
	waits := func(links []*conn) (bytes int64) {
		for _, c := range links {
			for range len(c.out) {
				f := <-c.out
				bytes += f.weight()
				c.out <- f
			}
		}
		return bytes
	}
	var mute []*conn
	for range 60 {
		c := link("rogue")
		c.send(large)
		mute = append(mute, c)
	}
	if n := waits(mute); n > maxUnread || n < maxUnread/2 {
		t.Errorf("%d MB wait for one certificate", n>>20)
	}
	if mute[0].ctx.Err() != nil || mute[59].ctx.Err() == nil {
		t.Error("the first link was cut off, or the last was not")
	}
	honest := link("honest")
	honest.send(large)
	if waits([]*conn{honest}) == 0 || honest.ctx.Err() != nil {
		t.Error("another certificate is not told")
	}
	told, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	honest.write(io.Discard, honest.end, time.Second)
	for _, c := range mute {
		c.write(refusing{}, func() {}, time.Second)
	}
	if again := link("rogue"); told.Err() != nil {
		t.Error("it takes a minute")
	} else if again.send(large); again.ctx.Err() != nil || waits([]*conn{again}) == 0 {
		t.Error("a new link of the same certificate is not told, though the others are gone")
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if got := fmt.Sprint(all.waiting.of); !strings.HasPrefix(got, "map[rogue:419") || strings.Contains(got, "honest") {
		t.Errorf("counted: %s", got)
	}
}

// TestManyCertificatesThatDoNotRead: all certificates of one hand together have no more wait for them, and no more lines that have not
// come whole, than twice what all may, and whoever has little is told and heard all the same.
func TestManyCertificatesThatDoNotRead(t *testing.T) {
	large := frame{Message: &managers.Message{Rooms: managers.Set{{Tags: strings.Repeat("x", 1<<20)}}}} // counts twice
	var all incoming
	for i := range 100 {
		who := fmt.Sprint("rogue", i)
		for range 30 {
			c := newConn(t.Context(), who)
			c.all = &all
			c.send(large)
		}
		for all.take(who, longLine) {
		}
	}
	if all.waiting.sum > 2*allUnread || all.held.sum > 2*allLines {
		t.Errorf("%d MB wait to be written, %d MB to be whole", all.waiting.sum>>20, all.held.sum>>20)
	}
	honest := newConn(t.Context(), "honest")
	honest.all = &all
	if honest.send(large); honest.ctx.Err() != nil || len(honest.out) != 1 {
		t.Error("another certificate is not told")
	}
	if !all.take("honest", longLine) {
		t.Error("another certificate is not heard")
	}
}
