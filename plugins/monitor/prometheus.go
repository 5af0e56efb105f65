package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"gridbroker/plugins"
	"gridbroker/plugins/ask"
)

// alerts is asked when the URL names no expression: every alert that fires;
// its label severity tells how bad it is.
const alerts = `ALERTS{alertstate="firing"}`

func openPrometheus(u *url.URL, opts Options) (func(context.Context) ([]report, error), error) {
	base := *u
	base.Scheme, base.RawQuery = strings.TrimPrefix(u.Scheme, "prometheus+"), ""
	base.Path = strings.TrimSuffix(base.Path, "/") + "/api/v1/query"
	type question struct {
		expr     string
		critical bool
	}
	var asked []question
	for _, name := range []string{"critical", "warning"} {
		for _, expr := range u.Query()[name] {
			asked = append(asked, question{expr, name == "critical"})
		}
	}
	if len(asked) == 0 {
		asked = []question{{alerts, false}}
	}
	return func(ctx context.Context) ([]report, error) {
		var all []report
		for _, q := range asked {
			base.RawQuery = url.Values{"query": {q.expr}}.Encode()
			text, err := opts.Ask.Get(ctx, base.String(), "application/json")
			if err != nil && len(text) == 0 {
				return nil, err
			}
			rs, perr := parsePrometheus(text, q.critical)
			if perr != nil {
				return nil, fmt.Errorf("%s: %s: %w", u.Host, q.expr, perr)
			}
			all = append(all, rs...)
		}
		return all, nil
	}, onlyParams(u.Query(), "critical", "warning")
}

// prometheusAnswer is the answer to an instant query (Prometheus HTTP API v1).
type prometheusAnswer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
}

// series is one member of a vector.
type series struct {
	Labels map[string]string  `json:"metric"`
	Value  [2]json.RawMessage `json:"value"` // Unix seconds, "number"
}

// parsePrometheus reads a vector: as in an alert, every series in it is a
// complaint. The host is the label host, ce, nodename or instance.
func parsePrometheus(text []byte, critical bool) ([]report, error) {
	var a prometheusAnswer
	if err := ask.JSON(text, &a); err != nil {
		return nil, fmt.Errorf("not an answer of Prometheus: %w", err)
	}
	if a.Status != "success" {
		return nil, errors.New(cmp.Or(a.Error, "not an answer of Prometheus"))
	}
	if a.Data.Type != "vector" {
		return nil, fmt.Errorf("the expression gives a %s, want a vector", a.Data.Type)
	}
	var vector []series
	if err := json.Unmarshal(a.Data.Result, &vector); err != nil {
		return nil, fmt.Errorf("not a vector: %w", err)
	}
	var rs []report
	for _, s := range vector {
		t := plugins.Trouble{Critical: critical || s.Labels["severity"] == "critical" || s.Labels["severity"] == "page"}
		var at float64
		if json.Unmarshal(s.Value[0], &at) == nil && at > 0 && at < 1e11 {
			t.At = time.UnixMilli(int64(at * 1000))
		}
		var value string
		json.Unmarshal(s.Value[1], &value)
		t.Said = cmp.Or(s.Labels["alertname"], s.Labels["__name__"], "expression") + " = " + value
		if s.Labels["alertname"] != "" {
			t.Said = "alert " + s.Labels["alertname"]
		}
		if host := hostOf(s.Labels); host != "" {
			rs = append(rs, report{host, t})
		}
	}
	return rs, nil
}

func hostOf(labels map[string]string) string {
	for _, name := range []string{"host", "ce", "nodename", "instance"} {
		v := labels[name]
		if v == "" {
			continue
		}
		if u, err := url.Parse(v); err == nil && u.Host != "" {
			return u.Hostname() // a probed URL
		}
		if host, _, err := net.SplitHostPort(v); err == nil {
			return host
		}
		return v
	}
	return ""
}
