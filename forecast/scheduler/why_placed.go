package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// placedWords say of a job that has a place where it is, what it waits for, and what stands
// in the way of that.
func placedWords(ctx context.Context, s *Store, j *Job, now time.Time) (list []string, err error) {
	if text := j.whereabouts(now.Unix()); text != "" {
		list = append(list, text)
	}
	if j.State.Final() || j.Booking == nil {
		return list, nil
	}
	tried := attempted{}
	m := &memory{}
	err = s.read(ctx, func(h handle) error {
		if tried, err = lastTried(ctx, h, j.ID); err == nil {
			m.expires, err = h.wallet.expiries(ctx, j.Owner)
		}
		return err
	})
	switch why := m.expired(j, now.Unix()); {
	case err != nil:
		return nil, err
	case why == errExpired:
		list = append(list, "what is to be done with it at its site waits: "+why.Error())
	case why != nil && j.State == Booked:
		list = append(list, "it is not sent: "+why.Error())
	case tried.said != "":
		list = append(list, fmt.Sprintf("%s has not succeeded yet, in %d tries: %s", tried.verb.doing(), tried.times, tried.said))
	}
	return list, nil
}

// whereabouts says where a job is that does not wait in the global queue.
func (j *Job) whereabouts(now int64) string {
	p := j.Booking
	if p == nil || j.State.Final() {
		return fmt.Sprintf("the job is %s", j.State)
	}
	slot := fmt.Sprintf("its slot there begins at %s, in %s, with a chance of %.0f %%", clock(p.From), short(time.Duration(p.From-now)*time.Second), 100*p.Chance)
	if late := now - p.From; late >= 0 {
		slot = fmt.Sprintf("its slot there began at %s, %s ago", clock(p.From), short(time.Duration(late)*time.Second))
	}
	switch {
	case j.OnHold && (j.State == Booked || j.State == Sent):
		return fmt.Sprintf("its owner holds it: it is being taken back from %s, unless it has begun there", p.Cluster)
	case j.Withdraw && j.State == Sent:
		return fmt.Sprintf("it is being taken back from %s, where it did not begin: %s", p.Cluster, slot)
	case j.State == Booked:
		return fmt.Sprintf("it is on its way to %s: %s", p.Cluster, slot)
	case j.State == Sent:
		return fmt.Sprintf("it waits at %s as %s (%s): %s", p.Cluster, j.Handle.ID, cmp.Or(j.Native, "not seen there yet"), slot)
	case j.State == Collecting:
		return fmt.Sprintf("it has ended at %s (%s), and its output is being brought", p.Cluster, j.Ending)
	}
	return "" // it runs, and nothing is in its way
}

// attempted is an action of a job that was tried and is to be tried again.
type attempted struct {
	verb  verb
	times int
	said  string
}

// lastTried is the last one of a job; its zero value: there is none.
func lastTried(ctx context.Context, h handle, job string) (a attempted, err error) {
	err = h.rows(ctx, func(scan func(...any) error) error { return scan(&a.verb, &a.times, &a.said) },
		"select verb, attempts, result from action where job = $1 and done = 0 and result <> '' order by id", job)
	return a, err
}

// doing is what is under way.
func (v verb) doing() string {
	switch v {
	case launch:
		return "sending it"
	case withdraw:
		return "taking it back"
	case end:
		return "ending it"
	}
	return "bringing its output"
}

// unfit says what a job asks for that no cluster has, whatever comes free; "": there is one
// that could take it. Clusters whose owners do not let it in do not count.
func (m *memory) unfit(j *Job) string {
	var widest, largest, roomy, most *cluster
	nodes := int32(0)
	for _, name := range m.order {
		c := m.clusters[name]
		if c.gone || len(c.site.Nodes) == 0 || !lets(&c.site, j.Owner, j.VO, j.FQANs) {
			continue
		}
		n := c.nodesFor(j)
		if n >= max(1, j.Nodes) && (j.Nodes > 0 || c.cpus >= int64(j.Procs)) {
			return ""
		}
		if widest == nil || c.cpus > widest.cpus {
			widest = c
		}
		if largest == nil || c.largest > largest.largest {
			largest = c
		}
		if roomy == nil || c.memory > roomy.memory {
			roomy = c
		}
		if most == nil || n > nodes {
			most, nodes = c, n
		}
	}
	switch {
	case widest == nil:
		return ""
	case int64(j.Procs) > widest.cpus:
		return fmt.Sprintf("it asks for %d processors, and no cluster is so wide: the widest, %s, has %d", j.Procs, widest.name, widest.cpus)
	case j.Nodes > 0 && j.perNode() > largest.largest:
		return fmt.Sprintf("it asks for %d processors of a node, and no node has so many: the largest, of %s, has %d", j.perNode(), largest.name, largest.largest)
	case nodes == 0 && j.Memory > roomy.memory:
		return fmt.Sprintf("it asks for %s, and no cluster has such a node: the one with the most, of %s, has %d MB", j.nodeAsked(), roomy.name, roomy.memory)
	case nodes == 0:
		return fmt.Sprintf("it asks for %s, and no cluster has such a node", j.nodeAsked())
	case j.Nodes > 0:
		return fmt.Sprintf("it asks for %d nodes with %s, and no cluster has so many: %s has %d", j.Nodes, j.nodeAsked(), most.name, nodes)
	}
	return ""
}

// nodeAsked says what a job asks of each of its nodes.
func (j *Job) nodeAsked() string {
	var parts []string
	if n := j.perNode(); n > 1 || j.Memory <= 0 && j.GPUs <= 0 {
		parts = append(parts, fmt.Sprintf("%d processors", n))
	}
	if j.Memory > 0 {
		parts = append(parts, fmt.Sprintf("%d MB of memory", j.Memory))
	}
	if j.GPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d GPUs", j.GPUs))
	}
	return strings.Join(parts, ", ")
}

// perNode is how many processors a job asks for on each node.
func (j *Job) perNode() int32 {
	if j.Nodes == 0 {
		return 1
	}
	return (j.Procs + j.Nodes - 1) / j.Nodes
}

// nodesFor counts the nodes of a cluster that are large enough for a job's part of one.
func (c *cluster) nodesFor(j *Job) (n int32) {
	memory := int64(j.Memory)
	if j.Nodes == 0 && j.Procs > 1 { // it may be spread
		memory = 0
	}
	for i := range c.site.Nodes {
		if v := &c.site.Nodes[i]; v.CPUs >= j.perNode() && (v.Memory == 0 || v.Memory >= memory) && v.GPUs >= j.GPUs {
			n++
		}
	}
	return n
}
