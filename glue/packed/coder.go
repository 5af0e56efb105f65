package packed

import (
	"time"
	"unsafe"

	"gridbroker/glue"
)

// coder goes through the fields of a resource once for both directions: with
// p set it writes them, else it sets them to what u reads.
type coder struct {
	p *packer
	u *unpacker
}

func (c coder) resource(r *glue.Resource) {
	c.identity(r)
	c.state(r)
	c.policy(r)
	c.environment(r)
	c.provenance(r)
}

func (c coder) identity(r *glue.Resource) {
	for _, s := range [...]*string{&r.ID, &r.CEID, &r.Name, &r.Site, &r.CE, &r.Queue, &r.LRMS, &r.ViewOf,
		&r.LRMSVersion, &r.Implementation, &r.ImplVersion, &r.Cluster} {
		c.text(s)
	}
	c.texts(&r.Views)
	codeList(c, &r.Endpoints, coder.endpoint)
	codeList(c, &r.Services, coder.endpoint)
	c.serving(&r.Serving)
	c.texts(&r.Access)
}

func (c coder) endpoint(e *glue.Endpoint) {
	for _, s := range [...]*string{&e.ID, &e.URL, &e.Interface, &e.Health, &e.Quality, &e.Issuer} {
		c.text(s)
	}
	c.texts(&e.Versions)
	c.serving(&e.Serving)
	codeList(c, &e.Downtimes, func(c coder, d *glue.Downtime) {
		c.time(&d.Start)
		c.time(&d.End)
		c.text(&d.Info)
	})
}

func (c coder) state(r *glue.Resource) {
	for _, n := range [...]*glue.Opt[int64]{&r.Running, &r.Waiting, &r.Total, &r.PreLRMSWaiting, &r.Staging,
		&r.LocalRunning, &r.LocalWaiting, &r.FreeSlots, &r.UsedSlots, &r.TotalSlots, &r.AssignedSlots} {
		codeOpt(c, n)
	}
	codeList(c, &r.FreeFor, func(c coder, f *glue.SlotsFor) {
		codeInt(c, &f.Slots)
		codeInt(c, &f.Duration)
	})
	codeOpt(c, &r.EstimatedWait)
	codeOpt(c, &r.WorstWait)
	c.flag(&r.EstimatedWaitIsPlaceholder)
	c.flag(&r.StateIsPlaceholder)
}

func (c coder) policy(r *glue.Resource) {
	for _, d := range [...]*glue.Opt[time.Duration]{&r.MaxWallTime, &r.MinWallTime, &r.DefaultWallTime, &r.MaxCPUTime, &r.DefaultCPUTime} {
		codeOpt(c, d)
	}
	for _, n := range [...]*glue.Opt[int64]{&r.MaxRunning, &r.MaxWaiting, &r.MaxTotal, &r.MaxPreLRMSWaiting, &r.MaxUserRunning,
		&r.MaxSlotsPerJob, &r.MaxMemory, &r.MaxVirtualMemory, &r.MaxDisk, &r.Priority} {
		codeOpt(c, n)
	}
	c.optFlag(&r.Preemption)
	codeInt(c, &r.Unlimited)
}

func (c coder) environment(r *glue.Resource) {
	for _, s := range [...]*string{&r.Platform, &r.OSFamily, &r.OSName, &r.OSVersion, &r.OSCodename, &r.CPUModel, &r.CPUVendor} {
		c.text(s)
	}
	for _, n := range [...]*glue.Opt[int64]{&r.CPUClock, &r.MainMemory, &r.VirtualMemory, &r.PhysicalCPUs, &r.LogicalCPUs, &r.SMPSize, &r.GPUs} {
		codeOpt(c, n)
	}
	c.optFlag(&r.ConnectivityIn)
	c.optFlag(&r.ConnectivityOut)
	codeMap(c, &r.Benchmarks, coder.real)
	c.texts(&r.RuntimeEnvironments)
	codeList(c, &r.CloseSEs, func(c coder, b *glue.StorageBinding) {
		c.text(&b.SE)
		c.text(&b.Mount)
		codeMap(c, &b.Attrs, coder.texts)
	})
}

func (c coder) provenance(r *glue.Resource) {
	c.text(&r.Source)
	c.text(&r.Schema)
	c.time(&r.Created)
	codeInt(c, &r.Validity)
	c.time(&r.Fetched)
	c.flag(&r.Stale)
	codeList(c, &r.Conflicts, func(c coder, x *glue.Conflict) {
		for _, s := range [...]*string{&x.Field, &x.Kept, &x.Lost, &x.By} {
			c.text(s)
		}
	})
	codeMap(c, &r.Attrs, coder.texts)
}

// The methods below are one kind of value each.

func (c coder) text(s *string) {
	if c.p != nil {
		c.p.text(*s)
	} else {
		*s = c.u.text()
	}
}

func (c coder) texts(list *[]string) { codeList(c, list, coder.text) }

func (c coder) serving(s *glue.ServingState) {
	if c.p != nil {
		c.p.text(string(*s))
	} else {
		*s = glue.ServingState(c.u.text())
	}
}

func (c coder) flag(b *bool) {
	if c.p != nil {
		c.p.flag(*b)
	} else {
		*b = c.u.flag()
	}
}

func (c coder) optFlag(o *glue.Opt[bool]) {
	c.flag(&o.OK)
	if o.OK {
		c.flag(&o.V)
	}
}

func (c coder) real(f *float64) {
	if c.p != nil {
		c.p.real(*f)
	} else {
		*f = c.u.real()
	}
}

func (c coder) time(t *time.Time) {
	if c.p != nil {
		c.p.time(*t)
	} else {
		*t = c.u.time()
	}
}

func codeInt[T int64 | time.Duration | glue.Limits](c coder, n *T) {
	if c.p != nil {
		c.p.int(int64(*n))
	} else {
		*n = T(c.u.int())
	}
}

func codeOpt[T int64 | time.Duration](c coder, o *glue.Opt[T]) {
	if c.flag(&o.OK); o.OK {
		codeInt(c, &o.V)
	}
}

// codeList codes a list; one that several resources share is coded once.
func codeList[T any](c coder, list *[]T, each func(coder, *T)) {
	if c.p != nil {
		if c.p.share(unsafe.Pointer(unsafe.SliceData(*list)), len(*list), *list == nil) {
			return
		}
		for i := range *list {
			each(c, &(*list)[i])
		}
		return
	}
	old, n := c.u.share()
	if old != nil {
		reuse(c.u, list, old)
		return
	}
	if n < 0 {
		return
	}
	*list = make([]T, n)
	at := c.u.reserve(n)
	for i := 0; i < n && !c.u.bad; i++ {
		each(c, &(*list)[i])
	}
	c.u.keep(at, *list)
}

// codeMap codes a map; one that several resources share is coded once.
func codeMap[T any](c coder, m *map[string]T, each func(coder, *T)) {
	if c.p != nil {
		if c.p.share(*(*unsafe.Pointer)(unsafe.Pointer(m)), len(*m), *m == nil) {
			return
		}
		for name, v := range *m {
			c.p.text(name)
			each(c, &v)
		}
		return
	}
	old, n := c.u.share()
	if old != nil {
		reuse(c.u, m, old)
		return
	}
	if n < 0 {
		return
	}
	*m = make(map[string]T, n)
	at := c.u.reserve(n)
	for i := 0; i < n && !c.u.bad; i++ {
		name := c.u.text()
		var v T
		each(c, &v)
		(*m)[name] = v
	}
	c.u.keep(at, *m)
}

// reuse takes a list or map that was read before.
func reuse[T any](u *unpacker, to *T, old any) {
	v, ok := old.(T)
	*to, u.bad = v, u.bad || !ok
}
