package glue

// nodes is what is published of one kind of nodes, for all the shares that have them:
// the environment of a Resource in a quarter of its memory.
type nodes struct {
	Platform, OSFamily, OSName, OSVersion, OSCodename string
	CPUModel, CPUVendor                               string
	CPUClock, MainMemory, VirtualMemory               Opt[int64]
	PhysicalCPUs, LogicalCPUs, SMPSize, GPUs          Opt[int64]
	ConnectivityIn, ConnectivityOut                   Opt[bool]
	Benchmarks                                        benchmarks
	tags                                              *tagList
	Attrs                                             map[string][]string
}

// setNodes makes the nodes those of the resource.
func (r *Resource) setNodes(n *nodes) {
	r.Platform, r.OSFamily, r.OSName = n.Platform, n.OSFamily, n.OSName
	r.OSVersion, r.OSCodename = n.OSVersion, n.OSCodename
	r.CPUModel, r.CPUVendor, r.CPUClock = n.CPUModel, n.CPUVendor, n.CPUClock
	r.MainMemory, r.VirtualMemory = n.MainMemory, n.VirtualMemory
	r.PhysicalCPUs, r.LogicalCPUs, r.SMPSize = n.PhysicalCPUs, n.LogicalCPUs, n.SMPSize
	r.ConnectivityIn, r.ConnectivityOut = n.ConnectivityIn, n.ConnectivityOut
	r.Benchmarks = n.Benchmarks
	r.RuntimeEnvironments, r.tags = nil, n.tags
	if n.tags != nil {
		r.RuntimeEnvironments = n.tags.names
	}
	if n.GPUs.OK {
		r.GPUs = n.GPUs
	}
	r.Attrs = mergedAttrs(r.Attrs, n.Attrs)
}
