package forecast

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/ask"
	"gridbroker/rank"
)

// Client asks the services named in the configuration, and those that
// resources publish themselves.
type Client struct {
	Ask      *ask.Client
	Subjects []ask.Subject
	Now      func() time.Time
}

var _ plugins.Forecaster = (*Client)(nil)

// Schemes are those of service URLs.
var Schemes = []string{"http", "https"}

// Name implements plugins.Forecaster.
func (c *Client) Name() string { return "forecasts" }

// Forecast implements plugins.Forecaster: each service is asked once for all
// of its queues.
func (c *Client) Forecast(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	return ask.About(ctx, c.Ask, rs, c.serviceOf, func(ctx context.Context, u string, about []*glue.Resource) (map[string]rank.Forecast, error) {
		byQueue, err := c.one(ctx, u, job, about)
		out := make(map[string]rank.Forecast, len(about))
		for _, r := range about {
			if f, ok := byQueue[r.Queue]; ok {
				out[r.ID] = f
			}
		}
		return out, err
	})
}

// serviceOf is the URL of the service that tells about a resource; the
// configuration goes before what is published.
func (c *Client) serviceOf(r *glue.Resource) string {
	if u := ask.Named(c.Subjects, r); u != "" {
		return u
	}
	for _, e := range r.Services {
		if e.Interface == glue.InterfaceForecast && (strings.HasPrefix(e.URL, "http://") || strings.HasPrefix(e.URL, "https://")) {
			return e.URL
		}
	}
	return ""
}

// userOf is who jobs would run as, where all of some resources are reached by a
// login: the user that their URLs name; "" where they name none, or several.
func userOf(rs []*glue.Resource) (user string) {
	for i, r := range rs {
		name := ""
		for _, e := range r.Endpoints {
			if u, err := url.Parse(e.URL); err == nil && u.User != nil && strings.HasSuffix(u.Scheme, "+ssh") {
				name = u.User.Username()
			}
		}
		if i > 0 && name != user {
			return ""
		}
		user = name
	}
	return user
}

func (c *Client) one(ctx context.Context, u string, job *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	q := question(job)
	q.User = userOf(rs)
	asked := make(map[string]bool, len(rs))
	for _, r := range rs {
		if !asked[r.Queue] {
			asked[r.Queue] = true
			q.Queues = append(q.Queues, r.Queue)
		}
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	text, err := c.Ask.Do(ctx, "POST", u, map[string]string{"Content-Type": "application/json", "Accept": "application/json"}, string(body))
	if err != nil {
		return nil, err
	}
	byQueue := map[string]rank.Forecast{}
	err = c.Ask.Alone(ctx, text, func() error {
		a, err := parse(text, c.Now())
		if err != nil {
			return err
		}
		for _, s := range a.Starts {
			if f, ok := s.forecast(u, a.Made); ok && asked[s.Queue] {
				byQueue[s.Queue] = f
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ask.ServiceOf(u), err)
	}
	return byQueue, nil
}

// Corrected gives the forecasts of another Forecaster what is known of their
// sources' past errors.
type Corrected struct {
	plugins.Forecaster
	Correct func(ctx context.Context, fs map[string]rank.Forecast)
}

// Forecast implements plugins.Forecaster.
func (c Corrected) Forecast(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error) {
	fs, err := c.Forecaster.Forecast(ctx, job, rs)
	c.Correct(ctx, fs)
	return fs, err
}
