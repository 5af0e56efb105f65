package central

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gridbroker/foreign"
	"gridbroker/glue"
	"gridbroker/plugins"
)

// delegationLife is how long a delegated proxy lives at most.
const delegationLife = 7 * 24 * time.Hour

// view is a job as the scheduler shows it.
type view struct {
	ID        string        `json:"id"`
	Key       string        `json:"key"`
	VO        string        `json:"vo"`
	Named     string        `json:"named"` // VO that the proxy named with which it was handed in
	State     string        `json:"state"`
	Plugins   plugins.State `json:"plugins"`
	Native    string        `json:"native"`
	Reason    string        `json:"reason"`
	Blocked   string        `json:"blocked"`
	ExitCode  *int          `json:"exit_code"`
	Node      string        `json:"node"`
	Submitted int64         `json:"submitted"`
	Started   int64         `json:"started"`
	Ended     int64         `json:"ended"`
	Output    []string      `json:"output"`
	OnHold    bool          `json:"on_hold"`
	Booking   *place        `json:"booking"`
	Outlook   *place        `json:"outlook"`
}

type place struct {
	Cluster string  `json:"cluster"`
	From    int64   `json:"from"`
	Chance  float64 `json:"chance"`
	Turn    bool    `json:"turn"` // in the site's own queue, which is expected to let it begin then
}

type viewList struct {
	Jobs []view `json:"jobs"`
}

func at(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// longestRun is a hundred years, in seconds: what is longer is no run time.
const longestRun = 100 * 365 * 86400

// status is the job in the words of all back-ends.
func (v view) status(h plugins.Handle) plugins.Status {
	s := plugins.Status{Handle: h, State: v.Plugins, Native: brief(v.words(), maxSaid), Reason: brief(v.reason(), maxSaid), Node: brief(v.where(), maxSaid), Submitted: at(v.Submitted), Started: at(v.Started), Ended: at(v.Ended)}
	switch v.Plugins {
	case plugins.Accepted, plugins.Preparing, plugins.Queued, plugins.Running, plugins.Held, plugins.Finishing, plugins.Done, plugins.Failed, plugins.Cancelled, plugins.Lost:
	default: // of a later version: kept in a record, no event could move the job again
		s.State = plugins.Unknown
		s.Err = &plugins.Error{Kind: plugins.Unavailable, Op: "status", Endpoint: h.Endpoint, Said: fmt.Sprintf("it says that the job is %q", v.Plugins)}
	}
	if v.ExitCode != nil {
		s.ExitCode = glue.Some(*v.ExitCode)
	}
	if v.Started > 0 && v.Ended > v.Started && v.Ended-v.Started < longestRun {
		s.WallTime = time.Duration(v.Ended-v.Started) * time.Second
	}
	return s
}

// maxSaid is how long a text about a job is kept, in bytes, as records keep no more.
const maxSaid = 4 << 10

// brief is the beginning of a text, of so many bytes, and keeps nothing of the rest in memory.
func brief(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.Clone(text[:most])
}

// where is the node, and of which cluster, that the job began on.
func (v view) where() string {
	switch {
	case v.Booking == nil || v.Started == 0:
		return v.Node
	case v.Node == "":
		return v.Booking.Cluster
	}
	return v.Node + " of " + v.Booking.Cluster
}

// words is the scheduler's own word for the state, and that of the site's back-end.
func (v view) words() string {
	if v.Native == "" {
		return v.State
	}
	return v.State + " " + v.Native
}

// reason is which place a job waits for, that has one, or what keeps it from one, or why it is held, failed or missed its slot.
func (v view) reason() string {
	waits := v.Plugins == plugins.Queued && v.Started == 0
	switch {
	case waits && v.Booking != nil:
		return "booked at " + v.Booking.words()
	case waits && v.Outlook != nil:
		return "likely at " + v.Outlook.words()
	case waits && v.Blocked != "":
		return "not yet: " + v.Blocked
	}
	return v.Reason
}

// words tells of a slot or a turn.
func (p *place) words() string {
	from := at(p.From).Format("15:04:05Z")
	if p.Turn {
		return fmt.Sprintf("%s, in its queue, turn expected at %s", p.Cluster, from)
	}
	return fmt.Sprintf("%s from %s, chance %.0f %%", p.Cluster, from, 100*p.Chance)
}

// each calls f once for every endpoint, with the places of its handles.
func (b *Backend) each(ctx context.Context, hs []plugins.Handle, f func(c *client, err error, places []int)) {
	of := map[string][]int{}
	var order []string
	for i, h := range hs {
		if of[h.Endpoint] == nil {
			order = append(order, h.Endpoint)
		}
		of[h.Endpoint] = append(of[h.Endpoint], i)
	}
	for _, e := range order {
		c, err := b.client(ctx, e)
		for list := of[e]; len(list) > 0; list = list[min(len(list), atOnce):] {
			f(c, err, list[:min(len(list), atOnce)])
		}
	}
}

// Status implements plugins.Submitter.
func (b *Backend) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	b.each(ctx, hs, func(c *client, err error, places []int) {
		got := map[string]view{}
		if err == nil {
			got, err = c.views(ctx, hs, places)
		}
		for _, i := range places {
			v, known := got[hs[i].ID]
			switch {
			case err != nil:
				out[i] = plugins.Status{Handle: hs[i], State: plugins.Unknown, Err: err}
			case !known && c.notOurs("status", hs[i]) != nil:
				out[i] = plugins.Status{Handle: hs[i], State: plugins.Unknown, Err: c.notOurs("status", hs[i])}
			case !known:
				out[i] = plugins.Status{Handle: hs[i], State: plugins.Lost, Err: c.unknown("status")}
			default:
				out[i] = v.status(hs[i])
			}
		}
	})
	return out
}

// fewest is how many jobs are asked about in one question though the answer is too large. A scheduler
// whose answers are that in any case is asked five times.
const fewest = atOnce / 16

// views asks about jobs: in halves, where the answer about all of them, with the names of their files,
// is larger than a document may be.
func (c *client) views(ctx context.Context, hs []plugins.Handle, places []int) (map[string]view, error) {
	got, err := c.someViews(ctx, hs, places)
	if !errors.Is(err, errLong) && !errors.Is(err, errHeavy) || len(places) <= fewest {
		return got, err
	}
	got, err = c.views(ctx, hs, places[:len(places)/2])
	if err != nil {
		return nil, err
	}
	rest, err := c.views(ctx, hs, places[len(places)/2:])
	maps.Copy(got, rest)
	return got, err
}

func (c *client) someViews(ctx context.Context, hs []plugins.Handle, places []int) (map[string]view, error) {
	ids := make([]string, len(places))
	for k, i := range places {
		ids[k] = hs[i].ID
	}
	var out viewList
	err := c.do(ctx, "status", "POST", "/v1/jobs/status", map[string]any{"ids": ids}, &out)
	got := map[string]view{}
	for _, v := range out.Jobs {
		got[v.ID] = v
	}
	if e, ok := errors.AsType[*plugins.Error](err); ok && e.Kind == plugins.Uncertain {
		e.Kind = plugins.Unavailable // a question changes nothing
	}
	return got, err
}

// Cancel implements plugins.Submitter.
func (b *Backend) Cancel(ctx context.Context, hs []plugins.Handle) []error {
	return b.order(ctx, hs, "cancel")
}

// order has something done to jobs. That one has ended or is not known is no error.
func (b *Backend) order(ctx context.Context, hs []plugins.Handle, what string) []error {
	errs := make([]error, len(hs))
	b.each(ctx, hs, func(c *client, err error, places []int) {
		var ids []string
		for _, i := range places {
			if err == nil {
				errs[i] = c.notOurs(what, hs[i])
			}
			if errs[i] == nil {
				ids = append(ids, hs[i].ID)
			}
		}
		if err == nil && len(ids) > 0 {
			err = c.insist(ctx, time.Now().Add(patience), what, "POST", "/v1/jobs/"+what, map[string]any{"ids": ids}, nil)
		}
		for _, i := range places {
			errs[i] = cmp.Or(errs[i], err)
		}
	})
	return errs
}

// Clean implements plugins.Cleaner.
func (b *Backend) Clean(ctx context.Context, hs []plugins.Handle) []error {
	errs := make([]error, len(hs))
	for i, h := range hs {
		c, err := b.client(ctx, h.Endpoint)
		if err == nil {
			_, err = c.raw(ctx, question{op: "clean", method: http.MethodDelete, path: "/v1/jobs/" + url.PathEscape(h.ID)})
		}
		if errors.Is(err, errGone) {
			err = c.notOurs("clean", h)
		}
		errs[i] = err
	}
	return errs
}

// Log implements plugins.Logger: every action taken with the job.
func (b *Backend) Log(ctx context.Context, h plugins.Handle, w io.Writer) error {
	return b.Entries(ctx, h, 0, func(e plugins.LogEntry) error {
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", time.UnixMilli(e.At).Format("2006-01-02T15:04:05.000Z07:00"), e.Event, e.Cluster, e.Said))
		_, err := fmt.Fprintln(w, foreign.Text(line))
		return err
	})
}

// mostPages is how much of a job's log is read, in answers of up to a thousand entries.
const mostPages = 100

// Entries implements plugins.Journaler. Of a log whose entries have no numbers there is the first answer.
func (b *Backend) Entries(ctx context.Context, h plugins.Handle, after int64, visit func(plugins.LogEntry) error) error {
	c, err := b.client(ctx, h.Endpoint)
	if err != nil {
		return err
	}
	for range mostPages {
		var out struct{ Entries []plugins.LogEntry }
		err := c.do(ctx, "log", "GET", fmt.Sprintf("/v1/jobs/%s/log?after=%d", url.PathEscape(h.ID), after), nil, &out)
		if err != nil {
			return err
		}
		last := after
		for _, e := range out.Entries {
			if err := visit(e); err != nil {
				return err
			}
			last = max(last, e.ID)
		}
		if last == after {
			return nil
		}
		after = last
	}
	return &plugins.Error{Kind: plugins.Unavailable, Op: "log", Endpoint: h.Endpoint, Err: fmt.Errorf("the log goes on behind %d answers", mostPages)}
}

// Why implements plugins.Explainer: what stands between a job and its slot.
func (b *Backend) Why(ctx context.Context, h plugins.Handle) ([]string, error) {
	var out struct {
		Text []string `json:"text"`
	}
	err := b.Call(ctx, h.Endpoint, "why", "GET", "/v1/jobs/"+url.PathEscape(h.ID)+"/why", nil, &out)
	text := out.Text[:min(len(out.Text), maxReasons)]
	for i, said := range text {
		text[i] = clipped(said)
	}
	return text, err
}
