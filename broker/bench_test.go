package broker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/rank"
)

// bigGrid is as many resources as a top BDII of the largest grid published.
func bigGrid(n int) []*glue.Resource {
	rs := make([]*glue.Resource, n)
	for i := range rs {
		rs[i] = site(fmt.Sprintf("ce%05d", i), func(r *glue.Resource) {
			r.Access = []string{"VO:ops", "VO:dteam", "VO:atlas"}
			r.MainMemory = glue.Some(int64(2000 * (1 + i%16)))
			r.MaxWallTime = glue.Some(time.Duration(1+i%72) * time.Hour)
			r.Waiting, r.FreeSlots = glue.Some(int64(i%50)), glue.Some(int64(i%7))
			r.RuntimeEnvironments = []string{"VO-atlas-prod-21.0", "VEE-Linux", fmt.Sprint("VO-atlas-", i%40)}
		})
	}
	return rs
}

const bigJob = `[Executable = "/bin/true";
	Requirements = other.GlueCEStateStatus == "Production" && other.GlueHostMainMemoryRAMSize >= 8000 &&
	other.GlueCEPolicyMaxWallClockTime >= 720 && Member("VEE-Linux", other.GlueHostApplicationSoftwareRunTimeEnvironment);
	Rank = -other.GlueCEStateWaitingJobs]`

func benchmarkPlan(b *testing.B, resources, jobs int, explain bool) {
	rs := bigGrid(resources)
	ad, err := classad.ParseAd("", []byte(bigJob))
	if err != nil {
		b.Fatal(err)
	}
	req, _ := ad.Expr("Requirements")
	order, _ := ad.Expr("Rank")
	js := make([]*jdl.Job, jobs)
	for i := range js {
		js[i] = &jdl.Job{Ad: ad, Name: "job", Requirements: req, Rank: order}
	}
	br := newBroker(func(b *broker.Broker) { b.Policy = rank.Policy{Name: rank.Hybrid} })
	for b.Loop() {
		p, err := br.Plan(context.Background(), js, rs)
		if err != nil || p.Jobs[0].Err != nil {
			b.Fatal(err, p.Jobs[0].Err)
		}
		if explain {
			p.Jobs[0].Match.Explain(nil)
		}
	}
}

func BenchmarkPlan10kResources1Job(b *testing.B)     { benchmarkPlan(b, 10000, 1, false) }
func BenchmarkPlan10kResources1000Jobs(b *testing.B) { benchmarkPlan(b, 10000, 1000, false) }
func BenchmarkPlan28kResources1Job(b *testing.B)     { benchmarkPlan(b, 28000, 1, false) }
func BenchmarkExplain28kResources(b *testing.B)      { benchmarkPlan(b, 28000, 1, true) }
