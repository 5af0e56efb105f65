package slurm

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"gridbroker/batch"
)

// cluster is what the commands say, before it is put into anybody's terms.
type cluster struct {
	nodes, parts, reserved []map[string]string
	jobs                   []*entry // of very many, few bytes are moved when the list grows
	// How many tasks of an array may run at once, by its id: the "%2" of "1-6%2".
	arrays   map[string]int
	asked    map[string]demand // by job; of the waiting tasks of an array by its id
	names    map[string]string // of jobs, where one may not run beside others of its name
	licences []licence         // where a job waits that wants some
	set      set
	// Whether nodes give memory away to jobs: 1, -1 where they do not, 0 where nothing tells; and
	// how much the least of them has, in MB.
	memory      int
	leastMemory int64
}

// read asks six questions at once, as over SSH they share the connection, and two more
// where jobs wait of which more is to be known.
func (s *site) read(ctx context.Context) (c cluster, err error) {
	if c, err = s.look(ctx); err != nil {
		return c, err
	}
	if slices.ContainsFunc(c.jobs, (*entry).alone) {
		if c.names, err = jobNames(ctx, s); err != nil {
			return c, err
		}
	}
	if slices.ContainsFunc(c.jobs, func(e *entry) bool { return e.waits() && len(list(e.licences)) > 0 }) {
		c.licences, err = licences(ctx, s)
	}
	return c, err
}

func (s *site) look(ctx context.Context) (c cluster, err error) {
	c.arrays, c.asked = map[string]int{}, map[string]demand{}
	ask, ctx := errgroup.WithContext(ctx)
	for what, to := range map[string]*[]map[string]string{"node": &c.nodes, "partition": &c.parts, "reservation": &c.reserved} {
		ask.Go(func() error {
			all, err := s.records(ctx, "scontrol", "--all", "--oneliner", "--details", "show", what)
			*to = all
			return err
		})
	}
	ask.Go(func() error {
		return s.rows(ctx, sep, len(queueColumns), func(f []string) error {
			c.jobs = append(c.jobs, entryOf(f))
			return nil
		}, "squeue", "--all", "--noheader", "--array", "--format="+columns(queueColumns))
	})
	ask.Go(func() error {
		return s.rows(ctx, sep, 2, func(f []string) error {
			if _, most, ok := strings.Cut(f[1], "%"); ok {
				c.arrays[f[0]] = atoi(most)
			}
			return nil
		}, "squeue", "--all", "--noheader", "--states=PENDING", "--format="+columns("FK"))
	})
	ask.Go(func() error { return demands(ctx, s, c.asked) })
	return c, ask.Wait()
}

func (c cluster) state(now time.Time, name string) batch.State {
	state := batch.State{Now: now, Cluster: name}
	cpus := make(map[string]int, len(c.nodes))
	for _, m := range c.nodes {
		n := node(m)
		state.Nodes, cpus[n.Name] = append(state.Nodes, n), n.CPUs
	}
	most := 1
	for _, p := range c.parts {
		most = max(most, atoi(p["PriorityJobFactor"]))
	}
	for _, p := range c.parts {
		q := queue(p)
		q.Spread = c.set.spreads || p["LLN"] == "YES"
		q.Factor = float64(atoi(p["PriorityJobFactor"])) / float64(most)
		state.Queues = append(state.Queues, q)
	}
	for _, r := range c.reserved {
		if res, ok := reservation(r); ok {
			res.Each = kept(&res, r["TRES"], cpus)
			state.Reservations = append(state.Reservations, repeated(res, r["Flags"], now)...)
		}
	}
	c.partsMemory()
	on, size, suspends := maxOn, largestOf(state.Nodes), c.suspends()
	for _, e := range c.jobs {
		if j, ok := queuedJob(e, on); ok {
			on -= len(j.Placed)
			j.ArrayLimit = c.arrays[j.Array]
			c.remember(&j, e, size)
			e.lasts(&j, suspends)
			state.Jobs = append(state.Jobs, j)
		}
	}
	inOpenQueues(state.Jobs, state.Queues, c.parts, c.set.accounts)
	throttled(state.Jobs, c.jobs)
	said := entriesByJob(c.jobs)
	c.inBestQueue(state.Jobs, state.Queues, said)
	onTasks(state.Jobs, said)
	delayed(now, state.Jobs)
	inOneReservation(&state)
	c.onlyOne(state.Jobs, said)
	c.asPlanned(now, state.Jobs, said)
	c.takeTurns(&state, said)
	place(state.Jobs, c.nodes, nil)
	c.owners(&state, said)
	return state
}

// throttled finds the limit of arrays of which a single task is left, which squeue
// prints without: where Slurm says that this task waits for the limit, as many run
// as may.
func throttled(jobs []batch.Job, entries []*entry) {
	waits, running := map[string]bool{}, map[string]int{}
	for _, e := range entries {
		if array, _, ok := strings.Cut(e.id, "_"); ok && e.reason == "JobArrayTaskLimit" {
			waits[array] = true
		}
	}
	for _, j := range jobs {
		if j.Array != "" && !j.Started.IsZero() {
			running[j.Array]++
		}
	}
	for i := range jobs {
		if j := &jobs[i]; j.ArrayLimit == 0 && waits[j.Array] {
			j.ArrayLimit = running[j.Array]
		}
	}
}

// onTasks makes of a dependency on an array one on each of its tasks, and of one on a
// heterogeneous job one on each of its parts. A task of an array that waits for the tasks of another
// that correspond to its own (aftercorr) waits for that of its number, where there is one.
func onTasks(jobs []batch.Job, said map[string]*entry) {
	tasks := map[string][]string{}
	for _, j := range jobs {
		if j.Array != "" {
			tasks[j.Array] = append(tasks[j.Array], j.ID)
		} else if leader, _, ok := strings.Cut(j.ID, "+"); ok {
			tasks[leader] = append(tasks[leader], j.ID)
		}
	}
	room := maxOn
	for i := range jobs {
		var after []batch.Dependency
		for _, d := range jobs[i].After {
			of, ok := tasks[strings.TrimSuffix(d.ID, "_*")]
			_, number, _ := strings.Cut(jobs[i].ID, "_")
			own := strings.TrimSuffix(d.ID, "*") + number
			if e := said[jobs[i].ID]; e != nil && strings.Contains(e.dependency, "aftercorr:"+d.ID) && slices.Contains(of, own) {
				of = []string{own}
			}
			if room -= len(of); !ok || room < 0 {
				after = append(after, d)
				continue
			}
			for _, id := range of {
				after = append(after, batch.Dependency{ID: id, On: d.On, Delay: d.Delay})
			}
		}
		jobs[i].After = after
	}
}

// delayed lets jobs wait that may start some time after others have: where one of these is gone
// it has started by now, nobody knows when.
func delayed(now time.Time, jobs []batch.Job) {
	there := make(map[string]bool, len(jobs))
	for i := range jobs {
		there[jobs[i].ID] = true
	}
	for i := range jobs {
		for _, d := range jobs[i].After {
			if d.Delay > 0 && !there[d.ID] {
				jobs[i].Begin = later(jobs[i].Begin, now.Add(d.Delay))
			}
		}
	}
}

// records reads the lines of "scontrol show --oneliner". "No reservations in
// the system" has no pairs and gives none.
func records(text string) []map[string]string {
	var all []map[string]string
	for line := range strings.Lines(text) {
		if m := pairs(line); len(m) > 0 && len(all) < maxNodes {
			all = append(all, m)
		}
	}
	return all
}

// atoi reads a count; what is none, or more than Slurm's own numbers of 32 bits hold, is 0.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > math.MaxUint32 {
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
		Name: m["NodeName"], CPUs: cpus, Memory: int64(max(0, atoi(m["RealMemory"])-atoi(m["MemSpecLimit"]))), Disk: int64(atoi(m["TmpDisk"])),
		GPUs: gpus(m["Gres"]), Features: append(list(m["ActiveFeatures"]), gpuTypes(m["Gres"])...), Queues: list(m["Partitions"]), Up: nodeUp(m["State"]), Weight: atoi(m["Weight"]),
	}
}

// underMaintenance reports whether a node serves a maintenance reservation: it
// takes no jobs until that ends, and the reservation says when.
func underMaintenance(state string) bool { return strings.Contains(strings.ToUpper(state), "MAINT") }

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
		case "DRAIN", "FAIL", "NOT_RESPONDING", "INVALID_REG", "REBOOT_ISSUED", "POWERING_DOWN", "DOWN", "BLOCKED":
			return false
		}
	}
	return true
}

func queue(m map[string]string) batch.Queue {
	q := batch.Queue{Name: m["PartitionName"], Priority: atoi(m["PriorityTier"]), Closed: m["State"] == "DOWN" || m["State"] == "INACTIVE", Draining: m["State"] == "DRAIN", Default: m["Default"] == "YES"}
	q.MaxWallTime, _ = duration(m["MaxTime"])
	q.PreemptMode, q.GraceTime = preemptMode(m["PreemptMode"]), time.Duration(atoi(m["GraceTime"]))*time.Second
	q.MaxNodes = atoi(m["MaxNodes"])
	if nodes, each := atoi(m["MaxNodes"]), atoi(m["MaxCPUsPerNode"]); nodes > 0 && each > 0 {
		q.MaxProcs = nodes * each
	}
	return q
}

func reservation(m map[string]string) (batch.Reservation, bool) {
	r := batch.Reservation{Name: m["ReservationName"], Start: unix(m["StartTime"]), End: unix(m["EndTime"]), Nodes: hosts(m["Nodes"]),
		Users: admitted(m["Users"]), Groups: admitted(m["Groups"]), Accounts: admitted(m["Accounts"])}
	if len(r.Nodes) == 0 {
		r.Procs = atoi(m["CoreCnt"])
	}
	flags := strings.Split(strings.ToUpper(m["Flags"]), ",")
	// A job gets in by naming it, but for magnetic ones (scontrol(1), Flags).
	r.ByName, r.Flex = !slices.Contains(flags, "MAGNETIC"), slices.Contains(flags, "FLEX")
	return r, r.Name != "" && r.End.After(r.Start) && !slices.Contains(flags, "LICENSE_ONLY")
}

// kept is how many processors of each of its nodes a reservation keeps, where it does not
// keep them whole; it is told how many that are in all.
func kept(r *batch.Reservation, tres string, cpus map[string]int) int {
	all, sum := 0, 0
	for pair := range strings.SplitSeq(tres, ",") {
		if n, ok := strings.CutPrefix(pair, "cpu="); ok {
			sum = atoi(n)
		}
	}
	for _, name := range r.Nodes {
		all += cpus[name]
	}
	if sum == 0 || sum >= all {
		return 0
	}
	return (sum-1)/len(r.Nodes) + 1
}

// repeatsAhead is how far ahead reservations that come again are foreseen.
const repeatsAhead = 7 * 24 * time.Hour

// repeated lists a reservation with those of the same name that follow it at the
// same hour, day or week (scontrol(1), HOURLY, DAILY, WEEKLY), up to some time ahead.
// Each day counts as 24 hours.
func repeated(r batch.Reservation, flags string, now time.Time) []batch.Reservation {
	list := []batch.Reservation{r}
	every := map[string]time.Duration{"HOURLY": time.Hour, "DAILY": 24 * time.Hour, "WEEKLY": 7 * 24 * time.Hour}
	for flag := range strings.SplitSeq(strings.ToUpper(flags), ",") {
		step := every[flag]
		if step == 0 {
			continue
		}
		next := r
		if ago := now.Sub(r.End) / step * step; ago > 0 { // those that are over
			next.Start, next.End = next.Start.Add(ago), next.End.Add(ago)
		}
		for next.Start = next.Start.Add(step); next.Start.Sub(now) <= repeatsAhead; next.Start = next.Start.Add(step) {
			next.End = next.End.Add(step)
			list = append(list, next)
		}
		break // one that repeats does so in one way
	}
	return list
}

// admitted lists who is let in; names with "-" are those who are not.
func admitted(s string) []string {
	return slices.DeleteFunc(list(s), func(name string) bool { return strings.HasPrefix(name, "-") })
}

// queuedJob is a job as the engine has it; of one that runs room bounds the nodes that are listed.
func queuedJob(e *entry, room int) (batch.Job, bool) {
	j := batch.Job{
		ID: e.id, User: e.user, Group: e.account, Account: e.account, Procs: max(1, atoi(e.cpus)), Nodes: nodeCount(e.nodes), GPUs: gpus(e.gres),
		Submitted: unix(e.submitted), Features: append(splitFeatures(e.features), gpuTypes(e.gres)...), After: dependencies(e.dependency), Exclusive: e.sharing == "NO", QOS: e.qos,
	}
	if names := strings.Split(e.partitions, ","); len(names) > 0 {
		j.Queue, j.Also = names[0], names[1:]
	}
	if array, _, ok := strings.Cut(e.id, "_"); ok {
		j.Array = array
	}
	if e.reservation != "(null)" && e.reservation != "N/A" {
		j.Reservation = e.reservation
	}
	j.Requested, _ = duration(e.limit)
	j.Priority, _ = finite(e.priority)
	if mb, perCPU, ok := megabytes(e.memory); ok {
		if !perCPU {
			mb = mb * float64(max(1, j.Nodes)) / float64(j.Procs)
		}
		j.Memory = int64(mb)
	}
	switch e.phase() {
	case "PENDING", "CONFIGURING", "SPECIAL_EXIT", "REQUEUE_HOLD", "RESV_DEL_HOLD":
		never := neverStarts(e.reason) && (len(j.Also) == 0 || !ofOnePartition(e.reason))
		j.Held = never || e.onHold() || e.reason == "Dependency" && len(j.After) == 0 // singleton, for one
		if e.reason == "BeginTime" {
			j.Begin = unix(e.start)
		}
		if j.Nodes == 1 && j.Procs > 1 {
			j.Nodes = 0 // Slurm's own guess; it takes more where one has no room
		}
		j.Without = hosts(e.excluded)
		if names := hosts(e.requested); len(names) >= j.Nodes { // else there are others beside them
			j.Within = names
		}
		return j, true
	case "RUNNING", "SUSPENDED", "RESIZING", "SIGNALING", "STOPPED": // COMPLETING and STAGE_OUT have given back what they had
		if j.Started = unix(e.start); j.Started.IsZero() {
			return j, false
		}
		j.After = nil
		j.Placed = spread(hostsWithin(e.nodeList, min(room, maxHosts, j.Procs)), j.Procs)
		return j, true
	}
	return j, false
}

// neverStarts are reasons of pending jobs that do not go away by waiting, or nobody knows
// when: what a QOS or an association lets one job have, and processor minutes that are spent.
func neverStarts(reason string) bool {
	switch reason {
	case "PartitionTimeLimit", "PartitionNodeLimit", "PartitionConfig", "BadConstraints", "DependencyNeverSatisfied", "InvalidAccount", "InvalidQOS":
		return true
	}
	limit := strings.TrimSuffix(reason, "Limit") // which not all end in
	spent := strings.HasSuffix(limit, "Minutes") && !strings.Contains(limit, "Run")
	return spent || strings.HasSuffix(limit, "PerJob") || strings.HasSuffix(limit, "GRESPerNode") || strings.HasSuffix(limit, "MemoryPerNode") || strings.Contains(reason, unwelcome) || holds(reason)
}

// unwelcome is what Slurm says where a partition does not let in a job's QOS or account:
// "Job's QOS not permitted to use this partition (p allows a not b)".
const unwelcome = " not permitted to use this partition"

// ofOnePartition tells whether a reason is of one of a job's partitions, and not of all.
func ofOnePartition(reason string) bool {
	return strings.HasPrefix(reason, "Partition") || strings.Contains(reason, unwelcome)
}

// standsAside reports whether a pending job does not compete now: it can never
// start, or waits for a time or another job.
func standsAside(reason string) bool {
	return neverStarts(reason) || reason == "Dependency" || reason == "BeginTime"
}

// nodeCount reads "4" and "2-4", of which the least counts.
func nodeCount(s string) int {
	least, _, _ := strings.Cut(s, "-")
	return atoi(least)
}

// triggers are Slurm's kinds of dependencies (sbatch(1), --dependency).
var triggers = map[string]batch.Trigger{
	"after": batch.OnStart, "afterany": batch.OnEnd, "afterburstbuffer": batch.OnEnd,
	"afterok": batch.OnSuccess, "aftercorr": batch.OnSuccess, "afternotok": batch.OnFailure,
}

// mostMinutes bounds for how long a job waits after another has started.
const mostMinutes = 365 * 24 * 60

// dependencies reads "afterok:932(unfulfilled),after:12+30(unfulfilled)". Of
// alternatives, parted by "?", each is taken as needed that has not failed: a start that is early is
// worse than one that is late.
func dependencies(s string) []batch.Dependency {
	var after []batch.Dependency
	either := strings.Contains(s, "?")
	for part := range strings.FieldsFuncSeq(s, func(c rune) bool { return c == ',' || c == '?' }) {
		words := strings.Split(part, ":")
		on, ok := triggers[words[0]]
		if !ok {
			continue
		}
		for _, id := range words[1:] {
			id, state, _ := strings.Cut(id, "(")
			id, minutes, _ := strings.Cut(id, "+")
			switch failed := strings.HasPrefix(state, "failed"); {
			case id == "" || strings.HasPrefix(state, "fulfilled") || failed && either:
			case failed:
				after = append(after, batch.Dependency{ID: id, On: batch.Never})
			default:
				after = append(after, batch.Dependency{ID: id, On: on, Delay: time.Duration(min(atoi(minutes), mostMinutes)) * time.Minute})
			}
		}
	}
	return after
}

// spread parts a job's processors evenly over its nodes; place mends it by what
// the nodes have given away.
func spread(nodes []string, procs int) []batch.Placement {
	var ps []batch.Placement
	for i, n := range nodes {
		if share := procs*(i+1)/len(nodes) - procs*i/len(nodes); share > 0 {
			ps = append(ps, batch.Placement{Node: n, Procs: share})
		}
	}
	return ps
}
