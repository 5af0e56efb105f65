package batch

// tally counts what one pass of backfill has done, as far as limits ask for it.
type tally struct {
	started  int
	users    map[int64]int    // jobs tried, by user
	parts    map[int32]int    // by partition
	both     map[[2]int64]int // by user and partition
	reserved map[int32]int    // places in the future, by partition
	ofArray  map[int32]int    // the same, by array
	arrays   bool             // some job is a part of an array
	counting bool             // anything is counted but starts
}

func (t *tally) clear() {
	*t = tally{
		users: map[int64]int{}, parts: map[int32]int{}, both: map[[2]int64]int{}, reserved: map[int32]int{}, ofArray: map[int32]int{}, arrays: t.arrays, counting: t.counting,
	}
}

// begin counts the jobs that have been tried before, as far as limits ask for it.
func (t *tally) begin(m *Machine, p *Slurm, tried []int32) {
	if t.started, t.counting = 0, t.counts(p); !t.counting {
		return
	}
	t.clear()
	for _, id := range tried {
		t.count(p, &m.jobs[id])
		t.reserve(&m.jobs[id])
	}
}

// counts tells whether anything must be counted.
func (t *tally) counts(p *Slurm) bool {
	return t.arrays || p.MaxJobUser > 0 || p.MaxJobPart > 0 || p.MaxJobUserPart > 0 || p.PartCountReserve > 0
}

// reserve counts a job's place.
func (t *tally) reserve(j *job) {
	if j.planned == never || !t.counting {
		return
	}
	t.reserved[j.part]++
	if j.array > 0 {
		t.ofArray[j.array]++
	}
}

// count counts a job that is tried; false: too many of its user or partition
// were tried already.
func (t *tally) count(p *Slurm, j *job) bool {
	both := [2]int64{j.User, int64(j.part)}
	if p.MaxJobUser > 0 && t.users[j.User] >= p.MaxJobUser || p.MaxJobPart > 0 && t.parts[j.part] >= p.MaxJobPart ||
		p.MaxJobUserPart > 0 && t.both[both] >= p.MaxJobUserPart {
		return false
	}
	if p.MaxJobPart > 0 {
		t.parts[j.part]++
	}
	if p.MaxJobUser > 0 {
		t.users[j.User]++
	}
	if p.MaxJobUserPart > 0 {
		t.both[both]++
	}
	return true
}

// tries counts a job that is to be tried; false: too many of its kind were, or of its
// array have places.
func (t *tally) tries(p *Slurm, j *job) bool {
	return (j.array == 0 || t.ofArray[j.array] < p.MaxArrayReserve) && t.count(p, j)
}
