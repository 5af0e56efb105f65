// Package brokertest makes brokers, resources and jobs for tests.
package brokertest

import (
	"context"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
)

// Start is the time at which tests begin.
var Start = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

// NewJob reads a record and makes the job of its Requirements and Rank.
func NewJob(t *testing.T, text string) *jdl.Job {
	t.Helper()
	ad, err := classad.ParseAd("job.jdl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	job := &jdl.Job{Ad: ad, Name: "job", File: "job.jdl", Requirements: classad.NewLiteral(classad.BoolValue(true)), FuzzyFactor: 1}
	if e, ok := ad.Expr("Requirements"); ok {
		job.Requirements = e
	}
	if e, ok := ad.Expr("Rank"); ok {
		job.Rank = e
	}
	return job
}

// ParseJob reads a description as it is remembered: without anybody's defaults.
func ParseJob(t *testing.T, text string, edit ...func(*jdl.Job)) *jdl.Job {
	t.Helper()
	job, err := jdl.LoadJob("[" + text + "]")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range edit {
		f(job)
	}
	return job
}

// Site is a well computing element of that name for members of atlas, with ten
// free slots.
func Site(id string, edit ...func(*glue.Resource)) *glue.Resource {
	r := &glue.Resource{
		ID: id, Name: id, Site: "site-" + id, CE: id + ".example.org", Queue: "batch", Source: "bdii", Schema: "glue2.0",
		Serving: glue.Production, Access: []string{"VO:atlas"}, Created: Start.Add(-time.Minute),
		Endpoints: []glue.Endpoint{{URL: "https://" + id + "/arex", Interface: glue.InterfaceARCREST, Health: "ok"}},
		Waiting:   glue.Some[int64](0), FreeSlots: glue.Some[int64](10), TotalSlots: glue.Some[int64](10),
	}
	for _, f := range edit {
		f(r)
	}
	return r
}

// New is a broker of a plain member of atlas, at the time Start.
func New(edit ...func(*broker.Broker)) *broker.Broker {
	b := &broker.Broker{
		Policy: rank.Policy{Name: rank.Hybrid}, Clock: clock.Set(func() time.Time { return Start }), Seed: 1,
		Rules: broker.Rules{Identity: broker.Identity{VO: "atlas"}, Interfaces: []string{glue.InterfaceARCREST},
			Speaks: func(iface string) bool { return iface == glue.InterfaceARCREST }},
	}
	for _, f := range edit {
		f(b)
	}
	return b
}

// Plan plans or fails the test.
func Plan(t *testing.T, b Planner, rs []*glue.Resource, jobs ...*jdl.Job) *broker.Plan {
	t.Helper()
	p, err := b.Plan(context.Background(), jobs, rs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Planner plans: a broker, or what stands before one.
type Planner interface {
	Plan(ctx context.Context, jobs []*jdl.Job, rs []*glue.Resource) (*broker.Plan, error)
}
