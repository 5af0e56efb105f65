package scheduler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"gridbroker/plugins"
)

// Pong answers a ping.
type Pong struct {
	Interface string   `json:"interface"`
	Versions  []string `json:"versions"`
	Subject   string   `json:"subject,omitempty"`
	Admin     bool     `json:"admin,omitempty"`
	Sites     []string `json:"sites,omitempty" doc:"clusters you speak for"`
	LetIn     bool     `json:"let_in"`
	Leads     bool     `json:"leads" doc:"this replica plans"`
	Hinders   []string `json:"hinders,omitempty" doc:"what keeps all jobs that you hand in now from being begun"`
	Said      string   `json:"said,omitempty" doc:"why you are not let in"`
}

type pongOut struct{ Body Pong }

// pingTime is how long the database may take to answer a ping.
const pingTime = 3 * time.Second

func (a *API) ping(ctx context.Context, _ *struct{}) (*pongOut, error) {
	p, err := person(ctx)
	pong := Pong{Interface: "org.gridbroker.scheduler", Versions: []string{"1"}, Subject: p.Subject, Admin: p.Admin, Sites: p.Sites, LetIn: err == nil, Leads: a.S.Leads()}
	if err != nil { // a stranger, for whom nothing is looked up
		if why := err.Error(); why != ErrStranger.Error() {
			pong.Said = why
		}
		return &pongOut{pong}, nil
	}
	asking, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if pong.Hinders, err = hinders(asking, a.S, p); err != nil && ctx.Err() == nil {
		pong.Hinders = []string{"it takes nothing now: " + a.problem(err).Error()}
	}
	return &pongOut{pong}, nil
}

type submitIn struct {
	Body struct {
		Jobs []Submission `json:"jobs" minItems:"1" maxItems:"2000"`
	}
}

type submitOut struct {
	Body struct {
		Jobs []Taken `json:"jobs"`
	}
}

func (a *API) submit(ctx context.Context, in *submitIn) (*submitOut, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	out := &submitOut{}
	out.Body.Jobs, err = a.S.Submit(ctx, p, in.Body.Jobs)
	return out, a.problem(err)
}

// View is a job as its owner sees it.
type View struct {
	Job
	Plugins plugins.State `json:"plugins" doc:"the state in the words of all back-ends"`
	JDL     string        `json:"jdl,omitempty"`
	Seq     int64         `json:"seq"`
}

func view(j *Job, whole bool) View {
	v := View{Job: *j, Plugins: j.State.Plugins(), Seq: j.Seq}
	switch {
	case j.State != Waiting:
	case j.OnHold:
		v.Plugins, v.Reason = plugins.Held, heldByOwner
	case j.Held:
		v.Plugins, v.Reason = plugins.Held, j.Blocked
	}
	if whole {
		v.JDL = j.JDL
	}
	v.Job.JDL = ""
	return v
}

type idsIn struct {
	Body struct {
		IDs  []string `json:"ids,omitempty" maxItems:"10000"`
		Keys []string `json:"keys,omitempty" maxItems:"10000" doc:"the submitter's own names"`
	}
}

type viewsOut struct {
	Body struct {
		Jobs []View `json:"jobs"`
	}
}

func views(list []*Job) *viewsOut {
	out := &viewsOut{}
	out.Body.Jobs = make([]View, len(list))
	for i, j := range list {
		out.Body.Jobs[i] = view(j, false)
	}
	return out
}

func (a *API) status(ctx context.Context, in *idsIn) (*viewsOut, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	list, err := a.S.Jobs(ctx, p, in.Body.IDs)
	if err == nil && len(in.Body.Keys) > 0 {
		var more []*Job
		more, err = a.S.ByKey(ctx, p, in.Body.Keys)
		list = append(list, more...)
	}
	return views(list), a.problem(err)
}

type listIn struct {
	All    bool  `query:"all" doc:"of all users; administrators only"`
	Open   bool  `query:"open" doc:"only those that have not ended"`
	Before int64 `query:"before" doc:"seq of the last one of the page before"`
	Limit  int   `query:"limit" default:"100" minimum:"1" maximum:"1000"`
}

func (a *API) list(ctx context.Context, in *listIn) (*viewsOut, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	list, err := a.S.List(ctx, p, in.All, in.Open, in.Before, in.Limit)
	return views(list), a.problem(err)
}

// JobPath names a job in a path.
type JobPath struct {
	ID string `path:"id" maxLength:"64"`
}

type viewOut struct{ Body View }

// mine finds one job of the asker's.
func (a *API) mine(ctx context.Context, id string) (Person, *Job, error) {
	p, err := person(ctx)
	if err != nil {
		return p, nil, err
	}
	list, err := a.S.Jobs(ctx, p, []string{id})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %s", ErrNoJob, id)
	}
	if err != nil {
		return p, nil, a.problem(err)
	}
	return p, list[0], nil
}

func (a *API) show(ctx context.Context, in *JobPath) (*viewOut, error) {
	_, j, err := a.mine(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &viewOut{view(j, true)}, nil
}

type logIn struct {
	JobPath
	After int64 `query:"after"`
}

type logOut struct {
	Body struct {
		Entries []Entry `json:"entries"`
	}
}

func (a *API) jobLog(ctx context.Context, in *logIn) (*logOut, error) {
	if _, _, err := a.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	list, err := a.S.store.Log(ctx, in.ID, in.After, 1000)
	out := &logOut{}
	out.Body.Entries = list
	return out, a.problem(err)
}

type whyOut struct{ Body Reasons }

func (a *API) why(ctx context.Context, in *JobPath) (*whyOut, error) {
	p, j, err := a.mine(ctx, in.ID)
	if err != nil {
		if j = calledSo(ctx, a.S.store, p, in.ID); j == nil {
			return nil, err
		}
	}
	r, err := a.S.Why(ctx, j)
	return &whyOut{r}, a.problem(err)
}

// calledSo is the newest job that its owner calls so; nil: there is none that is shown to whoever asks.
func calledSo(ctx context.Context, s *Store, who Person, key string) (j *Job) {
	s.read(ctx, func(h handle) error {
		list, err := h.jobs(ctx, "where key = $1 and (owner = $2 or $3 = 1) order by seq desc limit 1", key, who.Subject, b2i(who.Admin))
		if err == nil && len(list) > 0 {
			j = list[0]
		}
		return err
	})
	return j
}

// Outcome answers one id of a request about several.
type Outcome struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
}

type outcomesOut struct {
	Body struct {
		Jobs []Outcome `json:"jobs"`
	}
}

// orders are what is to be done to several jobs.
type orders struct{ *API }

func (a orders) cancel(ctx context.Context, in *idsIn) (*outcomesOut, error) {
	return a.each(ctx, in, func(p Person, ids []string) (map[string]bool, error) {
		return orderEach(ctx, a.S, p, kindCancel, ids, func(id string) any { return id })
	})
}

func (a orders) hold(ctx context.Context, in *idsIn) (*outcomesOut, error) {
	return a.each(ctx, in, func(p Person, ids []string) (map[string]bool, error) { return setHold(ctx, a.S, p, ids, true) })
}

func (a orders) release(ctx context.Context, in *idsIn) (*outcomesOut, error) {
	return a.each(ctx, in, func(p Person, ids []string) (map[string]bool, error) { return setHold(ctx, a.S, p, ids, false) })
}

// each has it done to all of them, and tells of those that are not the user's.
func (a orders) each(ctx context.Context, in *idsIn, do func(Person, []string) (map[string]bool, error)) (*outcomesOut, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	there, err := do(p, in.Body.IDs)
	if err != nil {
		return nil, a.problem(err)
	}
	out := &outcomesOut{}
	for _, id := range in.Body.IDs {
		o := Outcome{ID: id}
		if !there[id] {
			o.Error = ErrNoJob.Error()
		}
		out.Body.Jobs = append(out.Body.Jobs, o)
	}
	return out, nil
}

type refreshIn struct {
	JobPath
	Body struct {
		JDL      string   `json:"jdl,omitempty" maxLength:"1000000"`
		Priority *float64 `json:"priority,omitempty"`
	}
}

func (a *API) refresh(ctx context.Context, in *refreshIn) (*struct{}, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	return nil, a.problem(a.S.Refresh(ctx, p, in.ID, in.Body.JDL, in.Body.Priority))
}

func (a *API) forget(ctx context.Context, in *JobPath) (*struct{}, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	return nil, a.problem(a.S.Forget(ctx, p, in.ID))
}

type fileIn struct {
	JobPath
	Name string `path:"name"`
}

// filesPath is what all paths of files have in them.
const filesPath = "/files/"

func (a *API) file(ctx context.Context, in *fileIn) (*huma.StreamResponse, error) {
	if _, _, err := a.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	body, err := a.S.store.File(ctx, in.ID, "out", in.Name)
	if err != nil {
		return nil, a.problem(err)
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		c.SetHeader("Content-Type", "application/octet-stream")
		c.SetHeader("Content-Length", strconv.Itoa(len(body)))
		_, w := humago.Unwrap(c)
		deliver(w, body)
	}}, nil
}

// pieceSize is how much of a file a reader has to take at a time, in bytes.
const pieceSize = 64 << 10

// deliver sends a file for as long as its reader takes it.
func deliver(w http.ResponseWriter, body []byte) {
	out := http.NewResponseController(w)
	for piece := range slices.Chunk(body, pieceSize) {
		_ = out.SetWriteDeadline(time.Now().Add(readerPatience)) // what cannot be bounded so is by the server
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}
