package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gridbroker/durable/sqlite"
	"gridbroker/forecast/turns"
)

// API serves a replica over HTTP. The OpenAPI document at /openapi.json is made
// from the types here.
type API struct {
	S      *Scheduler
	Door   *Door
	Log    *slog.Logger
	Public bool // the page shows strangers slots and loads, without names
	// Metrics are the subjects that may read /metrics, besides administrators; "*"
	// stands for everybody, strangers too.
	Metrics []string
	Login   *Login // nil: nobody signs in with a browser
	Rate    float64
	AtOnce  int    // requests of one subject; 0: 64
	askers  askers // whose requests are under way
	limit   *limiter
	bodies  bodies
	reads   turns.Turns // of files
	streams streams
	unwell  troubles // of the database, as requests found them
}

// withoutValues takes long values out of what is said of a wrong request: who asked has them.
func withoutValues(_ huma.Context, _ string, v any) (any, error) {
	e, is := v.(*huma.ErrorModel)
	if !is {
		return v, nil
	}
	for _, of := range e.Errors {
		if text, err := json.Marshal(of.Value); err != nil || len(text) > longValue {
			of.Value = nil
		}
	}
	return v, nil
}

// longValue is how much of a wrong value is said back, in bytes.
const longValue = 200

type personKey struct{} // of who asks: a Person, or why he is none: an error

// person is who asks; strangers get to public paths only.
func person(ctx context.Context) (Person, error) {
	switch p := ctx.Value(personKey{}).(type) {
	case Person:
		return p, nil
	case error:
		return Person{}, huma.NewError(codeOf(p), p.Error())
	}
	return Person{}, huma.Error401Unauthorized(ErrStranger.Error())
}

// Handler is the whole service.
func (a *API) Handler() http.Handler {
	if a.Rate <= 0 {
		a.Rate = 500
	}
	if a.AtOnce <= 0 {
		a.AtOnce = 64
	}
	a.limit = &limiter{rate: a.Rate, burst: 5 * a.Rate, now: time.Now}
	a.streams.now = a.S.now
	mux := http.NewServeMux()
	c := huma.DefaultConfig("grid scheduler", "1")
	c.DocsPath = ""
	c.Transformers = append(c.Transformers, withoutValues)
	c.Info.Description = "The central forecast scheduler: jobs wait in a global queue and go to a site shortly before the slot they were given."
	api := humago.New(mux, c)
	a.register(api)
	mux.HandleFunc("GET /metrics", a.metrics)
	mux.HandleFunc("GET "+eventsPath, a.events)
	mux.HandleFunc("GET "+newsPath, reporter{a}.news)
	a.page(mux)
	return promhttp.InstrumentHandlerCounter(a.S.meter.answers, http.NewCrossOriginProtection().Handler(a.guard(mux)))
}

// metrics tells how many jobs there are and of which clusters: nobody's business
// who was not named.
func (a *API) metrics(w http.ResponseWriter, r *http.Request) {
	p, err := person(r.Context())
	switch {
	case slices.Contains(a.Metrics, "*"), err == nil && (p.Admin || slices.Contains(a.Metrics, p.Subject)):
		if err := noteOwed(r.Context(), a.S); err != nil && a.unwell.is(err, a.S.now()) {
			a.Log.Error("monitors are not told what is to be done at sites", "error", err)
		}
		a.S.meter.Handler().ServeHTTP(w, r)
	case err != nil:
		http.Error(w, ErrStranger.Error(), http.StatusUnauthorized)
	default:
		http.Error(w, "metrics are for administrators, and for subjects that the scheduler's configuration names (metrics = [...])", http.StatusForbidden)
	}
}

func (a *API) register(api huma.API) {
	// Bodies have been read by then, with the server's deadline (see bounded); huma's own, of five
	// seconds, would end the connection, and with it a request that the database takes longer for.
	put := func(method, path, id, summary string, body int64) huma.Operation {
		return huma.Operation{BodyReadTimeout: -1, OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: body, Errors: []int{400, 401, 403, 404, 429, 503, 504}}
	}
	const small, big = 64 << 10, 64 << 20
	huma.Register(api, put("GET", "/v1/ping", "ping", "Is it up, and as whom am I seen", small), a.ping)
	huma.Register(api, put("POST", "/v1/jobs", "submit", "Put jobs into the queue; the same key again is the same job", big), a.submit)
	huma.Register(api, put("POST", "/v1/jobs/status", "status", "States of jobs", 4<<20), a.status)
	huma.Register(api, put("GET", "/v1/jobs", "list", "Your jobs, newest first", small), a.list)
	huma.Register(api, put("GET", "/v1/jobs/{id}", "show", "One job, its booking or outlook", small), a.show)
	huma.Register(api, put("GET", "/v1/jobs/{id}/log", "log", "Every action taken with a job", small), a.jobLog)
	huma.Register(api, put("GET", "/v1/jobs/{id}/why", "why", "Why a job has no slot yet", small), a.why)
	huma.Register(api, put("POST", "/v1/jobs/cancel", "cancel", "End jobs", 4<<20), orders{a}.cancel)
	huma.Register(api, put("POST", "/v1/jobs/hold", "hold", "Keep jobs that have not begun from being planned, and take back those that are booked or at sites", 4<<20), orders{a}.hold)
	huma.Register(api, put("POST", "/v1/jobs/release", "release", "Let jobs be planned again that you hold", 4<<20), orders{a}.release)
	huma.Register(api, put("PATCH", "/v1/jobs/{id}", "refresh", "Another description or priority for a job that waits", 2<<20), a.refresh)
	huma.Register(api, put("DELETE", "/v1/jobs/{id}", "forget", "Remove a job that has ended and its files", small), a.forget)
	huma.Register(api, put("GET", "/v1/jobs/{id}/files/{name...}", "file", "A file of a job's output", small), a.file)
	huma.Register(api, put("POST", "/v1/clusters/{name}/slots", "slots", "A delta of a cluster's slots, from its agent", big), desk{a}.slots)
	huma.Register(api, put("GET", "/v1/clusters/{name}/slots", "have", "What the scheduler has of a cluster: an agent goes on from there", small), desk{a}.have)
	huma.Register(api, put("POST", "/v1/clusters/{name}/beat", "beat", "That a cluster's slots hold as told last, from its agent", small), desk{a}.beat)
	huma.Register(api, put("GET", "/v1/clusters/{name}/ready", "ready", "Answers when the database does, for a cluster's agent that was told it does not", small), desk{a}.ready)
	huma.Register(api, put("GET", "/v1/clusters", "clusters", "Clusters and the health of their agents", small), desk{a}.clusters)
	huma.Register(api, put("POST", "/v1/clusters/{name}/drain", "drain", "Close or open a cluster for bookings", small), desk{a}.drain)
	huma.Register(api, put("GET", "/v1/budget", "budget", "Your budget; an administrator sees all", small), a.budget)
	huma.Register(api, put("PUT", "/v1/budgets", "grant", "Set a user's budget", small), a.grant)
	huma.Register(api, put("POST", "/v1/delegation", "delegate", "A certificate request to be signed as a proxy", small), delegations{a}.delegate)
	huma.Register(api, put("PUT", "/v1/delegation", "delegated", "The signed proxy", 256<<10), delegations{a}.delegated)
}

// guard sets the headers that keep browsers from mischief, and holds who asks to his rate and to what he may
// send and have under way.
func (a *API) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
		a.admit(next, w, r)
	})
}

// admit finds out who asks, and lets him have his answer within his bounds. As long as nobody knows who he is, his
// address is who asks.
func (a *API) admit(next http.Handler, w http.ResponseWriter, r *http.Request) {
	subject := stranger(r)
	end := a.askers.enter(w, subject, 4*a.AtOnce) // many people may be behind one address
	if end == nil {
		return
	}
	defer end()
	p, err := asker(a, r)
	if err == nil {
		subject = p.Subject
	}
	if !a.limit.allow(subject) {
		turns.Later(w, 1, "too many requests")
		return
	}
	if p.Doubt != "" {
		a.Log.Info("taken for a member of no VO", "subject", subject, "why", p.Doubt)
	}
	noteStranger(a, r, err)
	why := refusal(r, err, a.S.now())
	if err != nil && r.Method != http.MethodGet && r.Method != http.MethodHead { // what strangers send is not read
		http.Error(w, why.Error(), codeOf(why))
		return
	}
	r = asked(r, p, err == nil, why)
	if r.URL.Path == eventsPath || r.URL.Path == newsPath { // streams last, and have bounds of their own
		end()
		next.ServeHTTP(w, r)
		return
	}
	if err == nil {
		own := a.askers.enter(w, subject, a.AtOnce)
		if own == nil {
			return
		}
		defer own()
		end()
		if mistimed(a, w, r) {
			return
		}
		noteShown(a, r, p)
	}
	read, ok := bounded(&a.bodies, w, r, subject)
	defer read()
	if ok {
		a.within(next, w, r, subject)
	}
}

// noteStranger logs why somebody who shows something is not let in; that an issuer cannot be asked is the operator's matter.
func noteStranger(a *API, r *http.Request, err error) {
	if e, ok := errors.AsType[*silentIssuerError](err); ok && e.fresh {
		a.Log.Warn("an issuer cannot be asked: its users are not let in", "issuer", e.issuer, "error", e.err)
	} else if err != nil && !errors.Is(err, ErrStranger) {
		a.Log.Info("not let in", "from", r.RemoteAddr, "error", err)
	}
}

// mistimed tells whether a request would change something while the clock is wrong; who asks was told to ask
// another replica then, or later.
func mistimed(a *API, w http.ResponseWriter, r *http.Request) bool {
	wrong := a.S.clock.fault()
	if wrong == nil || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return false
	}
	w.Header().Set("Retry-After", "10")
	http.Error(w, wrong.Error()+"; nothing was changed", http.StatusServiceUnavailable)
	return true
}

// asker is the person who asks, by what the request shows or by having signed in.
func asker(a *API, r *http.Request) (Person, error) {
	p, err := a.Door.Who(r)
	if seen, ok := a.signedIn(r); err != nil && ok {
		return seen, nil
	}
	return p, err
}

// asked is a request by a person who is known, or by one who is not, and why.
func asked(r *http.Request, p Person, known bool, why error) *http.Request {
	if known {
		return r.WithContext(context.WithValue(r.Context(), personKey{}, p))
	}
	return r.WithContext(context.WithValue(r.Context(), personKey{}, why))
}

// askers are those whose requests are under way.
type askers struct{ turns.Turns }

// enter counts a request among those of an asker that are under way until end is called; nil, and the asker was told,
// where he has as many as he may.
func (a *askers) enter(w http.ResponseWriter, asker string, atOnce int) (end func()) {
	if end = a.Try(asker, atOnce); end == nil {
		turns.Later(w, 1, fmt.Sprintf("%d of your requests are under way, which is as many as may be: come again when one of them has its answer", atOnce))
	}
	return end
}

// eventsPath is that of streams of events.
const eventsPath = "/v1/events"

// showTime is how long a question about jobs waits for it to be noted what was shown with it.
const showTime = 5 * time.Second

// noteShown notes the token and the attributes that somebody shows who asks about jobs or delegates. What is not noted is no reason not
// to answer: it is with the next question.
func noteShown(a *API, r *http.Request, p Person) {
	if !strings.HasPrefix(r.URL.Path, "/v1/jobs") && r.URL.Path != "/v1/delegation" {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), showTime)
	defer cancel()
	err := showToken(ctx, a.S, p)
	if err == nil {
		err = showAttributes(ctx, a.S, p)
	}
	if err != nil && a.unwell.is(err, a.S.now()) {
		a.Log.Error("what somebody has shown was not noted", "error", err)
	}
}

// handleTime is how long a request may take that has arrived: shorter than those who ask
// wait, so that they are told why.
const handleTime = 50 * time.Second

// within has a request answered in its time. Who is given files, each of which is in memory
// until he has taken it, is given a few of them at once.
func (a *API) within(next http.Handler, w http.ResponseWriter, r *http.Request, subject string) {
	ctx, cancel := context.WithTimeout(r.Context(), handleTime)
	defer cancel()
	if strings.Contains(r.URL.Path, filesPath) {
		end := a.reads.Take(ctx, subject, longTurns)
		if end == nil {
			turns.Later(w, 10, "you are being sent other files")
			return
		}
		defer end()
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// problem turns an error into an answer. What is not the asker's business is
// logged and not told.
func (a *API) problem(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*RefusedError](err); ok {
		return huma.Error422UnprocessableEntity(e.Why)
	}
	if e, ok := errors.AsType[*StaleError](err); ok {
		return huma.Error422UnprocessableEntity(e.Why)
	}
	if isMismatch(err) {
		return huma.Error422UnprocessableEntity(err.Error())
	}
	switch {
	case errors.Is(err, ErrNoJob), errors.Is(err, ErrNoCluster), errors.Is(err, ErrNoFile):
		return huma.Error404NotFound(err.Error())
	case errors.Is(err, context.Canceled):
		return huma.NewError(499, "gone")
	}
	if a.unwell.is(err, a.S.now()) {
		a.Log.Error("a request was refused", "error", err)
	}
	if errors.Is(err, errUnsure) || errors.Is(err, errAbandoned) {
		return huma.Error504GatewayTimeout("the database did not answer in the end: what was asked for may have been done or not; ask for it again, which does nothing twice")
	}
	is, until := ailment(err)
	return huma.Error503ServiceUnavailable(is + "; nothing was changed; try again" + until)
}

// ailment is why the database takes nothing, and who has to mend that, in words for users.
func ailment(err error) (is, until string) {
	switch {
	case diskFull(err):
		return "the scheduler's disk is full", " when its operator has made room"
	case takesNothing(err):
		return "the scheduler's database is read-only", " when its operator has made it writable"
	case shutOut(err):
		return "the scheduler is not let into its database", " when its operator has mended that"
	}
	return "the database does not answer", ""
}

// shutOut tells whether PostgreSQL answers and does not let the scheduler in: its password or name is another, its
// database has another name, or it may not read there.
func shutOut(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (strings.HasPrefix(e.Code, "28") || e.Code == "3D000" || e.Code == "42501")
}

// takesNothing tells whether PostgreSQL says that it is read-only: it is a standby, or was told to be.
func takesNothing(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "25006"
}

// diskFull tells whether a database says that there is no room for what it is to write:
// PostgreSQL's class 53, disk_full, and SQLite's.
func diskFull(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "53100"
	}
	return sqlite.Filled(err)
}
