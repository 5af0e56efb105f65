package batch

type jobState uint8

const (
	gone jobState = iota
	queued
	running
	stuck // waits, and will not start any more
)

type job struct {
	Task
	seq      int64   // order of submission
	key      float64 // order of priority, smallest first; equal ones by seq
	weight   float64 // priority as Slurm has worked it out last
	limit    int64
	procs    int32
	state    jobState
	start    int64   // of a running job
	planned  int64   // of a waiting job that has a place in the plan
	order    int64   // of the start, among all starts
	shares   []share // where it runs or is planned, on a machine of nodes; never changed in place
	foretold int64   // the start that Foretell forecast at submission
	gates    int32   // before the policy sees it
	compact  bool    // it is put on as few nodes as may be: see slurm
	awaits   int64   // until then those leave that give way to it
	yields   bool    // it runs, and gives way when its grace is over
	again    bool    // it gave way once, and waits or runs again
	paused   *pause  // it runs, and is suspended for others
	blocks   bool    // what it is planned on is for nobody else: see slurm
	yard     int32   // of a waiting job: see yard
}

func (j *job) entry(id int32) entry {
	return entry{key: j.key, seq: j.seq, limit: j.limit, procs: j.procs, job: id, kind: j.kind}
}

// table is the jobs of a machine, each at a place that stays its own.
type table struct {
	jobs   []job
	unused []int32 // places of jobs that are gone
}

// clone copies the table into the memory of an older copy.
func (t *table) clone(old table) table {
	return table{append(old.jobs[:0], t.jobs...), append(old.unused[:0], t.unused...)}
}

// place finds room for a job.
func (t *table) place() int32 {
	if n := len(t.unused); n > 0 {
		id := t.unused[n-1]
		t.unused = t.unused[:n-1]
		return id
	}
	t.jobs = append(t.jobs, job{})
	return int32(len(t.jobs) - 1)
}

// drop forgets the job at a place.
func (t *table) drop(id int32) {
	t.jobs[id].state = gone
	t.unused = append(t.unused, id)
}

// entry is that of a waiting job.
func (t *table) entry(id int32) *entry {
	e := t.jobs[id].entry(id)
	return &e
}
