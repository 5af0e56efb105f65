package central

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gridbroker/credential"
	"gridbroker/plugins"
)

// What a scheduler says of itself and of why a job waits: so many versions and reasons, and so many bytes of each word.
const (
	maxReasons  = 64
	maxVersions = 16
	maxSites    = 64
	maxWord     = 1 << 10
)

func clipped(word string) string { return brief(word, maxWord) }

// Ping implements plugins.Pinger.
func (b *Backend) Ping(ctx context.Context, endpoint string) (plugins.Pong, error) {
	c, err := b.client(ctx, endpoint)
	if err != nil {
		return plugins.Pong{}, err
	}
	var out struct {
		Interface string   `json:"interface"`
		Versions  []string `json:"versions"`
		Subject   string   `json:"subject"`
		LetIn     bool     `json:"let_in"`
		Admin     bool     `json:"admin"`
		Sites     []string `json:"sites"`
		Leads     bool     `json:"leads"`
		Hinders   []string `json:"hinders"`
		Said      string   `json:"said"`
	}
	began := time.Now()
	if err := c.do(ctx, "ping", "GET", "/v1/ping", nil, &out); err != nil {
		return plugins.Pong{}, err
	}
	p := plugins.Pong{Interface: clipped(out.Interface), Versions: out.Versions[:min(len(out.Versions), maxVersions)], Identity: clipped(out.Subject), LetIn: out.LetIn, Latency: time.Since(began)}
	for i, v := range p.Versions {
		p.Versions[i] = clipped(v)
	}
	p.Leads, p.Rights, p.ClockAhead = out.Leads, rights(out.Admin, out.Sites), c.clock.last.Load().Ahead()
	for _, why := range out.Hinders[:min(len(out.Hinders), maxReasons)] {
		p.Hinders = append(p.Hinders, clipped(why))
	}
	if !p.LetIn {
		p.Said = cmp.Or(clipped(out.Said), "it does not know this credential")
		if c.unshown() {
			p.Said = notShown + c.lack.Error()
		}
	} else if why := c.short(b.conf.Now()); why != "" {
		p.Hinders = append(p.Hinders, why)
	}
	return p, nil
}

// shortest is for how long what is delegated to a scheduler should be good at least: a job that is not begun by then is held.
const shortest = time.Hour

// short is why what a scheduler is given to act with is soon none any more; "": it is good, or nothing is delegated.
func (c *client) short(now time.Time) string {
	x := c.set.X509
	if x == nil || c.byToken() != nil || c.plain() { // nothing is delegated
		return ""
	}
	f, early := c.clock.wrong(c.endpoint), x.NotBefore().Sub(now)
	switch {
	case f != nil && f.Severity == credential.Problem && c.clock.last.Load().From > 0:
		return fmt.Sprintf("%s, and what is delegated to it begins in its future: %s", f.What, f.Mend)
	case early > 0:
		return fmt.Sprintf("the proxy is not valid for another %s by this machine's clock, and cannot be delegated: set the clock, or make the proxy anew", credential.Span(early))
	}
	if left := x.NotAfter().Sub(now); left < shortest {
		return fmt.Sprintf("the proxy ends in %v, and jobs that are not begun by then are held: grid auth proxy", left.Round(time.Second))
	}
	if end := credential.AttributesEnd(x); !end.IsZero() && end.Sub(now) < shortest {
		return fmt.Sprintf("the proxy's VOMS attributes end in %v, and jobs that are not begun by then are held: grid auth proxy --voms VO", end.Sub(now).Round(time.Second))
	}
	return ""
}

// rights says what somebody may do at a scheduler besides handing in jobs.
func rights(admin bool, sites []string) (list []string) {
	if admin {
		list = append(list, "administer")
	}
	for _, name := range sites[:min(len(sites), maxSites)] {
		list = append(list, "speak for cluster "+clipped(name))
	}
	return list
}
