package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"gridbroker/forecast/wire"
)

type slotsIn struct {
	Name    string `path:"name" maxLength:"256"`
	RawBody []byte `contentType:"application/octet-stream"`
}

// slotsOut is a wire.Ack, as agents read it.
type slotsOut struct {
	Type string `header:"Content-Type"`
	Body []byte
}

// desk answers those who look after clusters: agents and operators.
type desk struct{ *API }

// speaksFor tells whether the asker is the agent of a cluster.
func (a desk) speaksFor(ctx context.Context, cluster string) error {
	p, err := person(ctx)
	if err != nil {
		return err
	}
	if _, known := a.S.conf.Clusters[cluster]; !known {
		return huma.Error404NotFound("no such cluster: the scheduler's operator has to enter it")
	}
	if !slices.Contains(p.Sites, cluster) {
		return huma.Error403Forbidden(fmt.Sprintf("%s does not speak for cluster %s", p.Subject, cluster))
	}
	return nil
}

func (a desk) have(ctx context.Context, in *struct {
	Name string `path:"name" maxLength:"256"`
}) (*slotsOut, error) {
	if err := a.speaksFor(ctx, in.Name); err != nil {
		return nil, err
	}
	ack, err := a.S.store.Have(ctx, in.Name, a.S.now())
	if err != nil {
		return nil, a.problem(err)
	}
	text, err := json.Marshal(ack)
	return &slotsOut{"application/json", text}, err
}

func (a desk) slots(ctx context.Context, in *slotsIn) (*slotsOut, error) {
	if err := a.speaksFor(ctx, in.Name); err != nil {
		return nil, err
	}
	d, err := wire.DecodeDelta(in.RawBody, wire.DefaultLimits())
	if err != nil {
		a.S.meter.deltas.WithLabelValues("bad").Inc()
		return nil, huma.Error422UnprocessableEntity(err.Error())
	}
	if d.Cluster != in.Name {
		return nil, huma.Error422UnprocessableEntity("the delta is of another cluster")
	}
	ack, err := Listener{a.S}.Ingest(ctx, d, in.RawBody)
	if err != nil {
		a.S.meter.deltas.WithLabelValues("refused").Inc()
		return nil, a.problem(err)
	}
	outcome := "taken"
	if ack.Resync {
		outcome = "resync"
	}
	a.S.meter.deltas.WithLabelValues(outcome).Inc()
	a.S.poke()
	text, err := json.Marshal(ack)
	return &slotsOut{"application/json", text}, err
}

type beatIn struct {
	Name    string `path:"name" maxLength:"256"`
	RawBody []byte `contentType:"application/octet-stream"`
}

func (a desk) beat(ctx context.Context, in *beatIn) (*slotsOut, error) {
	if err := a.speaksFor(ctx, in.Name); err != nil {
		return nil, err
	}
	b, err := wire.DecodeBeat(in.RawBody, wire.DefaultLimits())
	if err != nil {
		return nil, huma.Error422UnprocessableEntity(err.Error())
	}
	if b.Cluster != in.Name {
		return nil, huma.Error422UnprocessableEntity("the beat is of another cluster")
	}
	ack, err := Listener{a.S}.Beat(ctx, b)
	if err != nil {
		return nil, a.problem(err)
	}
	text, err := json.Marshal(ack)
	return &slotsOut{"application/json", text}, err
}

type clustersOut struct {
	Body struct {
		Clusters []ClusterInfo `json:"clusters"`
	}
}

func (a desk) clusters(ctx context.Context, _ *struct{}) (*clustersOut, error) {
	if _, err := person(ctx); err != nil {
		return nil, err
	}
	list, err := a.S.store.Clusters(ctx, a.S.now())
	if err == nil {
		list, err = present(ctx, a.S, list, func(c *ClusterInfo) (string, *bool) { return c.Name, &c.Gone })
	}
	for i := range list { // who may run there is the site's own business
		list[i].Site.Users = nil
	}
	out := &clustersOut{}
	out.Body.Clusters = list
	return out, a.problem(err)
}

type drainIn struct {
	Name string `path:"name"`
	Body struct {
		Drain bool `json:"drain"`
	}
}

func (a desk) drain(ctx context.Context, in *drainIn) (*struct{}, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	if !p.Admin && !slices.Contains(p.Sites, in.Name) {
		return nil, huma.Error403Forbidden("only administrators and the cluster's own agent may do that")
	}
	return nil, a.problem(a.S.Drain(ctx, p, in.Name, in.Body.Drain))
}

type budgetOut struct {
	Body struct {
		Budgets []Budget `json:"budgets"`
	}
}

func (a *API) budget(ctx context.Context, _ *struct{}) (*budgetOut, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	user := p.Subject
	if p.Admin {
		user = ""
	}
	out := &budgetOut{}
	out.Body.Budgets, err = a.S.store.Budgets(ctx, user)
	return out, a.problem(err)
}

type grantIn struct {
	Body struct {
		User   string  `json:"user" minLength:"1" maxLength:"500"`
		Budget float64 `json:"budget" minimum:"0" maximum:"1000000000000"`
	}
}

func (a *API) grant(ctx context.Context, in *grantIn) (*struct{}, error) {
	p, err := person(ctx)
	if err != nil {
		return nil, err
	}
	if !p.Admin {
		return nil, huma.Error403Forbidden("only administrators may do that")
	}
	if strings.ContainsFunc(in.Body.User, unicode.IsControl) {
		return nil, huma.Error422UnprocessableEntity("a user's name has no control characters")
	}
	return nil, a.problem(a.S.store.Grant(ctx, a.S.now().Unix(), in.Body.User, in.Body.Budget, newID(a.S.now(), a.S.conf.Chance)))
}
