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
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gridbroker/credential"
	"gridbroker/durable"
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
	s := plugins.Status{Handle: h, State: v.Plugins, Native: v.words(), Reason: v.reason(), Node: v.where(), Submitted: at(v.Submitted), Started: at(v.Started), Ended: at(v.Ended)}
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
func (b *Backend) each(hs []plugins.Handle, f func(c *client, err error, places []int)) {
	of := map[string][]int{}
	var order []string
	for i, h := range hs {
		if of[h.Endpoint] == nil {
			order = append(order, h.Endpoint)
		}
		of[h.Endpoint] = append(of[h.Endpoint], i)
	}
	for _, e := range order {
		c, err := b.client(e)
		for list := of[e]; len(list) > 0; list = list[min(len(list), atOnce):] {
			f(c, err, list[:min(len(list), atOnce)])
		}
	}
}

// Status implements plugins.Submitter.
func (b *Backend) Status(ctx context.Context, hs []plugins.Handle) []plugins.Status {
	out := make([]plugins.Status, len(hs))
	b.each(hs, func(c *client, err error, places []int) {
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
	errs := make([]error, len(hs))
	b.each(hs, func(c *client, err error, places []int) {
		var ids []string
		for _, i := range places {
			if err == nil {
				errs[i] = c.notOurs("cancel", hs[i])
			}
			if errs[i] == nil {
				ids = append(ids, hs[i].ID)
			}
		}
		if err == nil && len(ids) > 0 { // ending one that has ended or is not known is no error
			err = c.insist(ctx, time.Now().Add(patience), "cancel", "POST", "/v1/jobs/cancel", map[string]any{"ids": ids}, nil)
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
		c, err := b.client(h.Endpoint)
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
	c, err := b.client(h.Endpoint)
	if err != nil {
		return err
	}
	var out struct {
		Entries []struct {
			At                        int64
			Event, Said, Cluster, Who string
		} `json:"entries"`
	}
	if err := c.do(ctx, "log", "GET", "/v1/jobs/"+url.PathEscape(h.ID)+"/log", nil, &out); err != nil {
		return err
	}
	for _, e := range out.Entries {
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", time.UnixMilli(e.At).UTC().Format("2006-01-02T15:04:05.000Z"), e.Event, e.Cluster, e.Said))
		if _, err := fmt.Fprintln(w, foreign.Text(line)); err != nil {
			return err
		}
	}
	return nil
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

// What a scheduler says of itself and of why a job waits: so many versions and reasons, and so many bytes of each word.
const (
	maxReasons  = 64
	maxVersions = 16
	maxSites    = 64
	maxWord     = 1 << 10
)

func clipped(word string) string { return word[:min(len(word), maxWord)] }

// Ping implements plugins.Pinger.
func (b *Backend) Ping(ctx context.Context, endpoint string) (plugins.Pong, error) {
	c, err := b.client(endpoint)
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
	}
	began := time.Now()
	if err := c.do(ctx, "ping", "GET", "/v1/ping", nil, &out); err != nil {
		return plugins.Pong{}, err
	}
	p := plugins.Pong{Interface: clipped(out.Interface), Versions: out.Versions[:min(len(out.Versions), maxVersions)], Identity: clipped(out.Subject), LetIn: out.LetIn, Latency: time.Since(began)}
	for i, v := range p.Versions {
		p.Versions[i] = clipped(v)
	}
	p.Leads, p.Rights = out.Leads, rights(out.Admin, out.Sites)
	for _, why := range out.Hinders[:min(len(out.Hinders), maxReasons)] {
		p.Hinders = append(p.Hinders, clipped(why))
	}
	if !p.LetIn {
		p.Said = "it does not know this credential"
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
	if x == nil || c.set.Token != nil || c.plain() { // nothing is delegated
		return ""
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

// Fetch implements plugins.Fetcher.
func (b *Backend) Fetch(ctx context.Context, jobs []plugins.FetchRequest, p plugins.Progress) []plugins.FetchResult {
	hs := make([]plugins.Handle, len(jobs))
	for i := range jobs {
		hs[i] = jobs[i].Handle
	}
	out := make([]plugins.FetchResult, len(jobs))
	b.each(hs, func(c *client, err error, places []int) {
		var got map[string]view
		if err == nil {
			got, err = c.views(ctx, hs, places)
		}
		for _, i := range places {
			v, known := got[hs[i].ID]
			switch {
			case err != nil:
				out[i].Err = err
			case !known:
				out[i].Err = cmp.Or(c.notOurs("fetch", hs[i]), c.unknown("fetch"))
			default:
				out[i] = c.fetch(ctx, jobs[i], v)
			}
		}
	})
	return out
}

// unknown is a job that the scheduler does not have, or has of somebody else.
func (c *client) unknown(op string) error {
	return &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: c.endpoint, Said: "no such job"}
}

// maxOutput is how many files of a job are brought.
const maxOutput = 100_000

// fetch brings the files of one job that the scheduler has kept. A name that cannot
// be, or a file that is gone, keeps none of the others back.
func (c *client) fetch(ctx context.Context, q plugins.FetchRequest, v view) (r plugins.FetchResult) {
	if len(v.Output) > maxOutput {
		return plugins.FetchResult{Err: &plugins.Error{Kind: plugins.Refused, Op: "fetch", Endpoint: c.endpoint, Said: fmt.Sprintf("it lists %d files", len(v.Output))}}
	}
	root, err := durable.OwnRoot(q.Dir, 0o700)
	if err != nil {
		return plugins.FetchResult{Err: err}
	}
	defer root.Close()
	alone, err := durable.Alone(ctx, root)
	if err != nil {
		return plugins.FetchResult{Err: err}
	}
	defer alone.Close()
	pace := plugins.Pace{Grace: 5 * answerTime}
	for _, name := range v.Output {
		if len(q.Want) > 0 && !plugins.Wanted(name, q.Want) {
			continue
		}
		size, err := c.bring(ctx, root, q, v.ID, name)
		if late := pace.Did(plugins.Named + size); err == nil && late != nil {
			err = &plugins.Error{Kind: plugins.Unavailable, Op: "fetch", Endpoint: c.endpoint, Err: late}
		}
		if err == nil {
			r.Files = append(r.Files, name)
			continue
		}
		r.Err = cmp.Or(r.Err, err)
		if e, ok := errors.AsType[*plugins.Error](err); ctx.Err() != nil || !ok || e.Kind != plugins.Refused {
			break
		}
	}
	r.Err = cmp.Or(r.Err, durable.SyncNames(root, r.Files))
	for _, want := range q.Want {
		if r.Err == nil && !slices.ContainsFunc(r.Files, func(name string) bool { return plugins.Wanted(name, []string{want}) }) {
			r.Err = &plugins.Error{Kind: plugins.Refused, Op: "fetch " + want, Endpoint: c.endpoint, Said: "the scheduler does not keep it", Hint: "grid log tells why"}
		}
	}
	return r
}

// bring brings one file, and tells its size.
func (c *client) bring(ctx context.Context, root *os.Root, q plugins.FetchRequest, job, name string) (int64, error) {
	local, err := filepath.Localize(path.Clean(name))
	if err != nil || name == "" || local == "." {
		return 0, &plugins.Error{Kind: plugins.Refused, Op: "fetch", Endpoint: c.endpoint, Said: fmt.Sprintf("no file of a job is called %q", name)}
	}
	body, err := c.raw(ctx, question{op: "fetch " + name, method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(job) + "/files/" + escaped(name), file: true})
	if err != nil {
		return 0, err
	}
	if err := q.Room.Take(q.Dir, c.endpoint, name, int64(len(body))); err != nil {
		return 0, err
	}
	err = write(root, local, body)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EEXIST) { // the name of another one, too
		err = &plugins.Error{Kind: plugins.Refused, Op: "fetch " + name, Endpoint: c.endpoint, Err: err}
	}
	return int64(len(body)), err
}

func escaped(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// write puts a file below a directory, and never outside of it: whole, or not at all.
func write(root *os.Root, name string, body []byte) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	part := plugins.PartName(name, ".grid-part")
	f, err := root.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		_ = root.Remove(part)
	}
	return err
}
