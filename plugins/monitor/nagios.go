package monitor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"gridbroker/durable"
	"gridbroker/plugins"
	"gridbroker/plugins/ask"
)

// check is one state of a host (service "") or of a service on it.
type check struct {
	host, service string
	down          bool // host: down or unreachable; service: critical
	warning       bool // service: warning or unknown
	soft          bool // still being tried again
	downtime      bool // in an announced downtime
	said          string
	at            time.Time
	every         time.Duration // how often it is checked; 0: not known
}

// nagios turns checks into complaints.
type nagios struct {
	critical string // glob of services that forbid the host
	now      func() time.Time
}

// freshChecks is how many check intervals old a check may be, and freshest
// the least age that is never too old.
const (
	freshChecks = 5
	freshest    = 2 * time.Hour
)

func (n nagios) reports(checks []check) []report {
	var rs []report
	for _, c := range checks {
		if c.soft || !c.at.IsZero() && n.now().Sub(c.at).Abs() > max(freshest, freshChecks*c.every) {
			continue
		}
		t := plugins.Trouble{Said: c.said, At: c.at}
		switch {
		case c.downtime:
			t.Critical, t.Said = c.service == "" || n.forbids(c.service), "in a downtime"
		case c.down:
			t.Critical = c.service == "" || n.forbids(c.service)
		case !c.warning:
			continue
		}
		if c.service != "" {
			t.Said = c.service + ": " + t.Said
		}
		rs = append(rs, report{c.host, t})
	}
	return rs
}

func (n nagios) forbids(service string) bool {
	ok, _ := path.Match(n.critical, service)
	return ok
}

func newNagios(u *url.URL, opts Options) (nagios, error) {
	critical, err := pattern(u.Query(), "critical")
	return nagios{critical, opts.Now}, errors.Join(err, onlyParams(u.Query(), "critical"))
}

// maxStatus bounds a status file, in bytes.
const maxStatus = 256 << 20

func openStatusFile(u *url.URL, opts Options) (func(context.Context) ([]report, error), error) {
	name := u.Path
	if name == "" || u.Host != "" {
		return nil, errors.New("want nagios:/path/to/status.dat")
	}
	n, err := newNagios(u, opts)
	return func(context.Context) ([]report, error) {
		f, err := durable.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		checks, err := parseStatus(io.LimitReader(f, maxStatus))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return n.reports(checks), nil
	}, err
}

// parseStatus reads status.dat of Nagios 3 and 4 and of Icinga 1: blocks
// "hoststatus {", lines "name=value", "}". Blocks of other kinds are skipped.
func parseStatus(r io.Reader) ([]check, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	var checks []check
	var block map[string]string
	kind, seen := "", false
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		switch {
		case line == "" || line[0] == '#':
		case block == nil && strings.HasSuffix(line, "{"):
			kind, block, seen = strings.TrimSpace(strings.TrimSuffix(line, "{")), map[string]string{}, true
		case line == "}" && block != nil:
			if kind == "hoststatus" || kind == "servicestatus" {
				checks = append(checks, statusCheck(kind == "hoststatus", block))
			}
			block = nil
		case block != nil:
			name, value, _ := strings.Cut(line, "=")
			block[name] = value
		default:
			return nil, fmt.Errorf("line %d: %.40q is not of a status file", n, line)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	if block != nil || !seen {
		return nil, errors.New("the file is cut, or none of Nagios")
	}
	return checks, nil
}

// statusCheck reads the states: hosts 0 up, 1 down, 2 unreachable; services 0
// ok, 1 warning, 2 critical, 3 unknown; state_type 1 is a hard state.
func statusCheck(host bool, m map[string]string) check {
	state := m["current_state"]
	c := check{
		host: m["host_name"], service: m["service_description"], said: m["plugin_output"],
		soft: m["state_type"] == "0" && state != "0", at: epoch(m["last_check"]),
		downtime: m["scheduled_downtime_depth"] != "" && m["scheduled_downtime_depth"] != "0",
	}
	if minutes, err := strconv.ParseFloat(m["check_interval"], 64); err == nil && minutes > 0 && minutes < 1e6 {
		c.every = time.Duration(minutes * float64(time.Minute))
	}
	if host {
		c.down = state == "1" || state == "2"
	} else {
		c.down, c.warning = state == "2", state == "1" || state == "3"
	}
	return c
}

// epoch reads seconds since 1970.
func epoch(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

func openStatusJSON(u *url.URL, opts Options) (func(context.Context) ([]report, error), error) {
	n, err := newNagios(u, opts)
	base := *u
	base.Scheme, base.RawQuery = strings.TrimPrefix(u.Scheme, "nagios+"), ""
	return func(ctx context.Context) ([]report, error) {
		var checks []check
		for _, query := range []string{"hostlist", "servicelist"} {
			base.RawQuery = "query=" + query + "&details=true"
			text, err := opts.Ask.Get(ctx, base.String(), "application/json")
			if err != nil {
				return nil, err
			}
			more, err := parseStatusJSON(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", u.Host, err)
			}
			checks = append(checks, more...)
		}
		return n.reports(checks), nil
	}, err
}

// statusEntry is one state in the JSON CGI of Nagios 4. Host states are bits: 1
// pending, 2 up, 4 down, 8 unreachable; service states 1 pending, 2 ok, 4
// warning, 8 unknown, 16 critical. Times are in ms.
type statusEntry struct {
	Status    int     `json:"status"`
	StateType int     `json:"state_type"`
	Said      string  `json:"plugin_output"`
	At        int64   `json:"last_check"`
	Downtime  int     `json:"scheduled_downtime_depth"`
	Every     float64 `json:"check_interval"` // minutes
}

func parseStatusJSON(text []byte) ([]check, error) {
	var doc struct {
		Result struct {
			Type    string `json:"type_text"`
			Message string `json:"message"`
		} `json:"result"`
		Data struct {
			Hosts    map[string]statusEntry            `json:"hostlist"`
			Services map[string]map[string]statusEntry `json:"servicelist"`
		} `json:"data"`
	}
	if err := ask.JSON(text, &doc); err != nil {
		return nil, fmt.Errorf("not an answer of statusjson.cgi: %w", err)
	}
	if doc.Data.Hosts == nil && doc.Data.Services == nil {
		return nil, fmt.Errorf("statusjson.cgi: %s %s", doc.Result.Type, doc.Result.Message)
	}
	var checks []check
	for host, e := range doc.Data.Hosts {
		c := e.check(host, "")
		c.down = e.Status&(4|8) != 0
		checks = append(checks, c)
	}
	for host, services := range doc.Data.Services {
		for name, e := range services {
			c := e.check(host, name)
			c.down, c.warning = e.Status&16 != 0, e.Status&(4|8) != 0
			checks = append(checks, c)
		}
	}
	return checks, nil
}

func (e statusEntry) check(host, service string) check {
	c := check{host: host, service: service, said: e.Said, soft: e.StateType == 0 && e.Status > 2, downtime: e.Downtime > 0}
	if e.At > 0 {
		c.at = time.UnixMilli(e.At)
	}
	if e.Every > 0 && e.Every < 1e6 {
		c.every = time.Duration(e.Every * float64(time.Minute))
	}
	return c
}
