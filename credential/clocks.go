package credential

import (
	"fmt"
	"net/http"
	"time"
)

// Neither certificates nor tokens bear clocks that differ; but proxies made
// here begin 5 minutes in the past, so that up to there most things work.
const (
	ClockNoted  = 30 * time.Second // differences up to this one are passed over
	clockBreaks = clockSlack
)

// Clocks is what is known of how far this machine's clock is ahead of a
// server's; negative: behind.
type Clocks struct {
	From, To time.Duration
	How      string // what the server's clock was read from
}

// ClocksByDate goes by the header Date, which is in whole seconds, of an answer that came at a time by our clock, and took
// so long.
func ClocksByDate(date, at time.Time, took time.Duration) *Clocks {
	late := at.Sub(date)
	return &Clocks{late - took - time.Second, late, "the date of its answer"}
}

// ClocksByAnswer is ClocksByDate of an answer over HTTP that has just come, by the clock now; nil: it has no date.
func ClocksByAnswer(resp *http.Response, now func() time.Time, took time.Duration) *Clocks {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return nil
	}
	return ClocksByDate(date, now(), took)
}

// Ahead is by how much this machine's clock is ahead at most, negative: behind; 0 where that may be passed over.
func (c *Clocks) Ahead() time.Duration {
	switch {
	case c == nil:
		return 0
	case c.From >= ClockNoted:
		return c.To
	case -c.To >= ClockNoted:
		return c.From
	}
	return 0
}

// Finding tells of it: whether the clocks agree, and what comes of it where they do not.
func (c *Clocks) Finding(host string) *Finding {
	f := &Finding{ID: "clock.ok", Severity: OK, Subject: host, What: "the clocks agree within " + Span(max(c.From.Abs(), c.To.Abs(), time.Second)),
		Why: fmt.Sprintf("going by %s; up to %s are passed over", c.How, Span(ClockNoted))}
	least, most, way := c.From, c.To, "ahead of"
	if c.To < 0 {
		least, most, way = -c.To, -c.From, "behind"
	}
	if c.Ahead() == 0 {
		if c.To-c.From > 2*ClockNoted {
			f.What = "the clocks differ by less than " + Span(max(c.From.Abs(), c.To.Abs()))
		}
		return f
	}
	f.ID, f.Severity = "clock.skew", Warning
	if most > clockBreaks {
		f.Severity = Problem
	}
	amount := Span(most)
	if few := Span(least); few != amount && most-least >= ClockNoted {
		amount = few + " to " + amount
	}
	f.What = fmt.Sprintf("this machine's clock is %s %s the server's", amount, way)
	f.Why = "going by " + c.How + "; tokens and proxies are taken for expired or not yet valid"
	f.Mend = "set the clock by NTP (timedatectl set-ntp true); if it is right, tell the site"
	return f
}
