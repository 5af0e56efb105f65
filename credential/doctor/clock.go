package doctor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gridbroker/credential"
)

// clock compares this machine's clock with the server's.
func (d Doctor) clock(ctx context.Context, u *url.URL, set *credential.Set, plain answer) []credential.Finding {
	s, why := d.skew(ctx, u, set, plain)
	if s == nil {
		return []credential.Finding{{ID: "clock.unknown", Severity: credential.Note, Subject: u.Host, What: "the clocks could not be compared", Why: why,
			Mend: "compare them by hand: date -u here and there"}}
	}
	return []credential.Finding{*s.Finding(u.Host)}
}

// skew measures in the best way that this server allows.
func (d Doctor) skew(ctx context.Context, u *url.URL, set *credential.Set, plain answer) (s *credential.Clocks, why string) {
	if !plain.date.IsZero() {
		return credential.ClocksByDate(plain.date, plain.at, plain.took), ""
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
			return &credential.Clocks{From: late - infoAge, To: late, How: "the date of its information, which may be that old"}, ""
		}
		why = "its answers bear no date, and its information could not be read: " + cause(err)
	}
	return nil, why
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
func (p prober) measure(ctx context.Context) *credential.Clocks {
	const how = "which short-lived proxies it takes"
	near, err := p.takes(ctx, -credential.ClockNoted, credential.ClockNoted)
	if err != nil {
		return nil
	}
	if near {
		if any, err := p.takes(ctx, 2*credential.ClockNoted, 10*credential.ClockNoted); any || err != nil {
			return nil // it takes proxies of any time, or failed
		}
		return &credential.Clocks{From: -credential.ClockNoted, To: credential.ClockNoted, How: how}
	}
	for most := 2 * credential.ClockNoted; most <= reach && ctx.Err() == nil; most *= 2 {
		if ok, err := p.takes(ctx, -most, -most/2); ok && err == nil {
			return &credential.Clocks{From: most / 2, To: most, How: how}
		}
		if ok, err := p.takes(ctx, most/2, most); ok && err == nil {
			return &credential.Clocks{From: -most, To: -most / 2, How: how}
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
	if at.Sub(now) <= credential.ClockNoted {
		return nil
	}
	return []credential.Finding{{ID: "clock.behind", Severity: credential.Problem, Subject: file, What: "this machine's clock is behind by " + credential.Span(at.Sub(now)) + " at least",
		Why: "this was made at " + at.UTC().Format("2006-01-02 15:04 UTC") + ", which is in the future by this machine's clock", Mend: "set the clock by NTP (timedatectl set-ntp true)"}}
}
