package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// Gaps cuts the free time of nodes into the slots that an agent publishes, as
// seen at a time.
func Gaps(steps []batch.Slot, now time.Time, c Chances) []wire.Slot { return gaps(steps, now, c) }

// freeSlots are the slots foreseen beside what is booked, of which it is marked what has begun by now; how those of
// before came out is learned from.
func freeSlots(a *Agent, s batch.State, f *batch.Forecast, booked []wire.Booking) []wire.Slot {
	now := a.Now()
	a.slotOdds.look(s, booked, now)
	chances := a.slotOdds.chances(now)
	if err := a.seeLoss(s, f, booked); err != nil {
		a.Log.Warn("what guests cost local jobs is not known", "error", err)
	}
	steps := a.Conf.Offer(s, f, bookedNow(a))
	a.stands.note(s, steps, booked)
	slots := gaps(steps, now, chances)
	a.slotOdds.watch(slots, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chances = chances
	return slots
}

// offer keeps the slots for those who ask this agent.
func (a *Agent) offer(slots []wire.Slot) {
	a.Meter.slots.Set(float64(len(slots)))
	a.until = holds(slots, a.Now())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slots = slots
}

// Offer is what guests may have of the free time foreseen of a state, by the owner's rules.
// What is booked tells which of the jobs that wait are guests.
func (c *Config) Offer(s batch.State, f *batch.Forecast, booked []wire.Booking) []batch.Slot {
	return spared(c, s, unclaimed(c, s, f, booked, c.allowed(s, f.Slots(c.Horizon))), f.At)
}

// allowed leaves out nodes that guests are not let to.
func (c *Config) allowed(s batch.State, list []batch.Slot) []batch.Slot {
	if c.Queue == "" {
		return list
	}
	serves := map[string]bool{}
	for i := range s.Nodes {
		serves[s.Nodes[i].Name] = c.lets(&s.Nodes[i])
	}
	return slices.DeleteFunc(list, func(v batch.Slot) bool { return !serves[v.Node] })
}

// CheckQueue is why a queue whose nodes are offered ("": all) offers none at all: the batch system has no node of it.
func CheckQueue(queue string, s batch.State) error {
	c := Config{Queue: queue}
	if len(s.Nodes) == 0 || slices.ContainsFunc(s.Nodes, func(n batch.Node) bool { return c.lets(&n) }) {
		return nil
	}
	names := make([]string, 0, len(s.Queues))
	for i := range s.Queues {
		names = append(names, s.Queues[i].Name)
	}
	slices.Sort(names)
	if more := len(names) - namedQueues; more > 0 {
		names = append(names[:namedQueues], fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("no node is of queue %s (--queue), so nothing is offered; the queues are %s", queue, strings.Join(names, ", "))
}

// namedQueues is how many queues are named at most.
const namedQueues = 20

// checkQueue warns when the queue is there no more, as where it was renamed, and tells when it is back.
func checkQueue(a *Agent, s batch.State) {
	err := CheckQueue(a.Conf.Queue, s)
	switch {
	case err != nil && !a.queueless:
		a.Log.Warn("guests get no slots", "error", err)
	case err == nil && a.queueless:
		a.Log.Warn("guests get slots again", "queue", a.Conf.Queue)
	}
	a.queueless = err != nil
}

// lets tells whether guests are let to a node.
func (c *Config) lets(n *batch.Node) bool {
	return c.Queue == "" || len(n.Queues) == 0 || slices.Contains(n.Queues, c.Queue)
}
