package slurm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// sbatchArgs are the options of sbatch for one job, job name and array aside.
// Jobs with equal options can go as one array.
func sbatchArgs(req plugins.Request, extra []string) ([]string, error) {
	d, r := req.Job.Demand, req.Resource
	args := []string{"--output=/dev/null", "--no-requeue", "--comment=gridbroker", "--export=ALL"}
	queue := d.Queue
	if r != nil && r.Queue != "" {
		queue = r.Queue
	}
	if queue != "" {
		args = append(args, "--partition="+queue)
	}
	number := func(option string, n int64) {
		if n > 0 {
			args = append(args, option+"="+strconv.FormatInt(n, 10))
		}
	}
	number("--time", int64(math.Ceil(d.WallTime.Minutes())))
	number("--ntasks", int64(d.Slots))
	number("--nodes", int64(d.Nodes))
	number("--ntasks-per-node", int64(d.SlotsPerNode))
	number("--mem", d.Memory)
	number("--tmp", d.Disk)
	types, tags := jdl.GPUTypes(features(req)) // of which sbatch takes the types for no features of nodes
	if d.GPUs > 0 || len(types) > 0 {
		args = append(args, "--gres="+gres(d, types))
	}
	if d.WholeNodes {
		args = append(args, "--exclusive")
	}
	if len(tags) > 0 {
		args = append(args, "--constraint="+strings.Join(tags, "&"))
		if soft := cached(req.Resource, tags); len(soft) > 0 {
			args = append(args, "--prefer="+strings.Join(soft, "&")) // Slurm 22.05 and newer: so are all that publish such
		}
	}
	args = append(args, booked(req.Booking)...)
	args = append(args, extra...)
	for _, a := range args {
		if strings.ContainsAny(a, "\n\r\x00") {
			return nil, fmt.Errorf("option %q holds a line break", a)
		}
	}
	return args, nil
}

// booked says when a job that is sent ahead is to start, and when Slurm is to
// give it up.
func booked(b *plugins.Booking) (args []string) {
	if b == nil {
		return nil
	}
	for option, after := range map[string]time.Duration{"--begin": b.Begin, "--deadline": b.Deadline} {
		if after > 0 {
			args = append(args, fmt.Sprintf("%s=now+%d", option, int64(math.Ceil(after.Seconds()))))
		}
	}
	slices.Sort(args)
	if b.Nice > 0 {
		args = append(args, "--nice="+strconv.Itoa(b.Nice))
	}
	if b.Reservation != "" {
		args = append(args, "--reservation="+b.Reservation)
	}
	return args
}

// features are the runtime environments the job asks for that the partition
// publishes as features of its nodes.
func features(req plugins.Request) []string {
	var tags []string
	for _, want := range req.Job.Demand.RuntimeEnvironments {
		if req.Resource == nil {
			continue
		}
		i := slices.IndexFunc(req.Resource.RuntimeEnvironments, func(t string) bool { return strings.EqualFold(t, want) })
		if i >= 0 && remote.Plain(req.Resource.RuntimeEnvironments[i]) {
			tags = append(tags, req.Resource.RuntimeEnvironments[i])
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// gres asks for GPUs of a node, of each of the types that are named as many; for one where the number is left open. A job of
// several nodes has its GPUs spread over them.
func gres(d jdl.Demand, types []string) string {
	n := strconv.Itoa(jdl.GPUsOfType(d.GPUsPerNode(), len(types)))
	if len(types) == 0 {
		return jdl.GPUTag + n
	}
	asked := make([]string, len(types))
	for i, name := range types {
		asked[i] = jdl.GPUTag + name + ":" + n
	}
	return strings.Join(asked, ",")
}

// cached are the soft features of nodes that have unpacked the images already.
func cached(r *glue.Resource, tags []string) []string {
	var soft []string
	for _, tag := range tags {
		if r.Deployment(tag) == glue.Cached {
			soft = append(soft, tag+glue.CachedSuffix)
		}
	}
	return soft
}

// tooLong reports whether the job asks for more time than the partition
// gives: Slurm would take it and never start it.
func tooLong(req plugins.Request) bool {
	r := req.Resource
	return r != nil && r.MaxWallTime.OK && r.MaxWallTime.V > 0 &&
		req.Job.Demand.WallTime > r.MaxWallTime.V.Round(time.Minute)
}
