package managers

import "slices"

// Manager is one manager of the tree. The zero value is not usable; see NewManager.
// It is for one goroutine at a time.
type Manager struct {
	rules     Rules
	system    bool
	total     Resources // of the own system
	free      Resources
	links     []link
	queue     queue
	drain     ID    // the aged job that the own system is drained for
	inc       bool  // there may be room now for jobs that found none
	added     []int // places of jobs that joined the queue since the last look
	out       Out
	merged    []holder // work space of descriptions
	spare     []holder // another, for merging
	wake      int64
	refreshed int64 // when it was last looked whether a refresh is due
	shaped    bool  // systems or names may have come or gone since all neighbours were told
	heal      healing
}

// NewManager returns the manager of a system with these resources.
func NewManager(rules Rules, total Resources) *Manager {
	return &Manager{rules: withDefaults(rules), system: true, total: total, free: total}
}

// NewDomain returns a manager without a system of its own.
func NewDomain(rules Rules) *Manager { return &Manager{rules: withDefaults(rules)} }

func withDefaults(r Rules) Rules {
	if r.Mark == "" {
		r.Mark = MarkAck
	}
	return r
}

// Free returns what the own system has free.
func (m *Manager) Free() Resources { return m.free }

// Waiting returns the jobs that wait here, in order.
func (m *Manager) Waiting() []Job {
	jobs := make([]Job, len(m.queue))
	for i, j := range m.queue {
		jobs[i] = *j
	}
	return jobs
}

// Len returns how many jobs wait here.
func (m *Manager) Len() int { return len(m.queue) }

// Row returns what is known to be free in a neighbour's direction.
func (m *Manager) Row(n Neighbour) Set { return slices.Clone(m.links[n].rooms) }

// Describe returns what a neighbour should know to be free in this manager's direction.
func (m *Manager) Describe(n Neighbour) Set {
	m.merge()
	return m.describe(n)
}

// Told returns the description last sent to a neighbour.
func (m *Manager) Told(n Neighbour) Set { return slices.Clone(m.links[n].told) }

// SetInterval changes the least time between two changes on a link.
func (m *Manager) SetInterval(interval int64) { m.rules.Interval = interval }

// Wake returns when Tick is to be called next, 0 for never.
func (m *Manager) Wake() int64 { return m.wake }

// AddLink adds a neighbour whose link is down and returns its number. Children
// are tried in the order in which they are added, before the parent.
func (m *Manager) AddLink(role Role) Neighbour {
	m.links = append(m.links, link{role: role})
	return Neighbour(len(m.links) - 1)
}

// SetRole changes what a neighbour is; its link must be down.
func (m *Manager) SetRole(n Neighbour, role Role) { m.links[n].role = role }

// Up says that a link is there, empty of messages: both sides tell everything.
func (m *Manager) Up(now int64, n Neighbour) *Out {
	m.begin()
	m.links[n].reset(true)
	m.shaped = true
	return m.finish(now)
}

// Down says that a link is gone with whatever was on it.
func (m *Manager) Down(now int64, n Neighbour) *Out {
	m.begin()
	m.links[n].reset(false)
	m.shaped = true
	return m.finish(now)
}

// Submit takes a job from a broker.
func (m *Manager) Submit(now int64, j Job) *Out {
	m.begin()
	j.from, j.block = Here, false
	m.enqueue(&j)
	return m.finish(now)
}

// Ended says that a job that was assigned here has given its resources back:
// it ended, or its broker refused the assignment, or never answered.
func (m *Manager) Ended(now int64, need Resources) *Out {
	m.begin()
	m.free = m.free.Plus(need)
	m.inc = true
	return m.finish(now)
}

// Withdraw takes a job out of the queue. It returns whether it was there.
func (m *Manager) Withdraw(id ID) bool {
	at := slices.IndexFunc(m.queue, func(j *Job) bool { return j.ID == id })
	if at < 0 {
		return false
	}
	m.queue = slices.Delete(m.queue, at, at+1)
	if m.drain == id {
		m.drain, m.inc = "", true
	}
	return true
}

// Resize says what the own system has and has free, as its agent tells it.
func (m *Manager) Resize(now int64, total, free Resources) *Out {
	m.begin()
	m.total, m.free, m.inc, m.shaped = total, free, true, true
	return m.finish(now)
}

// Handle takes a message of a neighbour in. A message that makes no sense, or
// that comes over a link that is not up, changes nothing.
func (m *Manager) Handle(now int64, from Neighbour, msg Message) (*Out, error) {
	if from < 0 || int(from) >= len(m.links) || !m.links[from].up {
		return nil, &CheckError{errNoLink}
	}
	if err := msg.Check(); err != nil {
		return nil, err
	}
	m.begin()
	l := &m.links[from]
	if msg.Job != nil {
		l.seen++
		l.owes = m.rules.Mark == MarkAck && !m.rules.Silent
		if m.rules.Silent && !msg.Job.Placed {
			l.expect(&msg.Job.Need)
		}
		j := *msg.Job
		j.from, j.block = from, m.rules.NoReturn
		m.enqueue(&j)
		return m.finish(now), nil
	}
	if l.learn(&msg) {
		m.inc = true
	}
	m.shaped = m.shaped || msg.Whole != nil || msg.Shape != nil
	m.inc = m.inc || msg.Whole != nil
	m.unblock(from)
	m.learnShape(from, msg.Shape)
	return m.finish(now), nil
}

// Tick lets pass what waits for a time: intervals, refreshes, ages.
func (m *Manager) Tick(now int64) *Out {
	m.begin()
	return m.finish(now)
}

func (m *Manager) begin() {
	m.out.Sends, m.out.Starts = m.out.Sends[:0], m.out.Starts[:0]
	m.out.Queued = m.out.Queued[:0]
	m.wake = 0
}

// finish looks through the queue and tells the neighbours what is new.
func (m *Manager) finish(now int64) *Out {
	m.age(now)
	m.look()
	requests := len(m.out.Sends)
	m.tell(now)
	if !m.rules.RequestsFirst && requests > 0 {
		rotate(m.out.Sends, requests)
	}
	return &m.out
}

// rotate moves the first n sends behind the others.
func rotate(s []Send, n int) {
	slices.Reverse(s[:n])
	slices.Reverse(s[n:])
	slices.Reverse(s)
}

// later makes Wake return at most at.
func (m *Manager) later(at int64) {
	if m.wake == 0 || at < m.wake {
		m.wake = at
	}
}

// enqueue puts a job into the queue.
func (m *Manager) enqueue(j *Job) {
	at := m.queue.add(j)
	for i, a := range m.added {
		if a >= at {
			m.added[i]++
		}
	}
	m.added = append(m.added, at)
}

// unblock lets jobs go back over a link from which a change came.
func (m *Manager) unblock(from Neighbour) {
	if !m.rules.NoReturn {
		return
	}
	for _, j := range m.queue {
		if j.block && j.from == from {
			j.block, m.inc = false, true
		}
	}
}
