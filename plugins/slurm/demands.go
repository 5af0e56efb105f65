package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
)

// demand is what a job asks for, as far as squeue's one-letter columns do not tell.
type demand struct {
	memory  float64 // MB in all, or had; 0: not told
	nodes   int     // least number of them, as it asks for it; 0: not told
	most    int     // nodes that it may have, by Slurm's own guess where it does not say
	even    bool    // it says how many tasks are on a node
	apart   bool    // Slurm plans it on more than one node
	planned string  // those nodes; "": not told
	tasks   int
	each    int      // processors of a node, at least
	gpus    int      // in all, of a job that does not ask for so many a node
	types   []string // of them, as features
	perGPU  int      // processors with each of them; 0: not told
	ofGPU   float64  // MB with each of them
	detail
	bound   bool          // its nodes must be neighbours
	threads bool          // each of its processors is a core's
	apiece  bool          // each of its tasks has its cores for itself
	least   time.Duration // of wall time, that will do; 0: all of its limit
	latest  time.Time     // it must be done by then; zero: at any time
}

// The columns that are asked for, and how wide. Of resources processors, memory and nodes come first.
var demandColumns = []struct {
	name  string
	width int
}{{"tres-alloc", 48}, {"jobarrayid", 24}, {"mincpus", 8}, {"numtasks", 8}, {"tres-per-job", 48}, {"tres-per-task", 48}, {"maxnodes", 8}, {"ntpernode", 8}, {"schednodes", 24}, {"mintime", 16}, {"deadline", 24}, {"cpus-per-tres", 32}, {"mem-per-tres", 32}, {"contiguous", 4}, {"threads", 8}, {"ntpercore", 8}}

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
			f, line = append(f, line[:c.width]), line[c.width:]
		}
		id, _, _ := strings.Cut(whole(f[1]), "_[")
		of[id] = demanded(f)
		return nil
	}, "squeue", "--all", "--noheader", "--Format="+format[1:])
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
	apart, nodes := strings.ContainsAny(f[8], ",["), ""
	if cut := len(strings.TrimRight(f[8], " ")) == len(f[8]); !cut && strings.TrimSpace(f[8]) != "N/A" {
		nodes = strings.TrimSpace(f[8])
	}
	for i := range f {
		f[i] = whole(f[i])
	}
	d := demand{each: atoi(f[2]), tasks: atoi(f[3]), gpus: gpus(f[4]), types: slices.Concat(gpuTypes(f[4]), gpuTypes(f[5])), most: atoi(f[6]), even: atoi(f[7]) > 0, apart: apart, planned: nodes}
	if d.gpus == 0 {
		d.gpus = gpus(f[5]) * max(1, d.tasks)
	}
	d.perGPU, d.bound, d.threads, d.apiece = gpus(f[11]), f[13] == "1", f[14] == "1", f[15] == "1"
	d.ofGPU, _, _ = megabytes(f[12][strings.LastIndexByte(f[12], ':')+1:])
	d.least, _ = duration(f[9])
	d.latest = unix(f[10])
	for pair := range strings.SplitSeq(f[0], ",") {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "mem":
			if mb, _, ok := megabytes(value); ok {
				d.memory = mb
			}
		case "node":
			d.nodes = atoi(value)
		}
	}
	return d
}

// spreads says on how many nodes a waiting job may be, which squeue tells as Slurm's guess
// where the job leaves it open: on any number then. Of one that is guessed to be on one node
// squeue does not tell whether it asked for that (see details). Where Slurm plans it on several it did not; else,
// where that is not known either, it is taken to have, so that it is not foretold to start on what is free of several nodes.
// Of one that is to be on so many nodes to so many (-N2-4) squeue tells the most once it was planned: it starts on the least that hold it.
func (d *demand) spreads(j *batch.Job, guess int, most largest) {
	switch {
	case d.nodes > 1 && d.nodes < guess:
		j.Nodes = min(guess, max(d.nodes, (j.Procs-1)/max(1, most.cpus)+1))
	case d.nodes != 1 || d.even || j.Procs <= 1:
	case d.most > guess:
		j.Nodes, j.MaxNodes = 0, d.most
	case guess > 1 || d.apart || d.free || d.gpus > most.gpus:
		j.Nodes = 0
	default:
		j.Nodes = 1
	}
}

// onEach is how many processors a waiting job must have on each node: those of a task at least.
func (d *demand) onEach(j *batch.Job) int {
	if task := j.Procs / max(1, d.tasks); task*d.tasks == j.Procs && task*max(1, j.Nodes) <= j.Procs {
		return max(d.each, task)
	}
	return d.each
}

// largest is how many GPUs and processors a node has at most.
type largest struct{ gpus, cpus int }

func largestOf(nodes []batch.Node) (most largest) {
	for i := range nodes {
		most = largest{max(most.gpus, nodes[i].GPUs), max(most.cpus, nodes[i].CPUs)}
	}
	return most
}

// remember gives a job what is known of its demand, where nodes have so much at most. GPUs
// of the whole job are parted evenly: on the nodes that it asks for or has, else on as few as can be.
func (c *cluster) remember(j *batch.Job, e *entry, most largest) {
	waits := j.Started.IsZero()
	d, ok := c.asked[j.ID]
	if !ok && waits {
		d, ok = c.asked[j.Array]
	}
	if !ok {
		d = demand{}
	}
	procs := j.Procs // that the memory is for
	if waits {
		j.Least, j.Deadline = d.least, d.latest
		d.spreads(j, max(1, j.Nodes), most)
	}
	if total := min(d.gpus, maxOn); total > 0 && j.GPUs == 0 {
		if j.Nodes == 0 {
			j.Nodes = (total-1)/max(1, most.gpus) + 1
		}
		j.GPUs = (total-1)/j.Nodes + 1
		j.Features = append(j.Features, d.types...)
	}
	if waits {
		each := d.onEach(j)
		if beside := j.GPUs * d.perGPU; beside > each {
			if each = beside; j.Nodes == 1 {
				each = max(each, j.Procs) // so many at least, not a multiple
			}
			if !d.byProcessor(e, 0) {
				procs = max(j.Procs, beside*max(1, j.Nodes))
			}
		}
		if each > 1 {
			j.Each = each
		}
		j.Procs = max(j.Procs, j.Each, j.Nodes*max(1, j.Each))
	}
	if d.ofGPU > 0 { // 24.11 tells other memory, too, which it does not give
		d.memory = d.ofGPU * float64(j.GPUs*max(1, j.Nodes))
	}
	if d.memory > 0 && (j.Memory > 0 || c.memory > 0) {
		j.Memory = max(1, int64(d.memory/float64(procs)))
	}
	if c.memory < 0 && j.Memory*int64(j.Procs/max(1, j.Nodes)) <= c.leastMemory {
		j.Memory = 0
	}
}

// partsMemory finds out whether nodes give memory away to jobs, which is for the cluster to say
// (slurm.conf(5), SelectTypeParameters): where it does not, jobs share it.
func (c *cluster) partsMemory() {
	given := false
	for i, n := range c.nodes {
		if atoi(n["AllocMem"]) > 0 {
			c.memory = 1
			return
		}
		given = given || atoi(n["CPUAlloc"]) > 0
		if m := node(n).Memory; i == 0 || m < c.leastMemory {
			c.leastMemory = m
		}
	}
	if given {
		c.memory = -1
	}
}
