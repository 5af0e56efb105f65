package agent

import (
	"slices"
	"time"

	"gridbroker/batch"
	"gridbroker/forecast/wire"
)

// Gaps cuts the free time of nodes into the slots that an agent publishes, as
// seen at a time.
func Gaps(steps []batch.Slot, now time.Time, c Chances) []wire.Slot { return gaps(steps, now, c) }

// freeSlots are the slots foreseen; how those of before came out is learned from.
func freeSlots(a *Agent, s batch.State, f *batch.Forecast) []wire.Slot {
	now := a.Now()
	a.slotOdds.look(s, begunNow(bookedNow(a), s, now), now)
	chances := a.slotOdds.chances(now)
	if err := a.gate.look(s, f, begunNow(bookedNow(a), s, now), a.Forecast.Policy, a.Now); err != nil {
		a.Log.Warn("what guests cost local jobs is not known", "error", err)
	}
	a.Meter.lost(a.gate)
	list := a.gate.offer(s, f, bookedNow(a))
	slots := gaps(list, now, chances)
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

// offered leaves out nodes that guests are not let to.
func (g *gate) offered(s batch.State, list []batch.Slot) []batch.Slot {
	if g.Conf.Queue == "" {
		return list
	}
	serves := map[string]bool{}
	for i := range s.Nodes {
		serves[s.Nodes[i].Name] = g.Conf.lets(&s.Nodes[i])
	}
	return slices.DeleteFunc(list, func(v batch.Slot) bool { return !serves[v.Node] })
}

// lets tells whether guests are let to a node.
func (c *Config) lets(n *batch.Node) bool {
	return c.Queue == "" || len(n.Queues) == 0 || slices.Contains(n.Queues, c.Queue)
}
