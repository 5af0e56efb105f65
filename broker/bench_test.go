package broker_test

import (
	"context"
	"fmt"
	"runtime"
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

// manyDifferent are jobs each with Requirements and a Rank of its own.
func manyDifferent(n int) []*jdl.Job {
	js := make([]*jdl.Job, n)
	for i := range js {
		ad, err := classad.ParseAd("", []byte(fmt.Sprintf(`[Executable = "/bin/true";
			Requirements = other.GlueCEStateStatus == "Production" && other.GlueHostMainMemoryRAMSize >= %d &&
			other.GlueCEPolicyMaxWallClockTime >= %d && Member("VO-atlas-%d", other.GlueHostApplicationSoftwareRunTimeEnvironment);
			Rank = %d * other.GlueCEStateFreeJobSlots - other.GlueCEStateWaitingJobs]`, 2000+i, 60+i%1000, i%40, i)))
		if err != nil {
			panic(err)
		}
		req, _ := ad.Expr("Requirements")
		order, _ := ad.Expr("Rank")
		js[i] = &jdl.Job{Ad: ad, Name: "job", Requirements: req, Rank: order}
	}
	return js
}

// BenchmarkPlanDifferent plans jobs every one of which is different over as
// many shares and views as 300 sites publish; MB/job is what the plan holds in
// the end.
func BenchmarkPlanDifferent(b *testing.B) {
	rs := bigGrid(12444)
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			js := manyDifferent(n)
			br := newBroker(func(b *broker.Broker) { b.Policy = rank.Policy{Name: rank.Hybrid} })
			peak := uint64(0)
			for b.Loop() {
				p, err := br.Plan(context.Background(), js, rs)
				if err != nil || p.Jobs[0].Err != nil {
					b.Fatal(err, p.Jobs[0].Err)
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
				runtime.KeepAlive(p)
			}
			b.ReportMetric(float64(peak)/1e6, "MB")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*n), "ms/job")
		})
	}
}
