package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/cmd/cli"
	"gridbroker/jobs"
	"gridbroker/plugins"
	"gridbroker/testdata/testbed"
)

// BenchmarkList lists 100,000 records: all of them, the first or last 20, and
// the 20 that ended last, for which all are read. cpu-s/op is processor time.
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	store, err := jobs.OpenStore(dir, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now().Add(-time.Hour)
	code := 0
	for k := range 100 {
		rs := make([]*jobs.Record, 1000)
		for i := range rs {
			rs[i] = &jobs.Record{ID: fmt.Sprintf("1m81m5y0p0%05x", 1000*k+i), Name: fmt.Sprintf("scan-%d", i), State: plugins.Done, ExitCode: &code, Slots: 1,
				JDL: "[ Executable = \"/bin/sh\"; Arguments = \"-c 'exit 0'\"; StdOutput = \"out.txt\"; WallTime = 7200; Requirements = other.GlueCEStateStatus == \"Production\"; ]",
				At:  "ce.example.org/long", Resource: "ce.example.org/long", Site: "EXAMPLE", Created: now, Sent: now, Submitted: now, Started: now, Ended: now.Add(time.Minute), Updated: now}
		}
		if err := store.Add(b.Context(), rs); err != nil {
			b.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	env := cli.OSEnv()
	env.Out, env.Err, env.Terminal = io.Discard, os.Stderr, false
	for name, more := range map[string][]string{
		"all": nil, "where": {"--where", `state == "failed" && exit_code > 2`}, "first20": {"--limit", "20"}, "last20": {"--sort", "-id", "--limit", "20"}, "ended20": {"--sort", "-ended", "--limit", "20"},
	} {
		b.Run(name, func(b *testing.B) {
			began := testbed.Processor(b)
			defer func() { b.ReportMetric((testbed.Processor(b)-began).Seconds()/float64(b.N), "cpu-s/op") }()
			for b.Loop() {
				if got := cli.Main(b.Context(), env, append([]string{"--state-dir", filepath.Clean(dir), "list"}, more...)); got != 0 {
					b.Fatalf("exit code %d", got)
				}
			}
		})
	}
}
