package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gridbroker/batch"
)

// demand is what a job asks for, as far as squeue's one-letter columns do not tell.
type demand struct {
	memory float64  // MB in all, or had; 0: not told
	each   int      // processors of a node, at least
	gpus   int      // in all, of a job that does not ask for so many a node
	types  []string // of them, as features
}

// The columns that are asked for, and how wide. Of resources processors and memory come first.
var demandColumns = []struct {
	name  string
	width int
}{{"tres-alloc", 48}, {"jobarrayid", 24}, {"mincpus", 8}, {"numtasks", 8}, {"tres-per-job", 48}, {"tres-per-task", 48}}

// demands reads what jobs ask for: of the memory squeue's letter does not say whether it is
// that of a processor or of a node. A Slurm without such columns tells nothing.
func demands(ctx context.Context, s *site, of map[string]demand) error {
	format, sum := "", 0
	for _, c := range demandColumns {
		format += fmt.Sprint(",", c.name, ":", c.width)
		sum += c.width
	}
	return s.Lines(ctx, func(line string) error {
		if len(line) < sum || len(of) >= maxOn {
			return nil
		}
		var f []string
		for _, c := range demandColumns {
			f, line = append(f, whole(line[:c.width])), line[c.width:]
		}
		id, _, _ := strings.Cut(f[1], "_[")
		of[id] = demanded(f)
		return nil
	}, "squeue", "--noheader", "--Format="+format[1:])
}

// whole is what a column of a fixed width tells: of a list that fills it the last word may
// have been cut.
func whole(column string) string {
	s := strings.TrimSpace(column)
	if len(s) == len(column) {
		s = s[:max(0, strings.LastIndexByte(s, ','))]
	}
	return s
}

// demanded reads one row.
func demanded(f []string) demand {
	d := demand{each: atoi(f[2]), gpus: gpus(f[4]), types: slices.Concat(gpuTypes(f[4]), gpuTypes(f[5]))}
	if d.gpus == 0 {
		d.gpus = gpus(f[5]) * max(1, atoi(f[3]))
	}
	for pair := range strings.SplitSeq(f[0], ",") {
		if size, ok := strings.CutPrefix(pair, "mem="); ok {
			if mb, _, ok := megabytes(size); ok {
				d.memory = mb
			}
		}
	}
	return d
}

// mostGPUs is how many GPUs a node has at most.
func mostGPUs(nodes []batch.Node) (most int) {
	for i := range nodes {
		most = max(most, nodes[i].GPUs)
	}
	return most
}

// remember gives a job what is known of its demand, where nodes have so many GPUs at most. GPUs
// of the whole job are parted evenly: on the nodes that it asks for or has, else on as few as can be.
func (c *cluster) remember(j *batch.Job, most int) {
	waits := j.Started.IsZero()
	d, ok := c.asked[j.ID]
	if !ok && waits {
		d, ok = c.asked[j.Array]
	}
	if !ok {
		d = demand{}
	}
	if d.memory > 0 && j.Memory > 0 {
		j.Memory = max(1, int64(d.memory/float64(j.Procs)))
	}
	if total := min(d.gpus, maxOn); total > 0 && j.GPUs == 0 {
		if j.Nodes == 0 {
			j.Nodes = (total-1)/max(1, most) + 1
		}
		j.GPUs = (total-1)/j.Nodes + 1
		j.Features = append(j.Features, d.types...)
	}
	if waits {
		if d.each > 1 {
			j.Each = d.each
		}
		j.Procs = max(j.Procs, j.Each, j.Nodes*max(1, j.Each))
	}
}
