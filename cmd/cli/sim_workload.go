package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/batch/swf"
)

// workloadOptions are those of grid sim workload.
type workloadOptions struct {
	jobs  int
	procs int
	load  float64
	shake int64
	seed  uint64
	out   string
}

func simWorkloadCmd(d *deps) *cobra.Command {
	var f workloadOptions
	cmd := &cobra.Command{
		Use:   "workload [TRACE...]",
		Short: "Generate, scale, shake and merge workload traces",
		Long: `Workload writes a trace in the Standard Workload Format.

Without a TRACE it generates --jobs jobs for a machine of --procs processors by
the model of Lublin and Feitelson (2003). A TRACE (plain or gzip; - is standard
input) is read and cleaned as by grid sim queue. Several are merged, each a
cluster of its own: the partition (field 16) is the cluster's number.

--load F divides the times of submission by F, before merging. --shake moves
every submission by a random time of up to so many seconds either way, for
averages that do not depend on the accidents of one log. The same --seed gives
the same workload. Traces of any length are worked on as they are read; shaking
holds the jobs of twice its span in memory.`,
		Example: `  grid sim workload --jobs 100000 --procs 256 --load 1.2 --out made.swf.gz
  grid sim workload --load 1.25 KTH-SP2-1996-2.1-cln.swf.gz --out denser.swf
  for seed in 1 2 3; do
    grid sim workload --shake 3600 --seed $seed kth.swf.gz | grid sim queue --trace - --policy easy
  done
  grid sim workload kth.swf.gz ctc.swf.gz sdsc.swf.gz --out grid.swf.gz`,
		RunE: func(cmd *cobra.Command, traces []string) error { return runSimWorkload(cmd.Context(), d, f, traces) },
	}
	fl := cmd.Flags()
	fl.IntVar(&f.jobs, "jobs", 10000, "generate `N` jobs")
	fl.IntVar(&f.procs, "procs", 0, "processors of the machine `N` (default: each trace's MaxProcs; 128 to generate for)")
	fl.Float64Var(&f.load, "load", 1, "divide the times of submission by `F`")
	fl.Int64Var(&f.shake, "shake", 0, "move submissions by up to `SECONDS` either way")
	fl.Uint64Var(&f.seed, "seed", 1, "random `SEED`")
	fl.StringVarP(&f.out, "out", "o", "", "write to `FILE`, gzip where its name ends in .gz (default: standard output)")
	return cmd
}

func (f workloadOptions) check(traces []string) error {
	stdin := 0
	for _, t := range traces {
		if t == "-" {
			stdin++
		}
	}
	switch {
	case f.jobs < 1 || f.jobs > 1<<30:
		return fmt.Errorf("--jobs %d: want a number from 1 to 2^30", f.jobs)
	case f.procs < 0 || f.procs > 1<<30:
		return fmt.Errorf("--procs %d: want a number from 1 to 2^30", f.procs)
	case !(f.load >= 0.001 && f.load <= 1000):
		return fmt.Errorf("--load %g: want a factor from 0.001 to 1000", f.load)
	case f.shake < 0 || f.shake > 1e9:
		return fmt.Errorf("--shake %d: want seconds from 0 to 10^9", f.shake)
	case stdin > 1:
		return fmt.Errorf("standard input can be read only once")
	}
	return nil
}

func runSimWorkload(ctx context.Context, d *deps, f workloadOptions, traces []string) error {
	if err := f.check(traces); err != nil {
		return usageError(err)
	}
	jobs, header, done, err := makeWorkload(d, f, traces)
	defer done()
	if err != nil {
		return err
	}
	if f.shake > 0 {
		jobs = swf.Shake(jobs, f.shake, f.seed)
		header.Labels = append(header.Labels, swf.Label{Name: "Note", Value: fmt.Sprintf("submissions moved by up to %d s, seed %d", f.shake, f.seed)})
	}
	switch {
	case f.out != "" && f.out != "-":
		if err := saveWorkload(ctx, d, abs(d, f.out), header, jobs); err != nil || !d.json {
			return err
		}
		return printJSON(d, "sim.workload", textDocument{Language: "swf", Files: []string{abs(d, f.out)}})
	case d.json:
		var text strings.Builder
		if err := writeWorkload(ctx, d, &text, header, jobs); err != nil {
			return err
		}
		return printJSON(d, "sim.workload", textDocument{Language: "swf", Text: text.String()})
	}
	return writeWorkload(ctx, d, d.env.Out, header, jobs)
}

// workload is the jobs, generated or of one or several traces, and their
// header; done closes the traces.
func makeWorkload(d *deps, f workloadOptions, traces []string) (jobs swf.Jobs, h swf.Header, done func(), err error) {
	if len(traces) == 0 {
		l := &swf.Lublin{Procs: f.procs, Seed: f.seed, Load: f.load}
		if l.Procs == 0 {
			l.Procs = 128
		}
		return l.Generated(f.jobs), l.Header(f.jobs), func() {}, nil
	}
	var open []*traceInput
	done = func() {
		for _, in := range open {
			in.close()
		}
	}
	var list []swf.Jobs
	for _, path := range traces {
		in, err := openTrace(d, path, f.procs, f.load)
		if err != nil {
			return nil, h, done, err
		}
		open = append(open, in)
		jobs, err := in.start()
		if err != nil {
			return nil, h, done, err
		}
		list = append(list, swf.Scaled(jobs, f.load))
	}
	if len(list) == 1 {
		return list[0], traceHeader(open, f.load), done, nil
	}
	return swf.Merge(list...), traceHeader(open, f.load), done, nil
}

// traceHeader says what a workload was made of. What the header of a trace says
// is kept; of several, as notes that name the cluster.
func traceHeader(from []*traceInput, load float64) (h swf.Header) {
	total := 0
	var parts []swf.Label
	for i, in := range from {
		total += in.cleaner.Procs
		parts = append(parts, swf.Label{Name: "Partition", Value: fmt.Sprintf("%d %s, %d processors", i+1, in.cleaner.Name, in.cleaner.Procs)})
		parts = append(parts, keptLabels(in, i+1, len(from) > 1)...)
	}
	h.Labels = []swf.Label{{Name: "Version", Value: "2.2"}, {Name: "MaxProcs", Value: strconv.Itoa(total)}}
	if len(from) > 1 {
		h.Labels = append(h.Labels, swf.Label{Name: "MaxPartitions", Value: strconv.Itoa(len(from))})
	}
	h.Labels = append(h.Labels, parts...)
	if load != 1 {
		h.Labels = append(h.Labels, swf.Label{Name: "Note", Value: fmt.Sprintf("times of submission divided by %g", load)})
	}
	return h
}

// keptLabels are what the header of a trace says beyond what is said anew.
func keptLabels(in *traceInput, number int, several bool) (list []swf.Label) {
	for _, l := range in.reader.Header.Labels {
		switch {
		case l.Name == "Version", l.Name == "MaxProcs", l.Name == "MaxPartitions", l.Name == "Partition", l.Name == "" && l.Value == "":
			continue
		case l.Name == "UnixStartTime":
			if start, err := strconv.ParseInt(l.Value, 10, 64); err == nil {
				l.Value = strconv.FormatInt(start+in.cleaner.Base(), 10)
			}
		}
		if several {
			l = swf.Label{Name: "Note", Value: fmt.Sprintf("partition %d: %s: %s", number, l.Name, l.Value)}
		}
		list = append(list, l)
	}
	return list
}

// writeWorkload writes the jobs as they come.
func writeWorkload(ctx context.Context, d *deps, to io.Writer, h swf.Header, jobs swf.Jobs) error {
	w, err := swf.NewWriter(to, h)
	if err != nil {
		return err
	}
	bar, stop := showProgress(d)
	defer stop()
	for j, err := range jobs {
		if err != nil {
			return err
		}
		if err := w.Write(j.Record()); err != nil {
			return err
		}
		if j.ID%10000 == 0 {
			if bar != nil {
				bar.Step("jobs", 10000, j.ID+10000)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return w.Flush()
}

// saveWorkload writes a file. One that could not be completed is taken away.
func saveWorkload(ctx context.Context, d *deps, path string, h swf.Header, jobs swf.Jobs) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, ".gz") {
		z := gzip.NewWriter(file)
		err = errors.Join(writeWorkload(ctx, d, z, h, jobs), z.Close(), file.Close())
	} else {
		err = errors.Join(writeWorkload(ctx, d, file, h, jobs), file.Close())
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
