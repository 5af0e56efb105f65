package infosys

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"gridbroker/glue"
)

// BenchmarkDiscovery reads the BDII named by GRID_BDII (ldap://host:port) and
// gives the time as a ratio to ldapsearch with the same filters and
// attributes, run in turns: "serial" when one search runs after the other,
// "parallel" when all run at once. testdata/testbed/bdii/bench.sh sets it up.
func BenchmarkDiscovery(b *testing.B) {
	url := os.Getenv("GRID_BDII")
	if url == "" {
		b.Skip("GRID_BDII is not set")
	}
	arc := glue.QueriesARC(nil)
	for base, queries := range map[string][]glue.Query{
		"o=grid": append(glue.Queries13("", nil), arc...), "o=glue": glue.Queries20(nil),
	} {
		b.Run(base, func(b *testing.B) {
			src := ldapSource(b, url+"/"+base)
			var own, serial, parallel time.Duration
			b.ReportAllocs()
			for b.Loop() {
				own += timed(b, func() error { _, err := src.Resources(b.Context()); return err })
				b.StopTimer()
				serial += timed(b, func() error { return ldapsearches(url, base, queries, 1) })
				parallel += timed(b, func() error { return ldapsearches(url, base, queries, len(queries)) })
				b.StartTimer()
			}
			b.ReportMetric(own.Seconds()/serial.Seconds(), "x-serial")
			b.ReportMetric(own.Seconds()/parallel.Seconds(), "x-parallel")
		})
	}
}

func timed(b *testing.B, f func() error) time.Duration {
	start := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// ldapsearches runs the queries, so many at a time.
func ldapsearches(url, base string, queries []glue.Query, atOnce int) error {
	slots := make(chan struct{}, atOnce)
	errs := make(chan error, len(queries))
	var wg sync.WaitGroup
	for _, q := range queries {
		slots <- struct{}{}
		wg.Go(func() {
			args := append(strings.Fields("-x -LLL -o ldif-wrap=no -H "+url+" -b "+base), q.Filter)
			errs <- exec.Command("ldapsearch", append(args, q.Attrs...)...).Run()
			<-slots
		})
	}
	wg.Wait()
	for range queries {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}
