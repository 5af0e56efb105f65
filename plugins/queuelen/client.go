package queuelen

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/ask"
	"gridbroker/rank"
)

// Client asks the services named in the configuration, and those that
// resources publish themselves (glue.Resource.Services).
type Client struct {
	Ask      *ask.Client
	Subjects []ask.Subject
	Now      func() time.Time
}

var _ plugins.QueueLengther = (*Client)(nil)

// Schemes are those of service URLs: http and https for the JSON document,
// with "soap+" before them for the echo service.
var Schemes = []string{"http", "https", "soap+http", "soap+https"}

// Name implements plugins.QueueLengther.
func (c *Client) Name() string { return "queue lengths" }

// QueueLengths implements plugins.QueueLengther. Every service is asked once,
// all at the same time.
func (c *Client) QueueLengths(ctx context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error) {
	return ask.About(ctx, c.Ask, rs, c.serviceOf, func(ctx context.Context, u string, about []*glue.Resource) (map[string]rank.QueueLength, error) {
		a, err := c.one(ctx, u)
		if err != nil {
			return nil, err
		}
		out := make(map[string]rank.QueueLength, len(about))
		all := rank.QueueLength{Source: u, LRMS: a.LRMS, Lengths: []int64{a.waiting()}, CE: a.CEWaiting, At: a.At}
		own := a.byName()
		for _, r := range about {
			q := all
			if n, ok := own[r.Queue]; ok {
				q.Own = glue.Some(n)
			}
			out[r.ID] = q
		}
		return out, nil
	})
}

// serviceOf is the URL of the service that tells about a resource; the
// configuration goes before what is published.
func (c *Client) serviceOf(r *glue.Resource) string {
	if u := ask.Named(c.Subjects, r); u != "" {
		return u
	}
	for _, e := range r.Services {
		switch {
		case !strings.HasPrefix(e.URL, "http://") && !strings.HasPrefix(e.URL, "https://"):
		case e.Interface == glue.InterfaceQueues:
			return e.URL
		case e.Interface == glue.InterfaceEcho:
			return "soap+" + e.URL
		}
	}
	return ""
}

func (c *Client) one(ctx context.Context, u string) (Answer, error) {
	target, soap := strings.CutPrefix(u, "soap+")
	parse := parseJSON
	var text []byte
	var err error
	if soap {
		parse = parseEcho
		text, err = c.Ask.Do(ctx, "POST", target, map[string]string{"Content-Type": "text/xml; charset=utf-8", "SOAPAction": `""`}, echoQuestion)
	} else {
		text, err = c.Ask.Get(ctx, target, "application/json")
	}
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	err = c.Ask.Alone(ctx, text, func() (err error) {
		a, err = parse(text)
		return err
	})
	if err != nil {
		return a, fmt.Errorf("%s: %w", ask.ServiceOf(target), err)
	}
	if now := c.Now(); a.At.IsZero() || a.At.After(now) {
		a.At = now
	}
	return a, nil
}

// waiting are the jobs of all queues: nobody needs the length of each, and they would be added up for each resource anew.
func (a Answer) waiting() (n int64) {
	for _, l := range a.lengths() {
		n += l
	}
	return n
}

// byName are the waiting jobs of the queues that have a name.
func (a Answer) byName() map[string]int64 {
	waiting := make(map[string]int64, len(a.Queues))
	for _, q := range a.Queues {
		if q.Name != "" {
			waiting[q.Name] = q.Waiting
		}
	}
	return waiting
}
