package scheduler

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"gridbroker/foreign"
)

//go:embed page
var pageFiles embed.FS

// board is the page: what is drawn for all who look at it is drawn once.
type board struct {
	*API
	charts charts
	porch  porch
}

// page serves what an operator keeps open: everything is rendered here; the
// script fetches it anew when something has changed, and tells what is under the
// pointer.
func (a *API) page(mux *http.ServeMux) {
	tmpl := template.Must(template.New("index.html").Funcs(template.FuncMap{
		"at":      func(t int64) string { return time.Unix(t, 0).UTC().Format("Jan 2 15:04:05") },
		"clock":   clock,
		"span":    func(s int64) string { return short(time.Duration(s) * time.Second) },
		"percent": func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) },
		"round":   func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
		"units":   func(v float64) string { return fmt.Sprintf("%.2f", v) },
		"many":    thousands,
		"most":    func(given float64) float64 { return 0.9 * given }, // a budget of which more is used is nearly gone
		"add":     func(a, b int64) int64 { return a + b },
		"ago":     func(now, then int64) int64 { return max(0, now-then) },
		"pair":    func(b Band, f *Frame) bandIn { return bandIn{b, f} },
	}).ParseFS(pageFiles, "page/*.html"))
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
	b := &board{API: a, charts: charts{turn: make(chan struct{}, 1)}, porch: newPorch(a, tmpl.Lookup("stranger.html"))}
	b.porch.serve(mux)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { b.index(w, r, tmpl) })
}

// bandIn is a band and the frame it is drawn in.
type bandIn struct {
	Band  Band
	Frame *Frame
}

// short writes a time as 1 d 3 h, 2 h 5 min, 3 min 4 s.
func short(d time.Duration) string {
	d = d.Round(time.Second)
	for _, u := range []struct {
		big, small time.Duration
		a, b       string
	}{{24 * time.Hour, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "min"}, {time.Minute, time.Second, "min", "s"}} {
		if d >= u.big {
			if rest := d % u.big / u.small; rest > 0 {
				return fmt.Sprintf("%d %s %d %s", d/u.big, u.a, rest, u.b)
			}
			return fmt.Sprintf("%d %s", d/u.big, u.a)
		}
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// thousands writes 12345 as 12 345, with thin spaces.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u2009" + text[i:]
	}
	return text
}

func (a *board) index(w http.ResponseWriter, r *http.Request, tmpl *template.Template) {
	p, err := person(r.Context())
	switch {
	case err == nil || a.Public:
	case strings.Contains(r.Header.Get("Accept"), "text/html"):
		a.porch.stranger(w, http.StatusUnauthorized, "This page is for those whom this scheduler knows.")
		return
	default:
		http.Error(w, ErrStranger.Error(), http.StatusUnauthorized)
		return
	}
	v, err := a.look(r.Context(), p, frameOf(r.URL.Query(), a.S.now().Unix()))
	if err != nil {
		a.Log.Error("the page was not shown", "error", err)
		is, _ := ailment(err)
		http.Error(w, is, http.StatusServiceUnavailable)
		return
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, v); err != nil {
		a.Log.Error("the page was not shown", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(foreign.Page(out.Bytes()))
}

// Look is all that the page shows.
type Look struct {
	Person Person
	Known  bool
	Login  bool // by cookie: one may sign in, or out
	Leads  bool
	Frame  *Frame
	Overview
	Rows    []Row // of the one cluster looked at
	Truth   Truth
	Queue   []Waitling
	Counts  Counts
	Budgets []Budget

	names map[string]string // what people are called; nil: not worked out yet
}

// Counts are the figures at the head of the page.
type Counts struct {
	Heard, Clusters          int
	CPUs, Free, Guests       int64
	Waiting, Booked, Running int64
	Hits, Misses             int64
}

// InTime is the share of jobs that began in their slots.
func (c Counts) InTime() float64 { return float64(c.Hits) / float64(max(1, c.Hits+c.Misses)) }

// Verdict is the colour of that share: good from the nine in ten on that are aimed at.
func (c Counts) Verdict() string {
	switch share := c.InTime(); {
	case share >= 0.9:
		return "good"
	case share >= 0.5:
		return "warn"
	}
	return "bad"
}

// Waitling is a job of the queue and why it is where it is.
type Waitling struct {
	ID, Name, Owner string
	Place           int // in the queue; 0: has a slot
	State           State
	Procs           int32
	Wall            int64
	Priority        float64
	Submitted       int64
	Where           string
}

// shown is how many jobs of the queue the page shows.
const shown = 60

func (a *board) look(ctx context.Context, p Person, f *Frame) (*Look, error) {
	v := &Look{Person: p, Known: p.Subject != "", Login: a.Login != nil && (p.Subject == "" || p.Browser), Frame: f, Leads: a.S.Leads()}
	members, err := a.S.store.Members(ctx, f.Now)
	if err == nil {
		members, err = present(ctx, a.S, members, func(m *Member) (string, *bool) { return m.Name, &m.Gone })
	}
	if err != nil {
		return nil, err
	}
	if v.Overview, v.Truth, err = a.charts.get(ctx, sight{a.S.store}, f, members); err != nil {
		return nil, err
	}
	for _, m := range members {
		v.Counts.Clusters += b2i(!m.Gone)
		v.Counts.Heard += b2i(m.Fresh && !m.Gone)
		if f.Cluster == "" || f.Cluster == m.Name {
			v.Counts.Hits, v.Counts.Misses = v.Counts.Hits+m.Hits, v.Counts.Misses+m.Misses
		}
	}
	v.Counts.CPUs, v.Counts.Free, v.Counts.Guests = v.CPUs, v.Free, v.Guests
	if f.Cluster != "" && len(v.Bands) == 1 {
		if v.Rows, err = a.charts.nodes(ctx, sight{a.S.store}, f, &v.Bands[0].Info, p); err != nil {
			return nil, err
		}
	}
	return v, a.people(ctx, p, v)
}

// people adds what only those who signed in may see, and how many jobs there
// are.
func (a *board) people(ctx context.Context, p Person, v *Look) (err error) {
	if err := (sight{a.S.store}).counts(ctx, &v.Counts); err != nil || !v.Known {
		return err
	}
	list, err := sight{a.S.store}.queue(ctx, p, shown, v.Counts.Waiting <= sorted)
	if err != nil {
		return err
	}
	place := 0
	for _, j := range list {
		w := waitling(j, v.Frame.Now)
		if j.State == Waiting {
			place++
			w.Place = place
		}
		v.Queue = append(v.Queue, w)
	}
	user := p.Subject
	if p.Admin {
		user = ""
	}
	v.Budgets, err = a.S.store.Budgets(ctx, user)
	return err
}

// counts counts the jobs by state.
func (s sight) counts(ctx context.Context, c *Counts) error {
	return s.read(ctx, func(h handle) error {
		return h.rows(ctx, func(scan func(...any) error) error {
			var state State
			var n int64
			err := scan(&state, &n)
			switch state {
			case Waiting:
				c.Waiting += n
			case Booked, Sent:
				c.Booked += n
			case Running:
				c.Running += n
			}
			return err
		}, "select state, count(*) from queue where state not in ('done', 'failed', 'cancelled') group by state")
	})
}

// sorted is up to how many waiting jobs are sorted by priority to be shown; more
// are shown by arrival.
const sorted = 5000

// queue reads the jobs that wait, dearest first, and those that have slots.
func (s sight) queue(ctx context.Context, p Person, limit int, dearest bool) (list []*Job, err error) {
	by := "seq"
	if dearest {
		by = "cast({body}->>'priority' as {real}) desc, seq"
	}
	err = s.read(ctx, func(h handle) error {
		list, err = h.jobs(ctx, `where (owner = $1 or $2 = 1) and state not in ('done', 'failed', 'cancelled')
			order by case state when 'waiting' then 0 when 'booked' then 1 when 'sent' then 1 else 2 end,
			`+by+` limit $3`, p.Subject, b2i(p.Admin), limit)
		return err
	})
	return list, err
}

func waitling(j *Job, now int64) Waitling {
	w := Waitling{ID: j.ID, Name: j.Name, Owner: j.Owner, State: j.State, Procs: j.Procs, Wall: int64(j.Wall), Priority: j.Priority, Submitted: j.Submitted}
	switch {
	case j.State == Running:
		w.Where = fmt.Sprintf("runs on %s since %s", j.Booking.Cluster, clock(j.Started))
	case j.OnHold && j.State == Waiting:
		w.Where = "not yet: " + heldByOwner
	case j.State == Collecting:
		w.Where = fmt.Sprintf("has ended on %s; its output is being brought", j.Booking.Cluster)
	case j.Booking != nil && j.Booking.Turn:
		w.Where = fmt.Sprintf("in the queue of %s, its turn expected at %s", j.Booking.Cluster, clock(j.Booking.From))
	case j.Booking != nil:
		w.Where = fmt.Sprintf("%s at %s, chance %.0f\u00a0%%", j.Booking.Cluster, clock(j.Booking.From), 100*j.Booking.Chance)
	case j.Outlook != nil:
		w.Where = fmt.Sprintf("likely %s in %s, chance %.0f\u00a0%%", j.Outlook.Cluster, short(time.Duration(max(0, j.Outlook.From-now))*time.Second), 100*j.Outlook.Chance)
	case j.Blocked != "":
		w.Where = "not yet: " + j.Blocked
	case j.Reason != "":
		w.Where = "not yet: " + j.Reason
	default:
		w.Where = "not yet: the next cycle looks at it"
	}
	return w
}
