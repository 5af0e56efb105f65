package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gridbroker/credential"
)

// Neither certificates nor tokens bear clocks that differ; but proxies made
// here begin 5 minutes in the past, so that up to there most things work.
const (
	skewNoted  = 30 * time.Second
	skewBreaks = 5 * time.Minute
)

// span is what is known of how far this machine's clock is ahead of a
// server's; negative: behind.
type span struct {
	from, to time.Duration
	how      string // what the server's clock was read from
}

// clock compares this machine's clock with the server's.
func (d Doctor) clock(ctx context.Context, u *url.URL, set *credential.Set, plain answer) []credential.Finding {
	s, why := d.skew(ctx, u, set, plain)
	if s == nil {
		return []credential.Finding{{ID: "clock.unknown", Severity: credential.Note, Subject: u.Host, What: "the clocks could not be compared", Why: why,
			Mend: "compare them by hand: date -u here and there"}}
	}
	return []credential.Finding{s.finding(u.Host)}
}

// skew measures in the best way that this server allows.
func (d Doctor) skew(ctx context.Context, u *url.URL, set *credential.Set, plain answer) (s *span, why string) {
	if !plain.date.IsZero() {
		return byDate(plain), ""
	}
	if x := set.X509; x != nil && x.Valid(d.Env.Now()) == nil {
		if s := (prober{d, set, u}).measure(ctx); s != nil {
			return s, ""
		}
	}
	why = "its answers bear no date"
	for _, x := range []*credential.X509{nil, set.X509} { // some tell everybody
		at, err := d.created(ctx, set.Dialer(x).HTTPClient(d.timeout()), u)
		if err == nil {
			late := d.Env.Now().Sub(at)
			return &span{late - infoAge, late, "the date of its information, which may be that old"}, ""
		}
		why = "its answers bear no date, and its information could not be read: " + cause(err)
	}
	return nil, why
}

// byDate goes by the header Date, which is in whole seconds.
func byDate(a answer) *span {
	late := a.at.Sub(a.date)
	return &span{late - a.took - time.Second, late, "the date of its answer"}
}

func (s *span) finding(host string) credential.Finding {
	f := credential.Finding{ID: "clock.ok", Severity: credential.OK, Subject: host, What: "the clocks agree within " + credential.Span(max(s.from.Abs(), s.to.Abs(), time.Second)),
		Why: fmt.Sprintf("going by %s; up to %s are passed over", s.how, credential.Span(skewNoted))}
	least, most, way := s.from, s.to, "ahead of"
	if s.to < 0 {
		least, most, way = -s.to, -s.from, "behind"
	}
	if least < skewNoted { // so much at least is certain
		if s.to-s.from > 2*skewNoted {
			f.What = "the clocks differ by less than " + credential.Span(max(s.from.Abs(), s.to.Abs()))
		}
		return f
	}
	f.ID, f.Severity = "clock.skew", credential.Warning
	if most > skewBreaks {
		f.Severity = credential.Problem
	}
	amount := credential.Span(least)
	if more := credential.Span(most); more != amount {
		amount += " to " + more
	}
	f.What = fmt.Sprintf("this machine's clock is %s %s the server's", amount, way)
	f.Why = "going by " + s.how + "; tokens and proxies are taken for expired or not yet valid"
	f.Mend = "set the clock by NTP (timedatectl set-ntp true); if it is right, tell the site"
	return f
}

// prober reads a server's clock from which proxies it takes: A-REX sends no
// date, but refuses a proxy outside of its time to the second.
type prober struct {
	Doctor
	set *credential.Set
	url *url.URL
}

// reach is how far apart clocks may be to be measured.
const reach = 72 * time.Hour

// measure returns nil when the server's answers tell nothing about its clock.
func (p prober) measure(ctx context.Context) *span {
	const how = "which short-lived proxies it takes"
	near, err := p.takes(ctx, -skewNoted, skewNoted)
	if err != nil {
		return nil
	}
	if near {
		if any, err := p.takes(ctx, 2*skewNoted, 10*skewNoted); any || err != nil {
			return nil // it takes proxies of any time, or failed
		}
		return &span{-skewNoted, skewNoted, how}
	}
	for most := 2 * skewNoted; most <= reach && ctx.Err() == nil; most *= 2 {
		if ok, err := p.takes(ctx, -most, -most/2); ok && err == nil {
			return &span{most / 2, most, how}
		}
		if ok, err := p.takes(ctx, most/2, most); ok && err == nil {
			return &span{-most, -most / 2, how}
		}
	}
	return nil
}

// takes tries a proxy that is valid between two moments, relative to this
// machine's clock.
func (p prober) takes(ctx context.Context, from, to time.Duration) (bool, error) {
	x, now := p.set.X509, p.Env.Now()
	begin, end := now.Add(from), now.Add(to)
	if b := x.NotBefore(); begin.Before(b) {
		begin = b
	}
	if !end.After(begin) || !begin.Before(x.NotAfter()) {
		return false, nil // no such proxy can be made
	}
	proxy, err := x.NewProxy(credential.ProxyOptions{Now: begin, Begin: begin, Lifetime: end.Sub(begin), Key: "ecdsa521"})
	if err != nil {
		return false, err
	}
	r := p.request(ctx, p.set.Dialer(proxy).HTTPClient(p.timeout()), p.url, "")
	if _, refused := credential.RemoteAlert(r.err); refused {
		return false, nil
	}
	return r.err == nil, r.err
}

// infoAge is how old the information document of a healthy ARC CE can be.
const infoAge = 15 * time.Minute

// created reads when an ARC CE made its information document.
func (d Doctor) created(ctx context.Context, client *http.Client, u *url.URL) (time.Time, error) {
	defer client.CloseIdleConnections()
	resp, err := get(ctx, client, base(u)+"/rest/1.0/info", "application/xml", "")
	if err != nil {
		return time.Time{}, err
	}
	defer resp.Body.Close()
	head, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return time.Time{}, err
	}
	_, rest, ok := strings.Cut(string(head), `CreationTime="`)
	if !ok {
		return time.Time{}, errors.New("no date in it; the server says " + resp.Status)
	}
	stamp, _, _ := strings.Cut(rest, `"`)
	return time.Parse(time.RFC3339, stamp)
}

// localClock compares the clock with dates that it must be past: those of files
// made by others.
func localClock(now time.Time, set *credential.Set) []credential.Finding {
	at, file := time.Time{}, ""
	if set.Trust != nil {
		at, file = set.Trust.Dated()
	}
	if x := set.X509; x != nil && x.NotBefore().After(at) {
		at, file = x.NotBefore(), x.Path()
	}
	if t := set.Token; t != nil && t.Issued().After(at) {
		at, file = t.Issued(), t.Source()
	}
	if at.Sub(now) <= skewNoted {
		return nil
	}
	return []credential.Finding{{ID: "clock.behind", Severity: credential.Problem, Subject: file, What: "this machine's clock is behind by " + credential.Span(at.Sub(now)) + " at least",
		Why: "this was made at " + at.UTC().Format("2006-01-02 15:04 UTC") + ", which is in the future by this machine's clock", Mend: "set the clock by NTP (timedatectl set-ntp true)"}}
}
