package slurm

import (
	"context"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/batch"
)

// cluster is what the commands say, before it is put into anybody's terms.
type cluster struct {
	nodes, parts, reserved []map[string]string
	jobs                   [][]string // rows of squeue
}

// read asks the four questions at once: over SSH they share the connection.
func (s *site) read(ctx context.Context) (c cluster, err error) {
	ask, ctx := errgroup.WithContext(ctx)
	for what, to := range map[string]*[]map[string]string{"node": &c.nodes, "partition": &c.parts, "reservation": &c.reserved} {
		ask.Go(func() error {
			text, err := s.Command(ctx, "scontrol", "--oneliner", "show", what)
			*to = records(text)
			return err
		})
	}
	ask.Go(func() error {
		text, err := s.Command(ctx, "squeue", "--noheader", "--array", "--format="+columns(queueColumns))
		c.jobs = rows(text, sep, len(queueColumns))
		return err
	})
	return c, ask.Wait()
}

// queue reads nodes, partitions, reservations and jobs.
func (s *site) queue(ctx context.Context) (batch.State, error) {
	c, err := s.read(ctx)
	if err != nil {
		return batch.State{}, err
	}
	return c.state(s.Options.Now(), s.URL), nil
}

func (c cluster) state(now time.Time, name string) batch.State {
	state := batch.State{Now: now, Cluster: name}
	for _, n := range c.nodes {
		state.Nodes = append(state.Nodes, node(n))
	}
	for _, p := range c.parts {
		state.Queues = append(state.Queues, queue(p))
	}
	for _, r := range c.reserved {
		if res, ok := reservation(r); ok {
			state.Reservations = append(state.Reservations, res)
		}
	}
	for _, f := range c.jobs {
		if j, ok := queuedJob(f); ok {
			state.Jobs = append(state.Jobs, j)
		}
	}
	return state
}

// records reads the lines of "scontrol show --oneliner". "No reservations in
// the system" has no pairs and gives none.
func records(text string) []map[string]string {
	var all []map[string]string
	for line := range strings.Lines(text) {
		if m := pairs(line); len(m) > 0 {
			all = append(all, m)
		}
	}
	return all
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// list cuts a comma list; "(null)" and "" are empty.
func list(s string) []string {
	if s == "" || s == "(null)" || s == "N/A" {
		return nil
	}
	return strings.Split(s, ",")
}

func node(m map[string]string) batch.Node {
	cpus := atoi(m["CPUEfctv"]) // since 21.08: without those kept for the system
	if cpus == 0 {
		cpus = atoi(m["CPUTot"])
	}
	return batch.Node{
		Name: m["NodeName"], CPUs: cpus, Memory: int64(atoi(m["RealMemory"])), Disk: int64(atoi(m["TmpDisk"])),
		GPUs: gpus(m["Gres"]), Features: list(m["ActiveFeatures"]), Queues: list(m["Partitions"]), Up: nodeUp(m["State"]),
	}
}

// nodeUp reads a node's state: a base state and flags joined by "+" or marked
// by one character (sinfo(1), NODE STATE CODES).
func nodeUp(state string) bool {
	if strings.HasSuffix(state, "*") { // does not answer
		return false
	}
	flags := strings.Split(strings.ToUpper(strings.TrimRight(state, "~#!%$@^-")), "+")
	switch flags[0] {
	case "IDLE", "MIXED", "ALLOCATED", "COMPLETING", "PLANNED":
	default:
		return false
	}
	for _, f := range flags[1:] {
		switch f {
		case "DRAIN", "MAINTENANCE", "FAIL", "NOT_RESPONDING", "INVALID_REG", "REBOOT_ISSUED", "POWERING_DOWN", "DOWN":
			return false
		}
	}
	return true
}

func queue(m map[string]string) batch.Queue {
	q := batch.Queue{Name: m["PartitionName"], Priority: atoi(m["PriorityTier"]), Closed: m["State"] != "UP"}
	q.MaxWallTime, _ = duration(m["MaxTime"])
	if nodes, each := atoi(m["MaxNodes"]), atoi(m["MaxCPUsPerNode"]); nodes > 0 && each > 0 {
		q.MaxProcs = nodes * each
	}
	return q
}

func reservation(m map[string]string) (batch.Reservation, bool) {
	r := batch.Reservation{Name: m["ReservationName"], Start: unix(m["StartTime"]), End: unix(m["EndTime"]), Nodes: hosts(m["Nodes"])}
	if r.Users = list(m["Users"]); len(r.Nodes) == 0 {
		r.Procs = atoi(m["CoreCnt"])
	}
	return r, r.Name != "" && r.End.After(r.Start)
}

// queueColumns are squeue's letters: id, partition, state, CPUs, nodes, memory,
// GRES, limit, submitted, start, priority, user, account, features, node list,
// reason.
const queueColumns = "iPTCDmblVSQuafNr"

func queuedJob(f []string) (batch.Job, bool) {
	j := batch.Job{
		ID: f[0], Queue: f[1], User: f[11], Group: f[12], Procs: max(1, atoi(f[3])), Nodes: atoi(f[4]), GPUs: gpus(f[6]),
		Submitted: unix(f[8]), Features: splitFeatures(f[13]),
	}
	j.Requested, _ = duration(f[7])
	j.Priority, _ = strconv.ParseFloat(f[10], 64)
	if mb, perCPU, ok := megabytes(f[5]); ok {
		if !perCPU {
			mb = mb * float64(max(1, j.Nodes)) / float64(j.Procs)
		}
		j.Memory = int64(mb)
	}
	switch f[2] {
	case "PENDING", "CONFIGURING":
		j.Held = neverStarts(f[15])
		return j, true
	case "RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED":
		j.Started = unix(f[9])
		j.Placed = spread(hosts(f[14]), j.Procs)
		return j, !j.Started.IsZero()
	}
	return j, false
}

// neverStarts are reasons of pending jobs that do not go away by waiting.
func neverStarts(reason string) bool {
	switch reason {
	case "PartitionTimeLimit", "PartitionNodeLimit", "PartitionConfig", "BadConstraints", "DependencyNeverSatisfied", "InvalidAccount", "InvalidQOS", "Dependency", "BeginTime":
		return true
	}
	return heldReasons[reason]
}

// splitFeatures takes the features of a constraint that are all needed; an
// alternative names none that is.
func splitFeatures(s string) []string {
	if s == "" || s == "(null)" || strings.ContainsAny(s, "|[(") {
		return nil
	}
	return strings.FieldsFunc(s, func(r rune) bool { return r == '&' || r == ',' })
}

// spread parts a job's processors evenly over its nodes: squeue does not tell
// the true parts, which "scontrol show job -d" would for 3 kB a job.
func spread(nodes []string, procs int) []batch.Placement {
	var ps []batch.Placement
	for i, n := range nodes {
		if share := procs*(i+1)/len(nodes) - procs*i/len(nodes); share > 0 {
			ps = append(ps, batch.Placement{Node: n, Procs: share})
		}
	}
	return ps
}
