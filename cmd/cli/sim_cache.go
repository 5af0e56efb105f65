package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"gridbroker/readahead"
)

// cacheOptions are those of grid sim cache.
type cacheOptions struct {
	set   []string
	sweep []string
	seeds int
}

func simCacheCmd(d *deps) *cobra.Command {
	var f cacheOptions
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Simulate the read-ahead cache: time of a program with and without it",
		Long: `Cache runs a model of a program that reads blocks of remote and local files,
once through the two-level read-ahead cache and once without, and prints the mean
times over seeds 1 to N, their ratio, and what happened at both levels. Times are
in units of one block over the local network.

Parameters (--set, --sweep) and what they are without it: ops 300 (reads of a
branch), branches 1, remote 4 and local 0 (files), weight 1 (of remote files),
p 0.5 (a read goes on where the last one of its file ended), q 1 (blocks of a
read), m 1 (blocks of a portion), blocks 10000 (of a file), wan 108, wan_block 1,
lan_block 1, disk 0, cell 0, write 0, look 0, think 0 (computing after a read),
node_cells 64, sys_cells 256, ahead 1 and sys_ahead 1 (portions fetched ahead),
when start (or end), link delay (serial: blocks one after the other; blocking:
requests too), turn_off false (look-ahead stops where it does not pay).`,
		Example: `  grid sim cache
  grid sim cache --sweep p=0,0.25,0.5,0.75,1 --sweep remote=1,4,16
  grid sim cache --set link=blocking --set think=110 --sweep turn_off=false,true --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSimCache(cmd.Context(), d, f) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE`: a parameter; may be repeated")
	fl.StringArrayVar(&f.sweep, "sweep", nil, "`KEY=V1,V2,...`: compare these values; several sweeps give every combination")
	fl.IntVar(&f.seeds, "seeds", 20, "`N`: mean over the seeds 1 to N")
	return cmd
}

// cachePoint is the mean outcome of one setting.
type cachePoint struct {
	Params  readahead.Params   `json:"params"`
	Seeds   int                `json:"seeds"`
	With    float64            `json:"with_cache" unit:"seconds"`
	WithSD  float64            `json:"with_sd" unit:"seconds"`
	Without float64            `json:"without" unit:"seconds"`
	Ratio   float64            `json:"ratio"`
	Counts  map[string]float64 `json:"counts"`
	swept   []string
}

func runSimCache(ctx context.Context, d *deps, f cacheOptions) error {
	if f.seeds < 1 || f.seeds > 1e6 {
		return usageError(fmt.Errorf("--seeds %d: want a number from 1 to 1000000", f.seeds))
	}
	points, names, err := f.points()
	if err != nil {
		return usageError(err)
	}
	for _, p := range points {
		if err := p.run(ctx, f.seeds); err != nil {
			return err
		}
	}
	if d.json {
		return printJSON(d, "sim.cache", simCacheDocument{points})
	}
	return printCache(d, points, names)
}

// points returns every combination of the swept values, and the names swept.
func (f cacheOptions) points() (points []*cachePoint, names []string, err error) {
	swept, names, err := sweepPoints(readahead.DefaultParams(), f.set, f.sweep)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range swept {
		if err := s.params.Check(); err != nil {
			return nil, nil, err
		}
		points = append(points, &cachePoint{Params: s.params, swept: s.swept})
	}
	return points, names, nil
}

// run fills in the outcome over the seeds.
func (p *cachePoint) run(ctx context.Context, seeds int) error {
	plain := p.Params
	plain.Cache = false
	var sum, squares float64
	total := readahead.Counts{}
	for seed := 1; seed <= seeds; seed++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		with, err := readahead.Model(p.Params, uint64(seed))
		if err != nil {
			return err
		}
		without, err := readahead.Model(plain, uint64(seed))
		if err != nil {
			return err
		}
		sum, squares = sum+with.Time, squares+with.Time*with.Time
		p.Without += without.Time / float64(seeds)
		total.Add(with.Counts)
	}
	n := float64(seeds)
	p.Seeds, p.With, p.Ratio = seeds, sum/n, sum/n/p.Without
	if seeds > 1 {
		p.WithSD = math.Sqrt(max(0, squares-sum*sum/n) / (n - 1))
	}
	p.Counts = total.Means(seeds)
	return nil
}

func printCache(d *deps, points []*cachePoint, names []string) error {
	heads := append([]string(nil), names...)
	heads = append(heads, ">with", ">sd", ">without", ">ratio", ">hit", ">late", ">miss", ">wide requests", ">ahead")
	var rows [][]string
	for _, p := range points {
		count := func(k string) string { return fmt.Sprintf("%.1f", p.Counts[k]) }
		rows = append(rows, append(append([]string(nil), p.swept...),
			fmt.Sprintf("%.0f", p.With), fmt.Sprintf("%.0f", p.WithSD), fmt.Sprintf("%.0f", p.Without), fmt.Sprintf("%.3f", p.Ratio),
			count("node_hit"), count("node_late"), count("node_miss"), count("wan_requests"), count("prefetched")))
	}
	return table(d, columns(heads...), rows)
}
