package readahead

// Counts tells what happened in a simulated run, summed over branches.
type Counts struct {
	NodeHit      int64 // block reads answered by the node's cache
	NodeLate     int64 // block reads whose portion was on its way
	NodeMiss     int64
	SystemHit    int64 // portions that the nodes asked the system for and it had
	SystemLate   int64
	SystemMiss   int64
	WideRequests int64
	WideBlocks   int64
	LanBlocks    int64
	Prefetched   int64 // portions asked for ahead, at both levels
}

// Add adds the counts of another run.
func (c *Counts) Add(o Counts) {
	c.NodeHit += o.NodeHit
	c.NodeLate += o.NodeLate
	c.NodeMiss += o.NodeMiss
	c.SystemHit += o.SystemHit
	c.SystemLate += o.SystemLate
	c.SystemMiss += o.SystemMiss
	c.WideRequests += o.WideRequests
	c.WideBlocks += o.WideBlocks
	c.LanBlocks += o.LanBlocks
	c.Prefetched += o.Prefetched
}

// Means returns the counts of a sum over runs as means, by their names in results.
func (c *Counts) Means(runs int) map[string]float64 {
	means := map[string]float64{}
	for name, n := range map[string]int64{
		"node_hit": c.NodeHit, "node_late": c.NodeLate, "node_miss": c.NodeMiss,
		"sys_hit": c.SystemHit, "sys_late": c.SystemLate, "sys_miss": c.SystemMiss,
		"wan_requests": c.WideRequests, "wan_blocks": c.WideBlocks, "lan_blocks": c.LanBlocks, "prefetched": c.Prefetched,
	} {
		means[name] = float64(n) / float64(runs)
	}
	return means
}
