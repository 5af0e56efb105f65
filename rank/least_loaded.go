package rank

// scoreMetacluster is the choice of a cluster in a metacluster of clusters
// that Maui runs: of those that meet the requirements the least loaded. The
// load is the slots that are taken or asked for by waiting jobs, per slot; it
// goes on growing where nothing is free any more, so that of two full clusters
// the one with the shorter queue is chosen. One that does not publish its slots
// comes last.
func scoreMetacluster(_ *Policy, sc *scene, c *Candidate) score {
	r := c.Resource
	waiting, ok := c.published()
	if c.Queue != nil {
		waiting, ok = c.Queue.Total(), true
	}
	t := Term{Name: "load", Unit: "jobs per slot", Source: r.Source, Age: c.Age, Weight: 1}
	if !ok || !r.FreeSlots.OK || !r.TotalSlots.OK || r.TotalSlots.V <= 0 {
		t.Source = "prior"
		return score{value: -worst, terms: append(sc.terms(), t)}
	}
	busy := float64(max(0, r.TotalSlots.V-count(r.FreeSlots.V)))
	t.Raw, t.OK = (busy+float64(waiting)+float64(c.Placed.slots()))/float64(r.TotalSlots.V), true
	return score{value: clamp(0-t.Raw, -worst, worst), terms: append(sc.terms(), t)}
}
