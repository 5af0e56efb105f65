package managers

import "slices"

// Manager is one manager of the tree. The zero value is not usable; see NewManager.
// It is for one goroutine at a time.
type Manager struct {
	dispatch dispatch // what is free, and which job gets it
	waiting  waiting  // jobs without a place
	telling  telling  // what the neighbours have yet to hear
	heal     healing  // the place in the tree
	wake     alarm
}

// alarm is when something is due next; 0 for never.
type alarm int64

// at makes it go off at a time or before.
func (a *alarm) at(t int64) {
	if *a == 0 || alarm(t) < *a {
		*a = alarm(t)
	}
}

// NewManager returns the manager of a system with these resources.
func NewManager(rules Rules, total Resources) *Manager {
	m := NewDomain(rules)
	m.dispatch.tables.own = system{there: true, total: total, free: total}
	return m
}

// NewDomain returns a manager without a system of its own.
func NewDomain(rules Rules) *Manager {
	if rules.Mark == "" {
		rules.Mark = MarkAck
	}
	return &Manager{dispatch: dispatch{rules: rules, tables: tables{coarse: rules.Coarse}}}
}

// Free returns what the own system has free.
func (m *Manager) Free() Resources { return m.dispatch.tables.own.free }

// Waiting returns the jobs that wait here, in order.
func (m *Manager) Waiting() []Job {
	jobs := make([]Job, len(m.waiting.queue))
	for i, j := range m.waiting.queue {
		jobs[i] = *j
	}
	return jobs
}

// Len returns how many jobs wait here.
func (m *Manager) Len() int { return len(m.waiting.queue) }

// Row returns what is known to be free in a neighbour's direction.
func (m *Manager) Row(n Neighbour) Set { return slices.Clone(m.dispatch.tables.links[n].rooms) }

// Describe returns what a neighbour should know to be free in this manager's direction.
func (m *Manager) Describe(n Neighbour) Set {
	m.dispatch.tables.merge()
	return m.dispatch.tables.describe(n, m.dispatch.rules.Keep)
}

// Told returns the description last sent to a neighbour.
func (m *Manager) Told(n Neighbour) Set { return slices.Clone(m.dispatch.tables.links[n].told) }

// Possible says whether some system of the tree could run a job when empty, as far as is known here.
func (m *Manager) Possible(need Resources) bool { return m.dispatch.tables.possible(&need) }

// SetInterval changes the least time between two changes on a link.
func (m *Manager) SetInterval(interval int64) { m.dispatch.rules.Interval = interval }

// Behind tells how many messages wait for the manager while it handles one.
func Behind(m *Manager, messages int) { m.telling.pace.see(messages) }

// Wake returns when Tick is to be called next, 0 for never.
func (m *Manager) Wake() int64 { return int64(m.wake) }

// AddLink adds a neighbour whose link is down and returns its number. Children
// are tried in the order in which they are added, before the parent.
func (m *Manager) AddLink(role Role) Neighbour {
	t := &m.dispatch.tables
	t.links = append(t.links, link{role: role})
	return Neighbour(len(t.links) - 1)
}

// SetRole changes what a neighbour is; its link must be down.
func (m *Manager) SetRole(n Neighbour, role Role) { m.dispatch.tables.links[n].role = role }

// SetName gives the manager its name: the address at which others find it.
func (m *Manager) SetName(name string) { m.heal.name = name }

// SetNeighbour tells a neighbour's name.
func (m *Manager) SetNeighbour(n Neighbour, name string) { m.heal.call(n, name) }

// Shape returns what is known of the tree above.
func (m *Manager) Shape() Shape { return m.heal.shape }

// Above says whether a name is the manager's own or that of one of its
// ancestors: such a one must not become its child.
func (m *Manager) Above(name string) bool { return m.heal.above(name, &m.dispatch.tables) }

// Up says that a link is there, empty of messages: both sides tell everything.
func (m *Manager) Up(now int64, n Neighbour) *Out {
	m.begin()
	m.dispatch.tables.links[n].reset(true)
	m.telling.shaped = true
	return m.finish(now)
}

// Down says that a link is gone with whatever was on it.
func (m *Manager) Down(now int64, n Neighbour) *Out {
	m.begin()
	m.dispatch.tables.links[n].reset(false)
	m.telling.shaped = true
	return m.finish(now)
}

// Submit takes a job from a broker.
func (m *Manager) Submit(now int64, j Job) *Out {
	m.begin()
	j.from, j.block = Here, false
	m.waiting.enqueue(&j)
	return m.finish(now)
}

// Ended says that a job that was assigned here has given its resources back:
// it ended, or its broker refused the assignment, or never answered.
func (m *Manager) Ended(now int64, need Resources) *Out {
	m.begin()
	t := &m.dispatch.tables
	t.own.free, t.better = t.own.free.Plus(need), true
	return m.finish(now)
}

// Withdraw takes jobs out of the queue. It returns how many were there.
func (m *Manager) Withdraw(jobs ...Key) int {
	gone := m.waiting.remove(jobs)
	for _, key := range gone {
		if t := &m.dispatch.tables; t.own.undrain(key) {
			t.better = true
		}
	}
	return len(gone)
}

// Resize says what the own system has and has free, as its agent tells it.
func (m *Manager) Resize(now int64, total, free Resources) *Out {
	m.begin()
	t := &m.dispatch.tables
	t.own.total, t.own.free, t.better = total, free, true
	m.telling.shaped = true
	return m.finish(now)
}

// Handle takes a message of a neighbour in. A message that makes no sense, or
// that comes over a link that is not up, changes nothing.
func (m *Manager) Handle(now int64, from Neighbour, msg Message) (*Out, error) {
	return handle(m, now, from, &msg, true)
}

// Decline takes a request of a neighbour in as Handle does, but for its job, which
// is not to wait here: the neighbour hears what is free all the same, as its row
// is marked for that job.
func Decline(m *Manager, now int64, from Neighbour, msg Message) (*Out, error) {
	return handle(m, now, from, &msg, false)
}

// Waits says whether a job, or a copy of it, waits here.
func Waits(m *Manager, job Key) bool { return m.waiting.ids[job] > 0 }

// WaitingBy returns how many jobs wait here that came by a link, or from brokers (Here).
func WaitingBy(m *Manager, n Neighbour) int { return m.waiting.by[n] }

func handle(m *Manager, now int64, from Neighbour, msg *Message, keep bool) (*Out, error) {
	t, rules := &m.dispatch.tables, &m.dispatch.rules
	if !t.isUp(from) {
		return nil, &CheckError{errNoLink}
	}
	if err := msg.Check(); err != nil {
		return nil, err
	}
	m.begin()
	l := &t.links[from]
	if msg.Job != nil {
		if msg.With {
			t.better = l.learn(msg) || t.better
		}
		l.asked(msg.Job, rules)
		if keep {
			j := *msg.Job
			j.from, j.block = from, rules.NoReturn
			m.waiting.enqueue(&j)
		}
		return m.finish(now), nil
	}
	better := l.learn(msg) || msg.Whole != nil
	unblocked := rules.NoReturn && m.waiting.unblock(from)
	t.better = t.better || better || unblocked
	m.telling.shaped = m.telling.shaped || msg.Whole != nil || msg.Shape != nil
	m.heal.learn(msg.Shape, l.role)
	return m.finish(now), nil
}

// Tick lets pass what waits for a time: intervals, refreshes, ages.
func (m *Manager) Tick(now int64) *Out {
	m.begin()
	return m.finish(now)
}

func (m *Manager) begin() {
	m.dispatch.out.reset()
	m.wake = 0
	m.heal.below = nil
}

// finish looks through the queue and tells the neighbours what is new.
func (m *Manager) finish(now int64) *Out {
	d := &m.dispatch
	m.waiting.age(now, d, &m.wake)
	m.waiting.look(d)
	requests := len(d.out.Sends)
	m.telling.tell(now, d, &m.heal, &m.wake)
	if !d.rules.RequestsFirst && requests > 0 {
		d.out.requestsLast(requests)
	}
	return &d.out
}
