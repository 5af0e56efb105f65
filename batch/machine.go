package batch

// Task is a job as the engine sees it. Times and durations in seconds.
type Task struct {
	ID     int64 // the caller's number for it
	Submit int64
	Run    int64 // what it really takes (or is believed to); used by Replay and forecasts, never by a policy
	Limit  int64 // what the scheduler plans with: the owner's request
	Most   int64 // its limit where Slurm's main loop starts it, Limit where backfill does; 0: Limit
	Procs  int
	User   int64
	// Priority is the cluster's own: higher goes ahead, equal by submission.
	Priority float64
	Queue    int   // place in the machine's list of queues
	Need     *Need // what it asks of nodes; not used for a plain pool
	Begin    int64 // it may not start before
	Latest   int64 // nor after; 0: at any time
	After    []After
	line     int32     // see cluster.line
	part     int32     // number of its queue, from 1, whatever throttle holds it back; 0: of none
	standing *standing // who gives way to it, and it to whom
	array    int32     // number of the array that it is a part of, from 1; 0: of none
	ages     bool      // its age counts also while it waits for its Begin or for other jobs
	since    int64     // from when its age counts
	takes    []take    // what it has of the machine's caps while it runs
	kind     int32     // of jobs that have the same
}

// After keeps a job from starting until another has started or ended.
type After struct {
	ID      int64 // of the other Task
	Started bool  // it need only have started
	Success bool  // it is to end by itself, before its limit is over
	Failure bool  // it is not to
	Delay   int64 // for so many seconds then
}

// Machine is the state machine of one local scheduler: it is told what
// happens in order of time and says which jobs start. It never looks at the
// clock and is not safe for concurrent use.
//
// It is run live (events of a real cluster), forward (a copy, with believed
// run times, to foretell) and over traces (Replay): the code is the same.
//
// Every call is one event, and the policy decides after every one. Where
// several things happen at one instant the order that reference results are
// made with is: submissions, ends in the order of the starts, then Wake.
type Machine struct {
	now   int64
	procs int
	table
	seq       int64
	plan      plan
	policy    policy
	starts    []int32
	evicted   []eviction // jobs that gave way, like starts
	queues    throttles  // limits by queue; may be empty
	caps      caps       // what jobs may have at once
	wakes     []int64    // times at which advance reservations begin and end, sorted
	reserved  bool       // there are advance reservations
	plain     bool       // nothing is remembered that only makes it faster: what tests hold the rest against
	following bool       // others decide what starts: policies only keep the queue
	prompted  bool       // it is woken for another reason than that the policy asked for it
	wait      int        // jobs waiting
	busy      int        // jobs running
	begun     int64      // jobs started so far
	lines     int        // lines of jobs, 0 counts as one: see cluster.line
	gates     gates
	sight     sight
	recall    recall // of the run before in the same memory
}

// NewMachine makes an idle machine of procs equal processors.
func NewMachine(procs int, p Policy) (*Machine, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	m := &Machine{procs: procs, plan: newPool(0, procs)}
	m.policy = p.build()
	return m, nil
}

// Clone copies the machine: what happens to one is not seen by the other.
func (m *Machine) Clone() *Machine { return m.clone(&Machine{}) }

// clone copies the machine into the memory of an older copy.
func (m *Machine) clone(old *Machine) *Machine {
	c := *m
	c.table = m.table.clone(old.table)
	c.starts, c.evicted = append(old.starts[:0], m.starts...), append(old.evicted[:0], m.evicted...)
	c.gates = m.gates.clone(old.gates)
	c.queues, c.caps = m.queues.clone(), m.caps.clone()
	c.plan = m.plan.clone(old.plan)
	c.policy = m.policy.clone(old.policy)
	c.recall = old.recall
	*old = c
	return old
}

// Now is the time of the latest event.
func (m *Machine) Now() int64 { return m.now }

// Waiting and Running count the jobs.
func (m *Machine) Waiting() int { return m.wait }
func (m *Machine) Running() int { return m.busy }

// submit puts a job in the queue at the time given and decides.
func (m *Machine) submit(now int64, t Task) int32 {
	m.advance(now)
	m.gates.lapse(m)
	id := m.place()
	m.seq++
	t.since = max(t.Submit, t.Begin)
	m.jobs[id] = job{Task: t, seq: m.seq, limit: t.Limit, procs: int32(t.Procs), state: queued}
	m.wait++
	m.gates.bound(id, &m.jobs[id])
	m.arrive(id)
	m.policy.decide(m)
	return id
}

// end takes a running job off the machine and decides.
func (m *Machine) end(now int64, id int32) {
	m.advance(now)
	m.gates.lapse(m)
	j := &m.jobs[id]
	if now < j.start+j.limit {
		m.policy.ending(m, id)
	}
	m.plan.vacate(j, now, j.start+j.limit)
	m.caps.ended(j)
	m.drop(id)
	m.busy--
	m.release(j.Queue)
	m.policy.ended(m, id, j.start+j.limit)
	m.policy.freed(m, now, j.start+j.limit, j)
	m.gates.ended(m.now, m.jobs[id].ID)
}

// cancel takes a waiting job out of the queue and decides.
func (m *Machine) cancel(now int64, id int32) {
	m.advance(now)
	m.gates.lapse(m)
	m.wait--
	m.gates.failed(m.now, m.jobs[id].ID)
	m.gates.started(m.now, m.jobs[id].ID)
	if j := &m.jobs[id]; j.state == stuck || j.gates > 0 || m.queues.unpark(id, j) {
		m.drop(id)
		return
	}
	m.jobs[id].state = gone
	m.policy.left(m, id)
	m.release(m.jobs[id].Queue)
	m.drop(id)
	m.policy.decide(m)
}

// wake is to be called at the time next names, after all else that happens
// at that instant.
func (m *Machine) wake(now int64) {
	m.prompted = min(m.gates.next(m), m.caps.next()) <= now || len(m.wakes) > 0 && m.wakes[0] <= now
	m.advance(now)
	for len(m.wakes) > 0 && m.wakes[0] <= now {
		m.wakes = m.wakes[1:]
	}
	m.gates.lapse(m)
	m.gates.punctual(m)
	m.policy.wake(m)
}

// next is when the machine wants to be woken; never where it does not.
func (m *Machine) next() int64 {
	t := m.policy.next(m)
	if len(m.wakes) > 0 {
		t = min(t, m.wakes[0])
	}
	return min(t, m.gates.next(m), m.caps.next())
}

// admit brings a waiting job before the policy, or parks it; where it is too late for it
// that is all.
func (m *Machine) admit(id int32) {
	if j := &m.jobs[id]; m.now > j.latest() {
		j.state = stuck
		m.gates.lapsed(m.now, j)
		return
	}
	m.jobs[id].key = -m.policy.priority(&m.jobs[id], m.now)
	if !m.queues.park(id, &m.jobs[id]) {
		m.policy.enter(m, id)
	}
}

// release lets the next parked job of a queue in for one that is gone.
func (m *Machine) release(queue int) {
	if id, ok := m.queues.release(queue); ok {
		m.policy.enter(m, id)
	}
}

// strand takes a job from before the policy that will not start any more.
func (m *Machine) strand(id int32) {
	j := &m.jobs[id]
	if !m.queues.unpark(id, j) {
		m.policy.left(m, id)
		m.release(j.Queue)
	}
	j.state = stuck
}

// advance goes on to a time, at which there may be more of what jobs share: whatever happens then finds it there.
func (m *Machine) advance(now int64) {
	if now > m.now {
		m.now = now
		m.plan.forget(now)
	}
	if m.caps.refill(now) {
		m.policy.refilled(m)
	}
}

// begin makes a waiting job a running one. The plan must hold it already.
func (m *Machine) begin(id int32) {
	j := &m.jobs[id]
	m.begun++
	j.state, j.start, j.order = running, m.now, m.begun
	m.wait--
	m.busy++
	m.starts = append(m.starts, id)
	m.caps.begun(j)
	m.gates.started(m.now, j.ID)
}

// started returns the jobs started since the last call, in order.
func (m *Machine) started() []int32 {
	s := m.starts
	m.starts = m.starts[:0]
	return s
}
