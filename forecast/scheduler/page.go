package scheduler

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

//go:embed page
var pageFiles embed.FS

// page serves what an operator keeps open: everything is rendered here, and the
// script only fetches it anew when something has changed.
func (a *API) page(mux *http.ServeMux) {
	tmpl := template.Must(template.New("index.html").Funcs(template.FuncMap{
		"at":      func(t int64) string { return time.Unix(t, 0).UTC().Format("Jan 2 15:04:05") },
		"span":    func(s int64) string { return (time.Duration(s) * time.Second).String() },
		"percent": func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
		"units":   func(v float64) string { return fmt.Sprintf("%.2f", v) },
		"pages":   url.QueryEscape,
	}).ParseFS(pageFiles, "page/index.html"))
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"} {
		body, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			panic(err)
		}
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Write(body)
		})
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { a.index(w, r, tmpl) })
}

func (a *API) index(w http.ResponseWriter, r *http.Request, tmpl *template.Template) {
	p, err := person(r.Context())
	if err != nil && !a.Public {
		http.Error(w, ErrStranger.Error(), http.StatusUnauthorized)
		return
	}
	v, err := a.look(r.Context(), p, frameOf(r.URL.Query(), a.S.now().Unix()))
	if err != nil {
		a.Log.Error("page", "error", err)
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, v); err != nil {
		a.Log.Error("page", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(out.Bytes())
}

// Frame is the time that is looked at.
type Frame struct {
	From, Span, Now int64
	Cluster         string
}

// frameOf reads the query; the default is from a quarter of an hour ago on, for
// three hours.
func frameOf(q url.Values, now int64) Frame {
	f := Frame{From: now - 900, Span: 3 * 3600, Now: now, Cluster: q.Get("cluster")}
	if n, err := strconv.ParseInt(q.Get("span"), 10, 64); err == nil && n >= 300 && n <= 2*86400 {
		f.Span = n
	}
	if n, err := strconv.ParseInt(q.Get("from"), 10, 64); err == nil && n > now-86400*2 && n < now+86400*2 {
		f.From = n
	}
	return f
}

// Link is another frame of the same page.
func (f Frame) Link(from, span int64) string {
	q := url.Values{"from": {fmt.Sprint(from)}, "span": {fmt.Sprint(span)}}
	if f.Cluster != "" {
		q.Set("cluster", f.Cluster)
	}
	return "/?" + q.Encode()
}

// Earlier, Later, In and Out are the next frames; Live is the one that moves on.
func (f Frame) Earlier() string { return f.Link(f.From-f.Span/2, f.Span) }

// Later moves on by half a frame.
func (f Frame) Later() string { return f.Link(f.From+f.Span/2, f.Span) }

// In shows half of the time.
func (f Frame) In() string { return f.Link(f.From+f.Span/4, max(300, f.Span/2)) }

// Out shows twice the time.
func (f Frame) Out() string { return f.Link(f.From-f.Span/2, min(2*86400, f.Span*2)) }

// NowX is where now is, in thousandths of the frame; -1: not in it.
func (f Frame) NowX() int64 {
	if f.Now < f.From || f.Now > f.From+f.Span {
		return -1
	}
	return (f.Now - f.From) * 1000 / f.Span
}

// Ticks are the hours or parts of them in the frame.
func (f Frame) Ticks() (list []Tick) {
	step := int64(300)
	for _, s := range []int64{900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600} {
		if f.Span/step > 8 {
			step = s
		}
	}
	for t := f.From - f.From%step + step; t < f.From+f.Span; t += step {
		list = append(list, Tick{(t - f.From) * 1000 / f.Span, time.Unix(t, 0).UTC().Format("15:04")})
	}
	return list
}

// Tick is one mark of the time axis.
type Tick struct {
	X    int64
	Text string
}

// Look is all that the page shows.
type Look struct {
	Person   Person
	Known    bool
	Frame    Frame
	Clusters []ClusterInfo
	Groups   []Group
	Queue    []Waitling
	Waiting  int
	Budgets  []Budget
	Leads    bool
}

// Waitling is a job of the queue and why it is where it is.
type Waitling struct {
	ID, Name, Owner string
	State           State
	Procs           int32
	Wall            int64
	Priority        float64
	Submitted       int64
	Where           string
}

// shown is how many jobs of the queue the page shows.
const shown = 50

func (a *API) look(ctx context.Context, p Person, f Frame) (*Look, error) {
	v := &Look{Person: p, Known: p.Subject != "", Frame: f, Leads: a.S.Leads()}
	var err error
	if v.Clusters, err = a.S.store.Clusters(ctx, time.Unix(f.Now, 0)); err != nil {
		return nil, err
	}
	if v.Groups, err = a.S.store.gantt(ctx, f, v.Clusters); err != nil {
		return nil, err
	}
	if !v.Known {
		return v, nil
	}
	list, err := a.S.List(ctx, p, true, true, 0, shown)
	if err != nil {
		return nil, err
	}
	for _, j := range list {
		v.Queue = append(v.Queue, a.waitling(j, f.Now))
	}
	user := p.Subject
	if p.Admin {
		user = ""
	}
	v.Budgets, err = a.S.store.Budgets(ctx, user)
	return v, err
}

func (a *API) waitling(j *Job, now int64) Waitling {
	w := Waitling{ID: j.ID, Name: j.Name, Owner: j.Owner, State: j.State, Procs: j.Procs, Wall: int64(j.Wall), Priority: j.Priority, Submitted: j.Submitted}
	switch {
	case j.Booking != nil:
		w.Where = fmt.Sprintf("%s at %s, chance %.0f %%", j.Booking.Cluster, time.Unix(j.Booking.From, 0).UTC().Format("15:04:05"), 100*j.Booking.Chance)
	case j.Outlook != nil:
		w.Where = outlookText(j.Outlook, time.Unix(now, 0))
	case j.Reason != "":
		w.Where = "not yet: " + j.Reason
	default:
		w.Where = "not yet: nothing that fits is free in the next cycles; grid scheduler explain tells more"
	}
	return w
}
