package classad_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"gridbroker/jdl/classad"
)

// The expressions of the measurements of the peers.
var benchExprs = map[string]string{
	"full":    `RegExp(".*jobmanager-pbs.*", other.GlueCEUniqueID) && Member("VEE-WindowsXP", other.GlueHostApplicationSoftwareRunTimeEnvironment) && other.GlueCEPolicyMaxCPUTime >= 1500`,
	"member":  `Member("VEE-WindowsXP", other.GlueHostApplicationSoftwareRunTimeEnvironment) && other.GlueCEPolicyMaxCPUTime >= 1500`,
	"compare": `other.GlueCEStateStatus == "Production" && other.GlueCEPolicyMaxCPUTime >= 1500 && other.GlueCEStateFreeCPUs > 10`,
	"default": `other.GlueCEStateStatus == "Production"`,
	"general": `(other.GlueCEStateWaitingJobs == 0 || other.GlueCEStateFreeCPUs > 2 * other.GlueCEStateWaitingJobs) && !isUndefined(other.GlueHostMainMemoryRAMSize)`,
}

// resourceText is a computing element in GLUE 1.3: 37 attributes, 12 to 47
// tags, 2.6 kB.
func resourceText(r *rand.Rand, n int) string {
	lrms := []string{"pbs", "lcgpbs", "lsf", "sge", "condor", "slurm"}[r.IntN(6)]
	vo := []string{"biomed", "atlas", "cms", "lhcb", "alice", "dteam", "ops"}[r.IntN(7)]
	host := fmt.Sprintf("ce%03d.site%03d.example.org", n%7, n/7)
	status := "Production"
	if r.IntN(12) == 0 {
		status = "Draining"
	}
	var b strings.Builder
	str := func(name, value string) { fmt.Fprintf(&b, "  %s = %q;\n", name, value) }
	num := func(name string, value int) { fmt.Fprintf(&b, "  %s = %d;\n", name, value) }
	b.WriteString("[\n")
	str("GlueCEUniqueID", fmt.Sprintf("%s:2119/jobmanager-%s-%s%d", host, lrms, vo, n))
	str("GlueCEName", vo)
	str("GlueCEInfoHostName", host)
	str("GlueCEInfoGatekeeperPort", "2119")
	str("GlueCEInfoJobManager", lrms)
	str("GlueCEInfoLRMSType", lrms)
	str("GlueCEInfoLRMSVersion", "2.5.7")
	str("GlueCEInfoDefaultSE", "se."+host)
	str("GlueCEInfoContactString", fmt.Sprintf("%s:2119/jobmanager-%s", host, lrms))
	str("GlueCEImplementationName", "LCG-CE")
	str("GlueCEStateStatus", status)
	num("GlueCEInfoTotalCPUs", 64+r.IntN(4000))
	num("GlueCEStateFreeCPUs", r.IntN(25))
	num("GlueCEStateFreeJobSlots", r.IntN(25))
	num("GlueCEStateRunningJobs", r.IntN(4000))
	num("GlueCEStateWaitingJobs", r.IntN(3))
	num("GlueCEStateTotalJobs", r.IntN(4000))
	num("GlueCEStateEstimatedResponseTime", r.IntN(100000))
	num("GlueCEStateWorstResponseTime", r.IntN(1000000))
	num("GlueCEPolicyMaxCPUTime", 60*r.IntN(80))
	num("GlueCEPolicyMaxWallClockTime", 60*r.IntN(120))
	num("GlueCEPolicyMaxRunningJobs", r.IntN(4000))
	num("GlueCEPolicyMaxTotalJobs", 0)
	num("GlueCEPolicyPriority", 1)
	num("GlueCEPolicyAssignedJobSlots", r.IntN(4000))
	num("GlueHostMainMemoryRAMSize", 1024*(1+r.IntN(16)))
	num("GlueHostMainMemoryVirtualSize", 2048*(1+r.IntN(16)))
	num("GlueHostArchitectureSMPSize", 1<<r.IntN(5))
	num("GlueHostBenchmarkSI00", 1000+r.IntN(2000))
	num("GlueHostBenchmarkSF00", 1000+r.IntN(2000))
	num("GlueHostProcessorClockSpeed", 2000+r.IntN(1500))
	str("GlueHostOperatingSystemName", "ScientificSL")
	str("GlueHostOperatingSystemRelease", "5.8")
	str("GlueHostOperatingSystemVersion", "Boron")
	b.WriteString("  GlueHostNetworkAdapterOutboundIP = true;\n")
	fmt.Fprintf(&b, "  GlueCEAccessControlBaseRule = { \"VO:%s\", \"VOMS:/%s/Role=lcgadmin\" };\n", vo, vo)
	b.WriteString("  GlueHostApplicationSoftwareRunTimeEnvironment = { \"LCG-2\"")
	for range 12 + r.IntN(36) {
		fmt.Fprintf(&b, ", \"VO-%s-software-%d.%d\"", vo, r.IntN(40), r.IntN(30))
	}
	if r.IntN(6) == 0 {
		b.WriteString(", \"VEE-WindowsXP\"")
	}
	b.WriteString(" };\n]\n")
	return b.String()
}

func resources(tb testing.TB, n int) (ads []*classad.Ad, bytes int) {
	tb.Helper()
	r := rand.New(rand.NewPCG(3, 9))
	ads = make([]*classad.Ad, n)
	for i := range ads {
		text := resourceText(r, i)
		ad, err := classad.ParseAd("ce", []byte(text))
		if err != nil {
			tb.Fatal(err)
		}
		ads[i], bytes = ad, bytes+len(text)
	}
	return ads, bytes
}

// benchExpr is one of benchExprs, or sites: a list of 20,000 names.
func benchExpr(name string) string {
	if name != "sites" {
		return benchExprs[name]
	}
	terms := make([]string, 20000)
	for i := range terms {
		terms[i] = fmt.Sprintf(`other.GlueCEInfoHostName == "ce%d.site%d.example"`, i, i%50)
	}
	return strings.Join(terms, " || ")
}

func mustExpr(tb testing.TB, text string) classad.Expr {
	tb.Helper()
	e, err := classad.ParseExpr("", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// BenchmarkMatch evaluates a compiled Requirements for all candidates of a
// table whose columns are there, as they are after the first job.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{100, 3000, 100000} {
		ads, _ := resources(b, n)
		table := classad.NewTable(ads)
		for _, name := range []string{"full", "member", "compare", "default", "general", "sites"} {
			e := mustExpr(b, benchExpr(name))
			classad.Compile(e, nil, table)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				p := classad.Compile(e, nil, table)
				rows := make([]int32, n)
				matched := 0
				b.ReportAllocs()
				for b.Loop() {
					for i := range rows {
						rows[i] = int32(i)
					}
					matched = len(p.Filter(rows))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/candidate")
				b.ReportMetric(float64(matched), "matches")
			})
		}
	}
}

// BenchmarkAnswer is one whole answer for 100,000 candidates: compile
// Requirements and Rank, match, rank the matches.
func BenchmarkAnswer(b *testing.B) {
	ads, _ := resources(b, 100000)
	table := classad.NewTable(ads)
	rank := mustExpr(b, "-other.GlueCEStateEstimatedResponseTime")
	for _, name := range []string{"full", "default"} {
		req := mustExpr(b, benchExprs[name])
		classad.Compile(req, nil, table)
		classad.Compile(rank, nil, table)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p := classad.Compile(req, nil, table)
				classad.Compile(rank, nil, table).Values(p.Filter(allRows(table)))
			}
		})
	}
}

// BenchmarkReference is the tree evaluator on the same work.
func BenchmarkReference(b *testing.B) {
	ads, _ := resources(b, 3000)
	self := classad.NewAd()
	for _, name := range []string{"full", "compare"} {
		e := mustExpr(b, benchExprs[name])
		b.Run(name+"/3000", func(b *testing.B) {
			for b.Loop() {
				for _, ad := range ads {
					self.Eval(e, ad)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3000, "ns/candidate")
		})
	}
}

func BenchmarkTable(b *testing.B) {
	ads, _ := resources(b, 3000)
	e := mustExpr(b, benchExprs["full"])
	for b.Loop() {
		classad.Compile(e, nil, classad.NewTable(ads))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3000, "ns/row")
}

func BenchmarkCompile(b *testing.B) {
	ads, _ := resources(b, 3000)
	table := classad.NewTable(ads)
	for _, name := range []string{"full", "sites"} {
		e := mustExpr(b, benchExpr(name))
		classad.Compile(e, nil, table)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				classad.Compile(e, nil, table)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 9))
	texts := make([][]byte, 300)
	size := 0
	for i := range texts {
		texts[i] = []byte(resourceText(r, i))
		size += len(texts[i])
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, t := range texts {
			if _, err := classad.ParseAd("ce", t); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkMemory measures what a parsed record keeps beyond its text.
func BenchmarkMemory(b *testing.B) {
	const n = 5000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		ads, size := resources(b, n)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc)-float64(size))/n, "B/ad")
		b.ReportMetric(float64(size)/n, "text-B/ad")
		runtime.KeepAlive(ads)
	}
}
