package broker

import (
	"path"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
)

// site keeps what the user named, by --site or by SubmitTo in the job.
func (r *Rules) site(job *jdl.Job, res *glue.Resource) *Reason {
	if job.SubmitTo != "" && !isSubmitTo(job.SubmitTo, res) {
		return &Reason{Want: Fact{Kind: SubmitTo, Name: job.SubmitTo}, Have: named(res.ID)}
	}
	if len(r.Sites) == 0 {
		return nil
	}
	for _, want := range r.Sites {
		if Named(want, res) {
			return nil
		}
	}
	return &Reason{Want: Fact{Kind: OneOf, Names: r.Sites}, Have: named(res.Name)}
}

// Like tells whether a name fits a pattern of path.Match. A name is no path: its wildcards stand for a "/", too. What is no
// pattern is like nothing.
func Like(pattern, name string) bool {
	plain := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(plain.Replace(pattern), plain.Replace(name))
	return ok && err == nil
}

// Named tells whether a name or pattern of --site means the resource.
func Named(want string, res *glue.Resource) bool {
	for _, name := range []string{res.Name, res.ID, res.Site, res.CE} {
		if name == "" {
			continue
		}
		if strings.EqualFold(want, name) {
			return true
		}
		if Like(strings.ToLower(want), strings.ToLower(name)) {
			return true
		}
	}
	return false
}

// isSubmitTo compares a CE id as gLite writes it with the resource.
func isSubmitTo(id string, res *glue.Resource) bool {
	if strings.EqualFold(id, res.ID) || strings.EqualFold(id, res.Name) {
		return true
	}
	host, _, _ := strings.Cut(id, ":")
	return res.Queue != "" && strings.EqualFold(host, res.CE) && strings.HasSuffix(strings.ToLower(id), "-"+strings.ToLower(res.Queue))
}

// tried keeps a job from resources where it was tried before.
func (r *Rules) tried(_ *jdl.Job, res *glue.Resource) *Reason {
	if !r.Avoid[res.ID] {
		return nil
	}
	return &Reason{Want: Fact{Kind: NotTriedYet}, Have: named(res.Name)}
}

// state keeps what takes jobs and starts them.
func (r *Rules) state(_ *jdl.Job, res *glue.Resource) *Reason {
	if res.Serving == glue.Unknown {
		if why := r.missing(Fact{Kind: ServingState, Name: string(glue.Production)}, "serving state"); why != nil {
			why.Temporary = true
			return why
		}
	} else if res.Serving != glue.Production {
		return &Reason{Want: named(string(glue.Production)), Have: named(string(res.Serving)), Temporary: true}
	}
	if len(res.Endpoints) == 0 {
		return nil // protocol says it better
	}
	var said Fact
	for i := range res.Endpoints {
		if said = ill(&res.Endpoints[i]); said.Kind == Unspoken {
			return nil
		}
	}
	return &Reason{Want: Fact{Kind: HealthyEndpoint}, Have: said, Temporary: true}
}

// ill says what is wrong with an endpoint; Unspoken is nothing.
func ill(e *glue.Endpoint) Fact {
	switch {
	case e.Health == "critical":
		return Fact{Kind: EndpointHealth, Name: e.Health}
	case e.Serving == glue.Draining || e.Serving == glue.Closed || e.Serving == glue.Queueing:
		return Fact{Kind: EndpointServing, Name: string(e.Serving)}
	}
	return Fact{}
}

// endpoint is where the job would be sent: the first that is spoken and well.
func (r *Rules) endpoint(res *glue.Resource) (glue.Endpoint, bool) {
	if e := working(r, res); e != nil {
		return *e, true
	}
	return glue.Endpoint{}, r.Speaks == nil && len(res.Endpoints) == 0
}

// working is the first endpoint that there is a back-end for and that says it works; nil: none.
func working(r *Rules, res *glue.Resource) *glue.Endpoint {
	for i := range res.Endpoints {
		if e := &res.Endpoints[i]; r.speaks(e) && ill(e).Kind == Unspoken {
			return e
		}
	}
	return nil
}

func (r *Rules) speaks(e *glue.Endpoint) bool { return r.Speaks == nil || r.Speaks(e.Interface) }

// protocol keeps what there is a back-end for.
func (r *Rules) protocol(_ *jdl.Job, res *glue.Resource) *Reason {
	if _, ok := r.endpoint(res); ok {
		return nil
	}
	have := Fact{Kind: Listed}
	for i := range res.Endpoints {
		e := &res.Endpoints[i]
		if r.speaks(e) {
			return &Reason{Want: Fact{Kind: HealthyEndpoint}, Have: ill(e), Temporary: true}
		}
		if r.ReadOnly != nil && r.ReadOnly(e.Interface) {
			return &Reason{Want: Fact{Kind: TakingInterface}, Have: Fact{Kind: ShownOnly, Name: e.Interface}}
		}
		have.Names = append(have.Names, e.Interface)
	}
	if len(have.Names) == 0 {
		have = Fact{Kind: NoEndpoint}
	}
	return &Reason{Want: Fact{Kind: OneOf, Names: r.Interfaces}, Have: have}
}

// queueLimit rejects queues that are full.
func (r *Rules) queueLimit(_ *jdl.Job, res *glue.Resource) *Reason {
	if res.StateIsPlaceholder {
		return nil
	}
	full := func(what string, n, limit glue.Opt[int64]) *Reason {
		if !n.OK || !limit.OK || n.V < limit.V {
			return nil
		}
		return &Reason{Want: Fact{Kind: FewerJobs, Amount: float64(limit.V), Name: what}, Have: Fact{Kind: Count, Amount: float64(n.V)}, Temporary: true}
	}
	if why := full("total", res.Total, res.MaxTotal); why != nil {
		return why
	}
	if why := full("waiting", res.Waiting, res.MaxWaiting); why != nil {
		return why
	}
	return full("pre-LRMS waiting", res.PreLRMSWaiting, res.MaxPreLRMSWaiting)
}

// downtime rejects what is announced to be down while the job would run.
func (r *Rules) downtime(job *jdl.Job, res *glue.Resource) *Reason {
	e := working(r, res)
	if e == nil {
		return nil
	}
	for _, d := range e.Downtimes {
		if d.Start.After(r.Now.Add(job.Demand.WallTime)) || !d.End.IsZero() && d.End.Before(r.Now) {
			continue
		}
		have := Fact{Kind: DownFrom, From: d.Start, Until: d.End, Said: d.Info}
		return &Reason{Want: Fact{Kind: NoDowntime}, Have: have, Temporary: true}
	}
	return nil
}

// age rejects records nobody has renewed. A file is a picture of its own
// time and never too old.
func (r *Rules) age(_ *jdl.Job, res *glue.Resource) *Reason {
	limit := max(r.MaxAge, res.Validity)
	if r.MaxAge == 0 {
		limit = max(defaultMaxAge, res.Validity)
	}
	if age := ageOf(res, r.Now); age > limit {
		return &Reason{Want: period(YoungerThan, limit), Have: period(AgeOf, age), Temporary: true}
	}
	return nil
}

// ageOf is how old the published state of a resource is, 0 where it cannot be
// told and for files, which are pictures of their own time.
func ageOf(res *glue.Resource, now time.Time) time.Duration {
	made := res.Created
	if made.IsZero() {
		made = res.Fetched
	}
	if made.IsZero() || strings.HasPrefix(res.Source, "file:") {
		return 0
	}
	return max(0, now.Sub(made))
}
