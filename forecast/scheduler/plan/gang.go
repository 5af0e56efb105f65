package plan

// tries is how many clusters are looked at for a parallel job, and enough, after
// how many that could take it the best is chosen.
const (
	tries  = 8
	enough = 2
)

// recounts bounds, in slots that are looked at, how often in a cycle the slots of one cluster that are open at a
// time are counted anew as others end. Where they are made to overlap and end one by one that goes with the square of
// their number: parallel jobs get none there until the next cycle.
const recounts = 100_000_000

// gangs holds the slots by cluster and start, for jobs that take several at
// once.
type gangs struct {
	*index
	of     [][]int32 // slots by cluster; sorted once they are used
	sorted []bool
	fresh  [][]int32 // left of divided slots since then
	looked []int     // by cluster: see recounts
	cursor int
	open   []int32
	spare  []int32
	cpus   tally // by node, within one search
	taken  tally
	parts  []Part
}

func (p *index) gangIndex() *gangs {
	if p.gangs != nil {
		return p.gangs
	}
	n := len(p.r.Clusters)
	g := &gangs{index: p, of: make([][]int32, n), sorted: make([]bool, n), fresh: make([][]int32, n), looked: make([]int, n)}
	count := make([]int, n)
	for i := range p.work {
		count[p.work[i].Cluster]++
	}
	all := p.spare
	if cap(all) < len(p.work) {
		all = make([]int32, len(p.work))
	}
	for c, from := 0, 0; c < n; c++ {
		g.of[c] = all[from : from : from+count[c]]
		from += count[c]
	}
	for i := range p.work {
		if s := &p.work[i]; s.CPUs > 0 && s.From < s.To && p.r.Clusters[s.Cluster].open() && (s.Priority <= 0 || p.r.Clusters[s.Cluster].OutOfTurn) {
			g.of[s.Cluster] = append(g.of[s.Cluster], int32(i))
		}
	}
	p.gangs, p.spare = g, nil
	return g
}

func (g *gangs) add(i int32) {
	c := g.work[i].Cluster
	g.fresh[c] = append(g.fresh[c], i)
}

// list is a cluster's slots by start, some of those that are gone among them.
// Left-overs are entered a few at a time.
func (g *gangs) list(c int) []int32 {
	if g.sorted[c] && len(g.fresh[c]) <= len(g.of[c])/16 {
		return g.of[c]
	}
	list, fresh := g.alive(g.of[c]), g.alive(g.fresh[c])
	if !g.sorted[c] {
		g.spare = byStart(g.work, list, g.spare)
	}
	g.spare = byStart(g.work, fresh, g.spare)
	g.of[c], g.fresh[c], g.sorted[c] = g.merge(list, fresh), g.fresh[c][:0], true
	return g.of[c]
}

// alive drops the slots that are gone.
func (g *gangs) alive(list []int32) []int32 {
	n := 0
	for _, i := range list {
		list[n] = i
		if g.work[i].CPUs > 0 {
			n++
		}
	}
	return list[:n]
}

// merge enters left-overs into a list; they are the younger ones.
func (g *gangs) merge(list, fresh []int32) []int32 {
	at := len(list) - 1
	list = append(list, fresh...)
	for to, k := len(list)-1, len(fresh)-1; k >= 0; to-- {
		if at >= 0 && g.work[list[at]].From > g.work[fresh[k]].From {
			list[to] = list[at]
			at--
			continue
		}
		list[to] = fresh[k]
		k--
	}
	return list
}

// place finds slots of one cluster for a job that no single slot can take, better
// than a turn.
func (g *gangs) place(j *Job, than *turn) (best Booking, ok bool) {
	looked, found, none := 0, 0, !g.perJob && g.nowhere.has(j)
	for k := range g.r.Clusters {
		c := (g.cursor + k) % len(g.r.Clusters)
		cl := &g.r.Clusters[c]
		if !cl.open() || !bit(g.r.Wishes[j.Wish].Clusters, uint16(c)) || !cl.takes(j.Wall) {
			continue
		}
		b, yes := Booking{}, false
		if !none { // where the next search begins does not depend on it
			b, yes = g.together(j, c)
		}
		_, tmax := g.r.window(j, uint16(c))
		if yes = yes && than.worse(g.bill(b), b.From > tmax); yes {
			if found++; !ok || g.bill(b) < g.bill(best) {
				best, ok = b, true
			}
		}
		if looked++; looked == tries || found == enough {
			g.cursor = c + 1
			break
		}
	}
	if !ok && !none && looked == tries && len(g.r.Clusters) > tries {
		return g.anywhere(j, than)
	}
	if ok {
		g.seize(j, best)
	}
	return best, ok
}

// bill is what a booking costs, as an offer does.
func (g *gangs) bill(b Booking) float32 { return float32(b.Done-g.r.Now) / b.Chance }

// anywhere looks at every cluster: a job is only told "nowhere" where that is so.
func (g *gangs) anywhere(j *Job, than *turn) (b Booking, ok bool) {
	for c := range g.r.Clusters {
		cl := &g.r.Clusters[c]
		if !cl.open() || !bit(g.r.Wishes[j.Wish].Clusters, uint16(c)) || !cl.takes(j.Wall) {
			continue
		}
		_, tmax := g.r.window(j, uint16(c))
		if b, ok = g.together(j, c); ok && than.worse(g.bill(b), b.From > tmax) {
			g.seize(j, b)
			return b, true
		}
	}
	return b, false
}

// together finds the earliest time at which enough slots of a cluster are free
// for the job's whole wall time.
func (g *gangs) together(j *Job, c int) (Booking, bool) {
	end := g.r.Now + g.r.Horizon
	tmin, _ := g.r.window(j, uint16(c))
	classes, wants, last := g.r.Wishes[j.Wish].Classes, j.wants(), max(end, g.r.Clusters[c].TMax) // who asks may use the cluster
	open, got, soonest := g.open[:0], int32(0), int32(Never)
	g.cpus.clear()
	for _, i := range g.list(c) {
		s := &g.work[i]
		if s.From > last {
			break
		}
		from := max(s.From, tmin)
		if s.CPUs == 0 || s.To-from < j.Wall || !bit(classes, s.Class) || !g.joins(j, s, i) {
			continue
		}
		if soonest-j.Wall < from {
			if g.looked[c] += len(open); g.looked[c] > recounts {
				break
			}
			open, soonest = g.stillOpen(j, open, from)
			got = g.count(j, open)
		}
		open, soonest = append(open, i), min(soonest, s.To)
		if got += g.gain(j, i); got >= wants {
			g.open = open
			return g.bookTogether(j, open, from), true
		}
	}
	g.open = open
	return Booking{}, false
}

// wants is the number of nodes, or of processors where nodes do not matter.
func (j *Job) wants() int32 {
	if j.Nodes > 0 {
		return j.Nodes
	}
	return j.Procs
}

// joins tells whether a slot may be part of the job at all.
func (g *gangs) joins(j *Job, s *Slot, i int32) bool {
	if g.limit[i] >= j.Priority || s.Memory > 0 && int64(s.Memory)*int64(j.perNode()) < int64(j.Memory)*int64(min(int32(s.CPUs), j.perNode())) {
		return false
	}
	c := &g.r.Clusters[s.Cluster]
	return c.Local == nil || !c.Local.perJob || g.r.outranks(j, s)
}

// stillOpen drops the slots that end before a job that starts at a time does.
func (g *gangs) stillOpen(j *Job, open []int32, at int32) (kept []int32, soonest int32) {
	kept, soonest = open[:0], Never
	for _, i := range open {
		if to := g.work[i].To; to-j.Wall >= at {
			kept, soonest = append(kept, i), min(soonest, to)
		}
	}
	return kept, soonest
}

// gain is by how much a slot brings the job nearer.
func (g *gangs) gain(j *Job, i int32) int32 {
	s := &g.work[i]
	if j.Nodes == 0 {
		return int32(s.CPUs)
	}
	had := g.cpus.at(s.Node)
	before := *had
	*had += int32(s.CPUs)
	if before < j.perNode() && before+int32(s.CPUs) >= j.perNode() {
		return 1
	}
	return 0
}

func (g *gangs) count(j *Job, open []int32) (got int32) {
	g.cpus.clear()
	for _, i := range open {
		got += g.gain(j, i)
	}
	return got
}

// bookTogether chooses the parts. The chance is that of the least sure of them:
// slots of one cluster come and go together.
func (g *gangs) bookTogether(j *Job, open []int32, at int32) Booking {
	b := Booking{From: at, Chance: 1, Parts: g.parts[:0]}
	g.taken.clear()
	nodes, left := int32(0), j.Procs
	for _, i := range open {
		s := &g.work[i]
		cpus := min(int32(s.CPUs), left)
		if j.Nodes > 0 {
			had := g.taken.at(s.Node)
			if *g.cpus.at(s.Node) < j.perNode() || *had == 0 && nodes == j.Nodes {
				continue
			}
			if *had == 0 {
				nodes++
			}
			cpus = min(cpus, j.perNode()-*had)
			*had += cpus
		}
		if cpus <= 0 {
			continue
		}
		left -= cpus
		start := s.Start
		if len(j.Leads) > 0 { // it may begin long after the slot
			start = g.r.Clusters[s.Cluster].startAt(at-g.r.Now, start)
		}
		b.Chance = min(b.Chance, float32(max(1, start))/100)
		b.Parts = append(b.Parts, Part{i, uint16(cpus)})
	}
	g.parts = b.Parts
	b.Parts = append(g.newParts(len(b.Parts)), b.Parts...)
	b.Done = at + int32(float32(j.Wall)/g.r.Clusters[g.work[open[0]].Cluster].speed())
	return b
}

// seize takes the parts of a booking out of their slots.
func (g *gangs) seize(j *Job, b Booking) {
	for _, part := range b.Parts {
		share := int32(int64(j.Memory) * int64(part.CPUs) / int64(max(1, j.perNode())))
		g.split(part.Slot, b.From, j.Wall, part.CPUs, share)
	}
}
