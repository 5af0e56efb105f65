package monitor

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"

	"gridbroker/foreign"
	"gridbroker/plugins"
)

// gmetad serves its XML to whoever connects to this port, and hangs up.
const (
	gmetadPort = "8651"
	maxGanglia = 256 << 20
	maxPart    = 64 << 10 // of one element's tag
	maxUnwell  = 100_000  // hosts that it complains about
)

func openGanglia(u *url.URL, opts Options) (func(context.Context) ([]report, error), error) {
	if u.Hostname() == "" {
		return nil, errors.New("want ganglia://host[:port]")
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), gmetadPort)
	}
	silent := time.Duration(0)
	if s := u.Query().Get("silent"); s != "" {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("silent=%s is no number of seconds", s)
		}
		silent = time.Duration(n) * time.Second
	}
	limit := opts.Ask.Timeout
	if limit == 0 {
		limit = 3 * time.Second
	}
	return func(ctx context.Context) ([]report, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		rs, err := parseGanglia(io.LimitReader(conn, maxGanglia), silent, opts.Now())
		if err != nil {
			return nil, fmt.Errorf("ganglia://%s: %w", address, errors.Join(err, ctx.Err()))
		}
		return rs, nil
	}, onlyParams(u.Query(), "silent")
}

// silentTimes is how many times its own TMAX a host may be without news before
// Ganglia counts it as down.
const silentTimes = 4

// parseGanglia reads hosts: TN is the age of the last news in seconds, TMAX
// how often there should be some. One that is silent is down; one with
// load_one above twice its cpu_num is overloaded.
func parseGanglia(r io.Reader, silent time.Duration, now time.Time) ([]report, error) {
	in := &foreign.Parts{From: r, Most: maxPart}
	dec := xml.NewDecoder(in)
	dec.CharsetReader = latin1
	var rs []report
	var host gangliaHost
	seen := false
	for {
		in.Next()
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) && seen {
			return rs, nil
		} else if err != nil {
			return nil, fmt.Errorf("not the XML of gmetad: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "GANGLIA_XML":
				seen = true
			case "HOST":
				host = gangliaHost{}
				host.attrs(t.Attr)
			case "METRIC":
				host.metric(t.Attr)
			}
		case xml.EndElement:
			if t.Name.Local == "HOST" {
				if trouble, ok := host.trouble(silent, now); ok {
					rs = append(rs, report{host.name, trouble})
				}
				if len(rs) > maxUnwell {
					return nil, fmt.Errorf("more than %d hosts are not well", maxUnwell)
				}
			}
		}
	}
}

// latin1 reads the encoding gmetad declares.
func latin1(charset string, in io.Reader) (io.Reader, error) {
	if charset != "ISO-8859-1" && charset != "iso-8859-1" {
		return nil, fmt.Errorf("encoding %s", charset)
	}
	return &latinReader{in: in}, nil
}

// latinReader turns ISO 8859-1 into UTF-8.
type latinReader struct {
	in  io.Reader
	buf []byte
}

func (l *latinReader) Read(p []byte) (int, error) {
	if len(l.buf) == 0 {
		raw := make([]byte, 4096)
		n, err := l.in.Read(raw)
		for _, c := range raw[:n] {
			l.buf = append(l.buf, string(rune(c))...)
		}
		if n == 0 {
			return 0, err
		}
	}
	n := copy(p, l.buf)
	l.buf = l.buf[n:]
	return n, nil
}

type gangliaHost struct {
	name       string
	tn, tmax   float64
	load, cpus float64
}

func (h *gangliaHost) attrs(as []xml.Attr) {
	for _, a := range as {
		switch a.Name.Local {
		case "NAME":
			h.name = a.Value
		case "TN":
			h.tn, _ = strconv.ParseFloat(a.Value, 64)
		case "TMAX":
			h.tmax, _ = strconv.ParseFloat(a.Value, 64)
		}
	}
}

func (h *gangliaHost) metric(as []xml.Attr) {
	name, value := "", ""
	for _, a := range as {
		switch a.Name.Local {
		case "NAME":
			name = a.Value
		case "VAL":
			value = a.Value
		}
	}
	switch name {
	case "load_one":
		h.load, _ = strconv.ParseFloat(value, 64)
	case "cpu_num":
		h.cpus, _ = strconv.ParseFloat(value, 64)
	}
}

func (h *gangliaHost) trouble(silent time.Duration, now time.Time) (plugins.Trouble, bool) {
	limit := silent.Seconds()
	if limit == 0 {
		limit = silentTimes * h.tmax
	}
	switch {
	case limit > 0 && h.tn > limit:
		return plugins.Trouble{Critical: true, Said: fmt.Sprintf("no news for %.0f s", h.tn), At: now}, true
	case h.cpus > 0 && h.load > 2*h.cpus:
		return plugins.Trouble{Said: fmt.Sprintf("load %.1f on %.0f CPUs", h.load, h.cpus), At: now}, true
	}
	return plugins.Trouble{}, false
}
